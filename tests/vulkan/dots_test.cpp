// Steps of many rows by packed dot products on a Vulkan device, against ref on inputs rounded as the device rounds them: every
// format, shapes, slices, experts; that these programs are the ones that run; that a row's bits are its own.
#include <limits>

#include "prompt_harness.h"

namespace brass {
namespace {

// Of ref: all products of quantized weights read int8, in steps of any number of rows.
Caps rounding_caps() {
  Caps caps = vulkan_caps("ref", KvType::kF32, KvType::kF32);
  caps.rules.clear();
  caps.int8_rows = UINT32_MAX;
  return caps;
}

// The last of these steps on one device, all of them twice, over NaN in what it computes in, and on ref.
Made make_by_dots(const std::shared_ptr<const Graph>& graph,
                  const std::vector<std::vector<TokenRow>>& steps) {
  Made made;
  auto device = gpu_device({.prompts = Prompts::kDots, .poison = true}, &made.programs);
  const Caps caps = device->caps();
  Runner gpu(std::move(device), graph, caps), ref(make_ref_device({}), graph, rounding_caps());
  Logits again;
  for (const auto& rows : steps) made.gpu = gpu.step(rows), made.ref = ref.step(rows);
  gpu.clear_memory();
  for (const auto& rows : steps) again = gpu.step(rows);
  EXPECT_TRUE(same_bits(made.gpu, again)) << "two runs differ";
  return made;
}

// Of a program of this name, in one of both runs.
uint64_t times(const Made& made, const std::string& program) {
  const auto found = made.programs.find(program);
  return found == made.programs.end() ? 0 : found->second / 2;
}

// Rows from a table of 50 whose sizes lie apart.
std::vector<float> inputs(uint32_t cols, uint64_t seed) {
  std::vector<float> values = random_floats(size_t{50} * cols, seed);
  for (size_t i = 0; i < values.size(); i++)
    values[i] *= std::exp2(static_cast<float>(static_cast<int>(i / cols) - 25));
  return values;
}

TEST(VulkanDots, ProductsInEveryFormat) {
  if (!vulkan_is_there()) GTEST_SKIP();
  size_t formats = 0;
  for (const Format* format : all_formats()) {
    SCOPED_TRACE(format->name);
    const bool quantized = format->group > 0;
    // An odd number of blocks in a row, which begin where they may, and of units of 32 where these are blocks.
    const Made made =
        make_by_dots(product_graph(format->type, 37, 3 * std::max(format->block_values, 32u), false),
                     {text(0, 70, 50, 3)});
    EXPECT_LT(worst_row(made), 2e-5);
    std::string name(format->name);
    std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
    EXPECT_EQ(times(made, "dots_" + name), quantized ? 1 : 0);
    EXPECT_EQ(times(made, "to_int8"), quantized ? 1 : 0);
    EXPECT_EQ(times(made, "gemm_" + name), quantized ? 0 : 1);
    formats += quantized ? 1 : 0;
  }
  EXPECT_GE(formats, 24u);
}

TEST(VulkanDots, ProductsOfEveryShape) {
  if (!vulkan_is_there()) GTEST_SKIP();
  struct Shape {
    Type type;
    uint32_t rows, cols, tokens;
  };
  for (const Shape& s : std::vector<Shape>{{Type::Q8_0, 1, 32, 9},
                                           {Type::Q8_0, 130, 96, 33},
                                           {Type::Q4_K, 300, 768, 64},
                                           {Type::Q6_K, 257, 256, 130},
                                           {Type::Q4_1, 33, 160, 129},
                                           {Type::IQ4_NL, 64, 64, 32}}) {
    SCOPED_TRACE(fmt::format("{} × {}, {} tokens", s.rows, s.cols, s.tokens));
    const Made made = make_by_dots(product_graph(s.type, s.rows, s.cols, true), {text(0, s.tokens, 50, 4)});
    EXPECT_LT(worst_row(made), 2e-5);
  }
}

// The rows `slice` of a product's W, as a product of its own.
std::shared_ptr<const Graph> sliced(const std::shared_ptr<const Graph>& graph, RowSlice slice,
                                    uint32_t rows) {
  const auto out = std::make_shared<Graph>(*graph);
  out->weights[1].slice = slice;
  out->weights[1].rows = rows;
  out->values[1].width = rows;
  return out;
}

// Tiles of all sizes, numbers of rows, what stands before and behind, and slices of W: the same bits.
TEST(VulkanDots, RowsAreTheirOwn) {
  if (!vulkan_is_there()) GTEST_SKIP();
  constexpr uint32_t kRows = 16400;
  const auto graph = product_graph(Type::Q5_0, kRows, 96, false);
  const RowSlice slice{.first = 40, .run = 30, .stride = 150};
  const std::vector<int32_t> ids = random_ids(70, 50, 8);
  const auto rows_of = [&](const std::shared_ptr<const Graph>& g, size_t begin, size_t n) {
    auto device = gpu_device({.prompts = Prompts::kDots});
    const Caps caps = device->caps();
    return Runner(std::move(device), g, caps)
        .text(0, {ids.begin() + static_cast<long>(begin), ids.begin() + static_cast<long>(begin + n)});
  };
  const Logits all = rows_of(graph, 0, 70);  // 64 × 64
  const auto few = rows_of(graph, 41, 20);   // 64 × 32
  EXPECT_TRUE(same_bits(few, {all.begin() + 41, all.begin() + 61}));
  for (const auto& [begin, n] : {std::pair<size_t, size_t>{0, 70}, {31, 9}}) {  // 32 × 32
    const Logits some = rows_of(sliced(graph, slice, 90), begin, n);
    for (size_t t = 0; t < n; t++)
      for (uint32_t r = 0; r < 90; r++)
        ASSERT_EQ(bits_of({&some[t][r], 1}), bits_of({&all[begin + t][slice.row(r)], 1})) << t << ", " << r;
  }
}

// What is not finite stays so, in its own row.
TEST(VulkanDots, NumbersThatAreNotFinite) {
  if (!vulkan_is_there()) GTEST_SKIP();
  std::vector<float> values = random_floats(16 * 96, 1);
  values[3 * 96 + 40] = std::numeric_limits<float>::infinity();
  values[7 * 96 + 95] = std::numeric_limits<float>::quiet_NaN();
  std::fill_n(values.begin() + 9 * 96, 96, 0.0f);
  GraphBuilder b;
  const ValueId x = b.input("x", 96, values);
  const auto graph = b.finish(b.op(OpKind::kLinear, "product", {x}, Rows::kT, 40,
                                   {b.matrix("w", Type::Q5_1, 40, 96, 0.1f)}, LinearAttrs{}));
  auto device = make_vulkan_device({.check_finite = false, .prompts = Prompts::kDots});
  ASSERT_TRUE(device.has_value());
  const Caps caps = (*device)->caps();
  Runner gpu(std::move(*device), graph, caps);
  const std::vector<int32_t> ids = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const Logits found = gpu.text(0, ids);
  for (size_t t = 0; t < ids.size(); t++)
    for (const float y : found[t]) {
      EXPECT_EQ(std::isfinite(y), t != 3 && t != 7) << "row " << t;
      EXPECT_EQ(y == 0, t == 9) << "row " << t;
    }
}

// ---- experts

struct ExpertCase {
  Type type;
  uint32_t rows, cols, tokens;
  bool own_input;
};

std::shared_ptr<const Graph> expert_graph(const ExpertCase& c) {
  constexpr uint32_t kExperts = 7, kUsed = 3;
  GraphBuilder b;
  const ValueId scores = b.input("scores", kExperts, random_floats(50 * kExperts, 5));
  const ValueId route = b.op(OpKind::kMoeRoute, "route", {scores}, Rows::kT, 2 * kUsed, {},
                             RouteAttrs{.experts = kExperts, .used = kUsed, .renormalize = true});
  const uint32_t width = c.own_input ? kUsed * c.cols : c.cols;
  const ValueId x = b.input("x", width, inputs(width, 6));
  const WeightId w = b.matrix("w", c.type, kExperts * c.rows, c.cols, 0.1f),
                 bias = b.vector("bias", random_floats(kExperts * c.rows, 12, 1e-3f));
  return b.finish(
      b.op(OpKind::kMoeLinear, "experts", {x, route}, Rows::kT, kUsed * c.rows, {w, bias},
           ExpertAttrs{.experts = kExperts, .used = kUsed, .bias = true, .own_input = c.own_input}));
}

TEST(VulkanDots, Experts) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const ExpertCase& c : std::vector<ExpertCase>{{Type::Q4_K, 50, 256, 70, false},
                                                     {Type::Q6_K, 64, 256, 9, true},
                                                     {Type::Q5_0, 70, 96, 130, true},
                                                     {Type::IQ4_NL, 1, 32, 12, false}}) {
    SCOPED_TRACE(fmt::format("{} × {}, {} tokens", c.rows, c.cols, c.tokens));
    const Made made = make_by_dots(expert_graph(c), {text(0, c.tokens, 50, 4)});
    EXPECT_LT(worst_row(made), 2e-5);
    EXPECT_EQ(times(made, "moe_group"), 1u);
    EXPECT_EQ(times(made, "to_int8"), 1u);
  }
}

// ---- whole small models

double root_mean_square(const Made& made) {
  double difference = 0, squares = 0;
  for (size_t t = 0; t < made.ref.size(); t++)
    for (size_t i = 0; i < made.ref[t].size(); i++) {
      difference += std::pow(static_cast<double>(made.gpu[t][i]) - made.ref[t][i], 2);
      squares += std::pow(static_cast<double>(made.ref[t][i]), 2);
    }
  return std::sqrt(difference / squares);
}

TEST(VulkanDots, ModelsAgreeWithRef) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const auto& [name, model] :
       {std::pair{"plain", plain_model()}, {"qwen", qwen_like()}, {"experts", expert_model()}}) {
    SCOPED_TRACE(name);
    std::vector<TokenRow> first = text(0, 40, model.vocab, 1), second = text(0, 75, model.vocab, 2, 40);
    for (const TokenRow& row : text(1, 9, model.vocab, 3)) second.push_back(row);
    for (const TokenRow& row : text(-1, 5, model.vocab, 4)) second.push_back(row);
    for (TokenRow& row : second) row.want = row.sequence >= 0;
    const Made made = make_by_dots(build_tiny(model), {first, second});
    // As in steps of few rows: a code that rounds the other way, once in many, moves what follows by a hundredth of a value.
    EXPECT_LT(difference(made.gpu, made.ref), 0.1);
    EXPECT_LT(root_mean_square(made), 1e-2);
    EXPECT_GT(count(made.programs, "dots_"), 0u);
    EXPECT_EQ(count(made.programs, "moe_group") > 0, model.experts > 0);
    // q, k and v read one value's rows; act(gate) · up becomes rows at once.
    EXPECT_GE(times(made, "to_int8"), 2 * model.layers * 4);
    EXPECT_LE(times(made, "to_int8"), 2 * (model.layers * 6 + 1));
  }
}

TEST(VulkanDots, CutsAndNeighboursChangeNoBit) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const TinyModel& model : {plain_model(), expert_model()})
    expect_cuts_change_no_bit(model, Prompts::kDots);
}

// ---- the choice

TEST(VulkanDots, WhatIsChosenIsWhatRuns) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const auto all = vulkan_devices();
  ASSERT_TRUE(all.has_value());
  VulkanInfo card{.index = 0, .name = "a card"};
  EXPECT_EQ(usual_prompts(card), Prompts::kPlain);
  card.packed_dots = true;
  EXPECT_EQ(usual_prompts(card), Prompts::kDots);
  card.matrix = {16, 16, 16};
  EXPECT_EQ(usual_prompts(card), Prompts::kMatrix);
  EXPECT_FALSE(find_prompts("fast").has_value());

  const auto graph = product_graph(Type::Q4_0, 40, 64, false);
  for (const Prompts prompts : {Prompts::kAutomatic, Prompts::kDots, Prompts::kPlain}) {
    const Made made = make(graph, {text(0, 12, 50, 3)}, KvType::kF32, prompts);
    const auto device = gpu_device({.prompts = prompts});
    const bool dots = device->describe().find("packed dot products") != std::string::npos;
    EXPECT_EQ(count(made.programs, "dots_") > 0, dots);
    EXPECT_TRUE(prompts == Prompts::kAutomatic || dots == (prompts == Prompts::kDots));
  }
  if (has_matrix_unit()) return;
  const auto none = make_vulkan_device({.prompts = Prompts::kMatrix});
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find("no matrix unit"), std::string::npos) << none.error().message;
}

}  // namespace
}  // namespace brass
