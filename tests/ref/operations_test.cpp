// Every operation of ref against a computation in double that is written another way.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "backend/ref/ref.h"
#include "choose_case.h"
#include "profiles.h"

namespace brass {
namespace {

using Doubles = std::vector<double>;

Runner ref_runner(const std::shared_ptr<const Graph>& graph, const Caps& caps = plain_profile()) {
  return {make_ref_device({}), graph, caps};
}

// Rows 0 … n − 1 of the graph's inputs, as one sequence.
Logits run_rows(const std::shared_ptr<const Graph>& graph, int32_t n) {
  Runner r = ref_runner(graph);
  std::vector<int32_t> ids(static_cast<size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  return r.text(0, ids);
}

void expect_near(const Logits& found, const Doubles& expected, double tolerance) {
  size_t i = 0;
  for (const auto& row : found)
    for (const float value : row) {
      ASSERT_LT(i, expected.size());
      ASSERT_NEAR(value, expected[i], tolerance * (1 + std::fabs(expected[i]))) << "value " << i;
      i++;
    }
  EXPECT_EQ(i, expected.size());
}

TEST(RefOperations, EmbedTakesTheRowsOfTheIds) {
  GraphBuilder b;
  const WeightId table = b.matrix("table", Type::Q4_K, 50, 256, 1);
  const auto graph = b.finish(b.op(OpKind::kEmbed, "embed", {}, Rows::kT, 256, {table}));
  const Format& format = *find_format(Type::Q4_K);
  Runner r = ref_runner(graph);
  const std::vector<int32_t> ids = {49, 0, 7, 7};
  const Logits rows = r.text(0, ids);
  for (size_t t = 0; t < ids.size(); t++) {
    std::vector<float> expected(256);
    format.decode(graph->weights[0].data.data() + static_cast<size_t>(ids[t]) * row_bytes(format, 256),
                  expected.data(), 256);
    EXPECT_EQ(rows[t], expected);
  }
}

TEST(RefOperations, EmbedGoesByPositionOrTakesTheFirstRow) {
  const std::vector<float> values = random_floats(9 * 16, 2);
  for (const EmbedIndex index : {EmbedIndex::kPosition, EmbedIndex::kFirst}) {
    GraphBuilder b;
    const WeightId table = b.matrix("table", 9, 16, values);
    const auto graph = b.finish(b.op(OpKind::kEmbed, "embed", {}, Rows::kT, 16, {table}, EmbedAttrs{index}));
    Runner r = ref_runner(graph);
    const Logits rows = r.text(0, {5, 0, 7}, 4);
    for (size_t t = 0; t < rows.size(); t++) {
      const size_t row = index == EmbedIndex::kPosition ? 4 + t : 0;
      EXPECT_TRUE(
          std::equal(rows[t].begin(), rows[t].end(), values.begin() + static_cast<ptrdiff_t>(row * 16)));
    }
  }
}

// Three texts in one step, of which one has no row that is wanted.
TEST(RefOperations, PoolIsOfTheRowsOfTheSequence) {
  const std::vector<float> values = random_floats(7 * 20, 3);
  for (const PoolKind kind : {PoolKind::kFirst, PoolKind::kMean}) {
    GraphBuilder b;
    const ValueId x = b.input("x", 20, values);
    const auto graph =
        b.finish_embeddings(b.op(OpKind::kPool, "pool", {x}, Rows::kR, 20, {}, PoolAttrs{kind}));
    Runner r = ref_runner(graph);
    const Logits rows = r.step({{1, 3, 0, false},
                                {1, 1, 1, true},
                                {0, 5, 0, false},
                                {2, 2, 0, false},
                                {2, 6, 1, true},
                                {2, 0, 2, false}});
    ASSERT_EQ(rows.size(), 2u);
    const std::vector<std::vector<size_t>> members = {{3, 1}, {2, 6, 0}};
    for (size_t i = 0; i < 2; i++)
      for (size_t d = 0; d < 20; d++) {
        double sum = 0;
        for (const size_t id : members[i]) sum += static_cast<double>(values[id * 20 + d]);
        const double expected = kind == PoolKind::kMean ? sum / static_cast<double>(members[i].size())
                                                        : static_cast<double>(values[members[i][0] * 20 + d]);
        EXPECT_NEAR(rows[i][d], expected, 1e-6);
      }
  }
}

TEST(RefOperations, GatherRowsTakesTheWantedRows) {
  GraphBuilder b;
  const std::vector<float> values = random_floats(6 * 20, 1);
  const ValueId x = b.input("x", 20, values);
  const auto graph = b.finish(b.op(OpKind::kGatherRows, "gather", {x}, Rows::kR, 20));
  Runner r = ref_runner(graph);
  const Logits rows = r.step({{0, 3, 0, false}, {0, 1, 1, true}, {0, 5, 2, false}, {0, 0, 3, true}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(std::equal(rows[0].begin(), rows[0].end(), values.begin() + 20));
  EXPECT_TRUE(std::equal(rows[1].begin(), rows[1].end(), values.begin()));
}

// The direction keeps, the length becomes sqrt(n) but for eps.
Doubles normalized(const std::vector<float>& x, size_t dim, double eps, const std::vector<float>& gain) {
  Doubles y;
  for (size_t begin = 0; begin < x.size(); begin += dim) {
    double length = 0;
    for (size_t i = dim; i-- > 0;) length = std::hypot(length, x[begin + i]);
    const double rms = std::hypot(length / std::sqrt(static_cast<double>(dim)), std::sqrt(eps));
    for (size_t i = 0; i < dim; i++) y.push_back(x[begin + i] / rms * (gain.empty() ? 1.0 : gain[i]));
  }
  return y;
}

TEST(RefOperations, RmsNorm) {
  for (const bool with_gain : {true, false}) {
    GraphBuilder b;
    const std::vector<float> values = random_floats(5 * 77, 1, 0.01f), gain = random_floats(77, 2);
    const ValueId x = b.input("x", 77, values);
    std::vector<WeightId> weights;
    if (with_gain) weights.push_back(b.vector("gain", gain));
    const auto graph = b.finish(b.op(OpKind::kRmsNorm, "norm", {x}, Rows::kT, 77, weights, NormAttrs{1e-4f}));
    expect_near(run_rows(graph, 5), normalized(values, 77, 1e-4f, with_gain ? gain : std::vector<float>{}),
                2e-7);
  }
}

TEST(RefOperations, HeadNorm) {
  GraphBuilder b;
  const std::vector<float> values = random_floats(5 * 3 * 24, 1), gain = random_floats(24, 2);
  const ValueId x = b.input("x", 72, values);
  const auto graph = b.finish(
      b.op(OpKind::kHeadNorm, "norm", {x}, Rows::kT, 72, {b.vector("gain", gain)}, NormAttrs{1e-6f, 3}));
  expect_near(run_rows(graph, 5), normalized(values, 24, 1e-6f, gain), 2e-7);
}

// The derivative-free definitions from their papers, through other functions than the device's.
double expected_act(ActKind kind, double x) {
  switch (kind) {
    case ActKind::kSilu:
      return x * 0.5 * (1 + std::tanh(x / 2));
    case ActKind::kGeluTanh: {
      const double u = std::exp(-2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * std::pow(x, 3)));
      return x / (1 + u);
    }
    case ActKind::kGeluErf:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case ActKind::kRelu:
      return x > 0 ? x : 0;
    case ActKind::kReluSquared:
      return x > 0 ? x * x : 0;
    case ActKind::kSigmoid:
      return 0.5 * (1 + std::tanh(x / 2));
    case ActKind::kIdentity:
      return x;
    case ActKind::kClampedSwiglu: {
      const double g = x < 7 ? x : 7;
      return g * 0.5 * (1 + std::tanh(1.702 * g / 2));
    }
  }
  return 0;
}

TEST(RefOperations, ActMul) {
  for (const ActKind kind :
       {ActKind::kSilu, ActKind::kGeluTanh, ActKind::kGeluErf, ActKind::kRelu, ActKind::kReluSquared,
        ActKind::kSigmoid, ActKind::kIdentity, ActKind::kClampedSwiglu}) {
    SCOPED_TRACE(act_name(kind));
    GraphBuilder b;
    const std::vector<float> gate = random_floats(4 * 33, 1, 3), up = random_floats(4 * 33, 2, 8);
    const ValueId g = b.input("gate", 33, gate), u = b.input("up", 33, up);
    const auto graph = b.finish(b.op(OpKind::kActMul, "act", {g, u}, Rows::kT, 33, {}, ActAttrs{kind}));
    Doubles expected;
    for (size_t i = 0; i < gate.size(); i++) {
      const double bent = std::clamp(static_cast<double>(up[i]), -7.0, 7.0) + 1;
      expected.push_back(expected_act(kind, gate[i]) * (kind == ActKind::kClampedSwiglu ? bent : up[i]));
    }
    expect_near(run_rows(graph, 4), expected, 2e-7);
  }
}

TEST(RefOperations, AddScaleSoftcap) {
  GraphBuilder b;
  const std::vector<float> first = random_floats(4 * 19, 1), second = random_floats(4 * 19, 2);
  const ValueId x = b.input("x", 19, first), y = b.input("y", 19, second);
  ValueId z = b.op(OpKind::kAdd, "add", {x, y}, Rows::kT, 19);
  z = b.op(OpKind::kScale, "scale", {z}, Rows::kT, 19, {}, ScaleAttrs{2.5f});
  z = b.op(OpKind::kSoftcap, "softcap", {z}, Rows::kT, 19, {}, ScaleAttrs{3.0f});
  Doubles expected;
  for (size_t i = 0; i < first.size(); i++) {
    const double e = std::exp(2 * (static_cast<double>(first[i]) + second[i]) * 2.5 / 3);
    expected.push_back(3 * (e - 1) / (e + 1));
  }
  expect_near(run_rows(b.finish(z), 4), expected, 5e-7);
}

TEST(RefOperations, Choose) {
  expect_right_choices([] { return make_ref_device({}); });
  expect_right_candidates([] { return make_ref_device({.check_finite = false}); });
}

TEST(RefOperations, RopeTableIsCosAndSinOfF32Angles) {
  GraphBuilder b;
  RopeTableAttrs attrs{.inv_freq = {1.0f, 0.37f, 1e-4f}, .magnitude = 1.2f};
  const auto graph = b.finish(b.op(OpKind::kRopeTable, "table", {}, Rows::kT, 6, {}, attrs));
  Runner r = ref_runner(graph);
  const std::vector<int32_t> positions = {0, 1, 130'000};
  std::vector<TokenRow> rows;
  for (const int32_t p : positions) rows.push_back({0, 0, p});
  Doubles expected;
  for (const int32_t p : positions)
    for (const float f : attrs.inv_freq) {
      const auto turn = std::polar(1.2, static_cast<double>(static_cast<float>(p) * f));
      expected.insert(expected.end(), {turn.real(), turn.imag()});
    }
  expect_near(r.step(rows), expected, 1e-7);
}

TEST(RefOperations, RopeTurnsPairs) {
  for (const bool neox : {true, false}) {
    constexpr uint32_t kHeads = 2, kDim = 10, kRot = 6;  // dimensions 6 … 9 pass through
    GraphBuilder b;
    const std::vector<float> values = random_floats(5 * kHeads * kDim, 1), inv_freq = {1.0f, 0.3f, 0.02f};
    const ValueId x = b.input("x", kHeads * kDim, values);
    const ValueId table =
        b.op(OpKind::kRopeTable, "table", {}, Rows::kT, kRot, {}, RopeTableAttrs{.inv_freq = inv_freq});
    const auto graph = b.finish(b.op(OpKind::kRope, "rope", {x, table}, Rows::kT, kHeads * kDim, {},
                                     RopeAttrs{kHeads, kDim, kRot, neox}));
    Doubles expected(values.begin(), values.end());
    for (uint32_t t = 0; t < 5; t++)
      for (uint32_t h = 0; h < kHeads; h++)
        for (uint32_t i = 0; i < 3; i++) {
          double* head = expected.data() + (t * kHeads + h) * kDim;
          double &re = head[neox ? i : 2 * i], &im = head[neox ? i + 3 : 2 * i + 1];
          const std::complex<double> turned =
              std::complex(re, im) *
              std::polar(1.0, static_cast<double>(static_cast<float>(t) * inv_freq[i]));
          re = turned.real();
          im = turned.imag();
        }
    expect_near(run_rows(graph, 5), expected, 3e-7);
  }
}

struct AttentionCase {
  const char* name;
  uint32_t q_heads, kv_heads, k_dim, v_dim;
  float softcap;
  int32_t window;
};

class RefAttention : public testing::TestWithParam<AttentionCase> {};

// One query at a time: scores, softmax in double without a maximum taken out, weighted mean.
Doubles expected_attention(const AttentionCase& c, float scale, const std::vector<float>& q,
                           const std::vector<float>& k, const std::vector<float>& v, int32_t tokens) {
  Doubles y;
  for (int32_t t = 0; t < tokens; t++)
    for (uint32_t h = 0; h < c.q_heads; h++) {
      const uint32_t kv = h * c.kv_heads / c.q_heads;
      Doubles mean(c.v_dim, 0.0);
      double total = 0;
      for (int32_t p = 0; p <= t; p++) {
        if (c.window > 0 && t - p >= c.window) continue;
        double score = 0;
        for (uint32_t d = 0; d < c.k_dim; d++)
          score += static_cast<double>(q[(static_cast<uint32_t>(t) * c.q_heads + h) * c.k_dim + d]) *
                   static_cast<double>(k[(static_cast<uint32_t>(p) * c.kv_heads + kv) * c.k_dim + d]);
        score *= scale;
        if (c.softcap > 0) score = c.softcap * std::tanh(score / c.softcap);
        const double weight = std::exp(score);
        total += weight;
        for (uint32_t d = 0; d < c.v_dim; d++)
          mean[d] +=
              weight * static_cast<double>(v[(static_cast<uint32_t>(p) * c.kv_heads + kv) * c.v_dim + d]);
      }
      for (const double m : mean) y.push_back(m / total);
    }
  return y;
}

TEST_P(RefAttention, MatchesDouble) {
  const AttentionCase c = GetParam();
  constexpr int32_t kTokens = 150;
  GraphBuilder b;
  const std::vector<float> q = random_floats(kTokens * c.q_heads * c.k_dim, 1),
                           k = random_floats(kTokens * c.kv_heads * c.k_dim, 2),
                           v = random_floats(kTokens * c.kv_heads * c.v_dim, 3);
  const ValueId vq = b.input("q", c.q_heads * c.k_dim, q), vk = b.input("k", c.kv_heads * c.k_dim, k),
                vv = b.input("v", c.kv_heads * c.v_dim, v);
  // Layer 1 of group 1: what stands before it must not matter.
  b.group({.name = "other", .kind = GroupKind::kKv, .layers = {{1, 8, 8}}});
  const uint32_t group = b.group({.name = "kv",
                                  .kind = c.window > 0 ? GroupKind::kWindow : GroupKind::kKv,
                                  .window = c.window,
                                  .layers = {{3, 4, 20}, {c.kv_heads, c.k_dim, c.v_dim}}});
  b.kv_write("write", vk, vv, {group, 1, c.kv_heads, c.k_dim, c.v_dim});
  const float scale = 0.7f / std::sqrt(static_cast<float>(c.k_dim));
  const ValueId y = b.op(OpKind::kAttention, "attention", {vq}, Rows::kT, c.q_heads * c.v_dim, {},
                         AttentionAttrs{.group = group,
                                        .layer = 1,
                                        .q_heads = c.q_heads,
                                        .kv_heads = c.kv_heads,
                                        .k_dim = c.k_dim,
                                        .v_dim = c.v_dim,
                                        .scale = scale,
                                        .softcap = c.softcap,
                                        .window = c.window});
  expect_near(run_rows(b.finish(y), kTokens), expected_attention(c, scale, q, k, v, kTokens), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(All, RefAttention,
                         testing::Values(AttentionCase{"plain", 2, 2, 32, 32, 0, 0},
                                         AttentionCase{"grouped", 6, 2, 64, 64, 0, 0},
                                         AttentionCase{"ragged", 4, 1, 20, 36, 0, 0},
                                         AttentionCase{"capped", 2, 1, 16, 16, 1.5f, 0},
                                         AttentionCase{"window", 2, 1, 16, 16, 0, 70},
                                         AttentionCase{"narrow", 2, 2, 16, 16, 0, 1}),
                         [](const testing::TestParamInfo<AttentionCase>& c) {
                           return std::string(c.param.name);
                         });

TEST(RefOperations, KvWriteKeepsRowsUnchanged) {
  GraphBuilder b;
  const std::vector<float> k = random_floats(70 * 2 * 5, 1), v = random_floats(70 * 2 * 7, 2);
  const ValueId vk = b.input("k", 10, k), vv = b.input("v", 14, v);
  b.group({.name = "kv", .kind = GroupKind::kKv, .layers = {{1, 3, 3}, {2, 5, 7}}});
  b.kv_write("write", vk, vv, {0, 1, 2, 5, 7});
  Runner r = ref_runner(b.finish(vk));
  std::vector<int32_t> ids(70);
  std::iota(ids.begin(), ids.end(), 0);
  r.text(2, ids);
  for (size_t page = 0; page < 2; page++) {
    const std::vector<float> rows = r.device().export_page(0, r.table(2, 0)[page]);
    ASSERT_EQ(rows.size(), 64u * (3 + 3 + 10 + 14));
    for (size_t slot = 0; slot < 64; slot++) {
      const size_t position = page * 64 + slot;
      for (size_t i = 0; i < 10; i++)
        ASSERT_EQ(rows[64 * 6 + slot * 10 + i], position < 70 ? k[position * 10 + i] : 0.0f);
      for (size_t i = 0; i < 14; i++)
        ASSERT_EQ(rows[64 * 16 + slot * 14 + i], position < 70 ? v[position * 14 + i] : 0.0f);
    }
  }
}

class RefFormats : public testing::TestWithParam<const Format*> {};

Doubles decoded(const Weight& w) {
  std::vector<float> values(size_t{w.rows} * w.cols);
  find_format(w.type)->decode(w.data.data(), values.data(), values.size());
  return {values.begin(), values.end()};
}

// linear and lm_head in every format, ragged row counts, with and without bias.
TEST_P(RefFormats, Linear) {
  const Format& format = *GetParam();
  for (const bool bias : {false, true}) {
    const uint32_t cols = std::max(format.block_values * 3, 48u), rows = 37;
    GraphBuilder b;
    const std::vector<float> values = random_floats(6 * cols, 1), offsets = random_floats(rows, 2);
    const ValueId x = b.input("x", cols, values);
    std::vector<WeightId> weights = {b.matrix("w", format.type, rows, cols, 0.1f)};
    if (bias) weights.push_back(b.vector("bias", offsets));
    const auto graph = b.finish(b.op(OpKind::kLinear, "y", {x}, Rows::kT, rows, weights, LinearAttrs{bias}));
    const Doubles w = decoded(graph->weights[static_cast<size_t>(weights[0])]);
    Doubles expected;
    for (size_t t = 0; t < 6; t++)
      for (size_t r = 0; r < rows; r++) {
        double sum = bias ? offsets[r] : 0;
        for (size_t k = cols; k-- > 0;) sum += w[r * cols + k] * values[t * cols + k];
        expected.push_back(sum);
      }
    expect_near(run_rows(graph, 6), expected, 2e-6);
  }
}

TEST_P(RefFormats, NonFiniteIsRefusedByName) {
  const Format& format = *GetParam();
  GraphBuilder b;
  const uint32_t cols = 2 * format.block_values;
  std::vector<std::byte> bytes(150 * row_bytes(format, cols));
  random_blocks(format, bytes.data(), 150 * cols, 1, 1);
  std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(131 * row_bytes(format, cols)), format.block_bytes,
              std::byte{0xff});
  const WeightId w = b.weight("blk.3.bad", WeightKind::kMatrix, format.type, 150, cols, std::move(bytes));
  const auto graph = b.finish(b.op(OpKind::kEmbed, "embed", {}, Rows::kT, cols, {w}));
  const Result<> uploaded = make_ref_device({.threads = 2})->upload(*graph, {}, {});
  ASSERT_FALSE(uploaded.has_value()) << format.name;
  EXPECT_NE(uploaded.error().message.find("'blk.3.bad': row 131"), std::string::npos)
      << uploaded.error().message;
  EXPECT_TRUE(make_ref_device({.check_finite = false})->upload(*graph, {}, {}).has_value());
}

INSTANTIATE_TEST_SUITE_P(All, RefFormats, testing::ValuesIn(all_formats().begin(), all_formats().end()),
                         [](const testing::TestParamInfo<const Format*>& f) {
                           return std::string(f.param->name);
                         });

TEST(RefOperations, VectorsOfAnyTypeAreReadAsF32) {
  for (const Type type : {Type::F16, Type::BF16, Type::Q8_0}) {
    GraphBuilder b;
    const std::vector<float> values = random_floats(2 * 64, 1);
    const ValueId x = b.input("x", 64, values);
    std::vector<std::byte> bytes(row_bytes(*find_format(type), 64));
    random_blocks(*find_format(type), bytes.data(), 64, 3, 1);
    const WeightId gain = b.weight("gain", WeightKind::kVector, type, 1, 64, std::move(bytes));
    const auto graph = b.finish(b.op(OpKind::kRmsNorm, "norm", {x}, Rows::kT, 64, {gain}, NormAttrs{0}));
    const Doubles g = decoded(graph->weights[static_cast<size_t>(gain)]);
    expect_near(run_rows(graph, 2), normalized(values, 64, 0, {g.begin(), g.end()}), 2e-7);
  }
}

// A product of int8 activations: the input is replaced by codes · scale, nothing else changes.
TEST(RefOperations, QuantizedInput) {
  constexpr uint32_t kCols = 96, kRows = 20;
  GraphBuilder b;
  std::vector<float> values = random_floats(4 * kCols, 1);
  std::fill_n(values.begin() + 32, 32, 0.0f);    // a group of zeros
  std::fill_n(values.begin() + 64, 31, 1e-39f);  // 127 / 1e-39 is no float
  values[95] = 0;
  const ValueId x = b.input("x", kCols, values);
  const WeightId weight = b.matrix("w", Type::Q8_0, kRows, kCols, 0.1f);
  const auto graph = b.finish(b.op(OpKind::kLinear, "y", {x}, Rows::kT, kRows, {weight}, LinearAttrs{}));
  const Doubles w = decoded(graph->weights[static_cast<size_t>(weight)]);
  Doubles expected(4 * kRows, 0.0), exact(4 * kRows, 0.0);
  for (size_t t = 0; t < 4; t++)
    for (size_t k = 0; k < kCols; k++) {
      const float* group = values.data() + t * kCols + k / 32 * 32;
      double largest = 0;
      for (size_t i = 0; i < 32; i++) largest = std::max<double>(largest, std::fabs(group[i]));
      const double code = largest == 0 ? 0 : std::nearbyint(group[k % 32] / largest * 127);
      for (size_t r = 0; r < kRows; r++) {
        expected[t * kRows + r] += w[r * kCols + k] * code * largest / 127;
        exact[t * kRows + r] += w[r * kCols + k] * static_cast<double>(values[t * kCols + k]);
      }
    }
  Caps caps = fused_profile();
  caps.int8_terms[Type::Q8_0] = 1;
  expect_near(ref_runner(graph, caps).text(0, {0, 1, 2, 3}), expected, 2e-6);
  caps.int8_terms[Type::Q8_0] = 2;  // sixteen bits: as good as x itself
  expect_near(ref_runner(graph, caps).text(0, {0, 1, 2, 3}), exact, 1e-4);
}

}  // namespace
}  // namespace brass
