// The CPU's mixtures of experts against the reference device on the same plan: which experts, their products in every
// format and shape, their sum; and that the bits of a row are its own.
#include <cmath>
#include <limits>

#include "backend/cpu/device.h"
#include "backend/ref/ref.h"
#include "device_harness.h"

namespace brass {
namespace {

std::unique_ptr<Device> cpu_device(uint32_t threads, bool check_finite = true) {
  return *make_cpu_device({.threads = threads, .check_finite = check_finite});
}

// Rows of T tokens, token i of the graph's inputs.
std::vector<TokenRow> tokens(uint32_t t, int32_t first = 0) {
  std::vector<TokenRow> rows;
  for (uint32_t i = 0; i < t; i++)
    rows.push_back({0, first + static_cast<int32_t>(i), static_cast<int32_t>(i)});
  return rows;
}

// Both devices on the CPU's plan.
std::pair<Logits, Logits> cpu_and_ref(const std::shared_ptr<const Graph>& graph, uint32_t t,
                                      bool check_finite = true) {
  auto device = cpu_device(2, check_finite);
  const Caps caps = device->caps();
  Runner cpu(std::move(device), graph, caps),
      ref(make_ref_device({.check_finite = check_finite}), graph, caps);
  return {cpu.step(tokens(t)), ref.step(tokens(t))};
}

// ---- moe_route

std::shared_ptr<const Graph> route_graph(const RouteAttrs& a, const std::vector<float>& logits) {
  GraphBuilder b;
  const ValueId x = b.input("logits", a.experts, logits);
  std::vector<WeightId> weights;
  if (a.selection_bias) weights.push_back(b.vector("bias", random_floats(a.experts, 5, 0.3f)));
  if (a.expert_scale) weights.push_back(b.vector("scale", random_floats(a.experts, 6)));
  return b.finish(b.op(OpKind::kMoeRoute, "route", {x}, Rows::kT, 2 * a.used, weights, a));
}

std::vector<RouteAttrs> every_kind_of_route() {
  std::vector<RouteAttrs> all;
  for (const RouteScore score : {RouteScore::kSoftmax, RouteScore::kSigmoid, RouteScore::kSoftmaxOfSelected})
    for (const uint32_t experts : {1u, 8u, 128u})
      for (const uint32_t used : {1u, 2u, 8u}) {
        if (used > experts) continue;
        all.push_back({.experts = experts, .used = used, .score = score});
        all.push_back({.experts = experts,
                       .used = used,
                       .score = score,
                       .selection_bias = true,
                       .expert_scale = true,
                       .renormalize = true,
                       .min_sum = 0.1f,
                       .scale = 2.5f});
        if (experts < 8) continue;
        for (const GroupScore group : {GroupScore::kMax, GroupScore::kTop2Sum})
          for (const uint32_t groups : {4u, experts})
            all.push_back({.experts = experts,
                           .used = used,
                           .score = score,
                           .selection_bias = true,
                           .renormalize = true,
                           .groups = groups,
                           .groups_used = groups == experts ? used : 4u,
                           .group_score = group});
      }
  return all;
}

TEST(CpuExperts, RouteIsThatOfRef) {
  for (const RouteAttrs& a : every_kind_of_route()) {
    constexpr uint32_t kRows = 9;
    std::vector<float> logits = random_floats(kRows * a.experts, a.experts + a.used, 2);
    for (uint32_t i = 0; i < a.experts; i++) {
      logits[a.experts + i] = 0.5f;                               // all equal
      logits[2 * a.experts + i] = static_cast<float>(i / 2 % 3);  // many equal
    }
    const auto [cpu, ref] = cpu_and_ref(route_graph(a, logits), kRows);
    EXPECT_TRUE(same_bits(cpu, ref)) << a.experts << " experts, " << a.used << " used, " << a.groups
                                     << " groups, score " << static_cast<int>(a.score);
  }
}

TEST(CpuExperts, RouteByHand) {
  const RouteAttrs a{.experts = 4,
                     .used = 2,
                     .score = RouteScore::kSigmoid,
                     .groups = 2,
                     .groups_used = 1,
                     .group_score = GroupScore::kTop2Sum};
  // Group 1 is the better one by its sum, though the largest score is in group 0; then a tie of groups and experts.
  const auto [cpu, ref] = cpu_and_ref(route_graph(a, {3, -9, 1, 2, 0, 0, 0, 0}), 2);
  EXPECT_EQ(std::vector(cpu[0].begin(), cpu[0].begin() + 2), (std::vector<float>{3, 2}));
  EXPECT_NEAR(cpu[0][2], 1 / (1 + std::exp(-2.0)), 1e-7);
  EXPECT_NEAR(cpu[0][3], 1 / (1 + std::exp(-1.0)), 1e-7);
  EXPECT_EQ(cpu[1], (std::vector<float>{0, 1, 0.5f, 0.5f}));
  EXPECT_EQ(ref[0], cpu[0]);
}

// Whatever the logits are, a slot names an expert, each slot another one; a NaN is not lost.
TEST(CpuExperts, BadLogitsRouteToExperts) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const RouteAttrs& a : every_kind_of_route()) {
    for (const auto& some : {std::vector{nan}, {nan, -inf}, {-inf}, {inf}, {inf, -inf, nan}}) {
      std::vector<float> logits = random_floats(a.experts, 3);
      for (size_t i = 0; i < some.size(); i++)
        for (size_t e = i; e < (some.size() == 1 ? a.experts : 2 * some.size()) && e < a.experts;
             e += some.size())
          logits[e] = some[i];
      Logits both[2];
      std::tie(both[0], both[1]) = cpu_and_ref(route_graph(a, logits), 1, false);
      for (const Logits& route : both) {
        std::set<float> experts(route[0].begin(), route[0].begin() + a.used);
        EXPECT_EQ(experts.size(), a.used);
        EXPECT_TRUE(std::ranges::all_of(experts, [&](float e) {
          return e >= 0 && e < static_cast<float>(a.experts) && e == std::floor(e);
        }));
        if (!std::isnan(some[0])) continue;
        EXPECT_TRUE(
            std::any_of(route[0].begin() + a.used, route[0].end(), [](float w) { return std::isnan(w); }));
      }
    }
  }
}

// ---- moe_linear

struct Shape {
  uint32_t experts, used, in, out;
  bool bias, own_input;
};

std::shared_ptr<const Graph> product_graph(const Shape& s, Type type, uint32_t rows) {
  GraphBuilder b;
  const uint32_t width = s.own_input ? s.used * s.in : s.in;
  const ValueId x = b.input("x", width, random_floats(size_t{rows} * width, 21));
  // Expert 0 is popular, so that it has more rows than the others.
  std::vector<float> scores = random_floats(size_t{rows} * s.experts, 22);
  for (uint32_t t = 0; t < rows; t++) scores[size_t{t} * s.experts] += 1;
  const ValueId logits = b.input("logits", s.experts, scores);
  const ValueId route = b.op(OpKind::kMoeRoute, "route", {logits}, Rows::kT, 2 * s.used, {},
                             RouteAttrs{.experts = s.experts, .used = s.used});
  std::vector<WeightId> weights = {
      b.matrix("w", type, s.experts * s.out, s.in, 1 / std::sqrt(static_cast<float>(s.in)))};
  if (s.bias) weights.push_back(b.vector("bias", random_floats(s.experts * s.out, 23)));
  return b.finish(b.op(OpKind::kMoeLinear, "y", {x, route}, Rows::kT, s.used * s.out, weights,
                       ExpertAttrs{s.experts, s.used, s.bias, s.own_input}));
}

double rms(const Logits& rows) {
  double sum = 0, n = 0;
  for (const auto& row : rows)
    for (const float x : row) sum += static_cast<double>(x) * static_cast<double>(x), n++;
  return std::sqrt(sum / n);
}

void expect_near(const Logits& found, const Logits& expected, double bound) {
  const double scale = rms(expected);
  double worst = 0;
  for (size_t t = 0; t < expected.size(); t++)
    for (size_t i = 0; i < expected[t].size(); i++)
      worst =
          std::max(worst, std::abs(static_cast<double>(found[t][i]) - static_cast<double>(expected[t][i])));
  EXPECT_LT(worst, bound * scale);
  EXPECT_GT(scale, 1e-3);
}

TEST(CpuExperts, ProductsOfEveryFormatAgreeWithRef) {
  for (const Format* f : all_formats()) {
    const auto whole = [&](uint32_t n) {
      return (n + f->block_values - 1) / f->block_values * f->block_values;
    };
    for (const Shape& s : {Shape{8, 2, whole(48), 24, false, false},
                           {8, 2, whole(96), 40, true, true},
                           {5, 3, whole(32), 16, true, true}}) {
      SCOPED_TRACE(fmt::format("{} {} experts, {} in, {} out", f->name, s.experts, s.in, s.out));
      const auto [cpu, ref] = cpu_and_ref(product_graph(s, f->type, 7), 7);
      // BF16's kernels may round x to bf16.
      expect_near(cpu, ref, f->type == Type::BF16 ? 3e-2 : 3e-5);
    }
  }
}

TEST(CpuExperts, ProductsOfEveryShapeAgreeWithRef) {
  for (const uint32_t experts : {8u, 128u})
    for (const uint32_t used : {1u, 2u, 8u})
      for (const uint32_t t : {1u, 2u, 5u, 33u})
        for (const auto& [in, out] : {std::pair{64u, 24u}, {96u, 48u}, {128u, 200u}})
          for (const bool own_input : {false, true}) {
            const Shape s{experts, used, in, out, own_input, own_input};
            SCOPED_TRACE(fmt::format("{} of {} experts, {} in, {} out, {} rows", used, experts, in, out, t));
            const auto [cpu, ref] = cpu_and_ref(product_graph(s, Type::Q4_0, t), t);
            expect_near(cpu, ref, 3e-5);
          }
}

// More rows of one expert than are gathered at once.
TEST(CpuExperts, ManyRowsOfOneExpert) {
  for (const Type type : {Type::Q8_0, Type::F32}) {
    const auto [cpu, ref] = cpu_and_ref(product_graph({2, 2, 32, 24, true, true}, type, 700), 700);
    expect_near(cpu, ref, 3e-5);
  }
}

TEST(CpuExperts, BitsOfARowAreItsOwn) {
  constexpr uint32_t kRows = 33;
  for (const Type type : {Type::Q4_K, Type::Q5_0, Type::F16, Type::F32}) {
    for (const Shape& s :
         {Shape{8, 2, 256, 24, true, false}, {16, 8, 256, 72, false, true}, {3, 3, 256, 130, false, false}}) {
      const auto graph = product_graph(s, type, kRows);
      Logits whole;
      for (const uint32_t threads : {1u, 2u, 3u, 5u}) {
        auto device = cpu_device(threads);
        const Caps caps = device->caps();
        Runner r(std::move(device), graph, caps);
        const Logits together = r.step(tokens(kRows));
        if (threads == 1) whole = together;
        EXPECT_TRUE(same_bits(whole, together)) << threads << " threads";
        if (threads > 2) continue;
        for (uint32_t t = 0; t < kRows; t++)
          EXPECT_TRUE(same_bits({whole[t]}, r.step(tokens(1, static_cast<int32_t>(t)))))
              << "row " << t << " alone";
      }
    }
  }
}

// The weights of an expert are read if a row chose it, and only then.
TEST(CpuExperts, OnlyTheChosenExpertsAreRead) {
  const Shape s{6, 2, 64, 24, true, false};
  for (uint32_t bad = 0; bad < s.experts; bad++) {
    const auto graph = std::const_pointer_cast<Graph>(product_graph(s, Type::F32, 4));
    Weight& w = *std::ranges::find(graph->weights, "w", &Weight::name);
    auto* values = reinterpret_cast<float*>(const_cast<std::byte*>(w.data.data()));
    std::fill_n(values + size_t{bad} * s.out * s.in, s.out * s.in, std::numeric_limits<float>::quiet_NaN());
    const Weight& table = *std::ranges::find(graph->weights, "logits.table", &Weight::name);
    const auto* scores = reinterpret_cast<const float*>(table.data.data());
    for (const uint32_t threads : {1u, 2u}) {
      auto device = cpu_device(threads, false);
      const Caps caps = device->caps();
      const Logits y = Runner(std::move(device), graph, caps).step(tokens(4));
      for (uint32_t t = 0; t < 4; t++) {
        const std::span<const float> row(scores + size_t{t} * s.experts, s.experts);
        const auto better = std::ranges::count_if(row, [&](float x) { return x > row[bad]; });
        const auto nans = std::ranges::count_if(y[t], [](float x) { return std::isnan(x); });
        EXPECT_EQ(nans, better < s.used ? s.out : 0) << "row " << t << " expert " << bad;
      }
    }
  }
}

// ---- moe_combine

TEST(CpuExperts, SumsAgreeWithRef) {
  for (const uint32_t inputs : {2u, 3u, 4u})
    for (const uint32_t used : {1u, 8u})
      for (const uint32_t width : {24u, 80u})
        for (const uint32_t t : {1u, 9u}) {
          GraphBuilder b;
          std::vector<ValueId> in = {b.input("slots", used * width, random_floats(t * used * width, 1)),
                                     b.input("route", 2 * used, random_floats(t * 2 * used, 2)),
                                     b.input("shared", width, random_floats(t * width, 3)),
                                     b.input("gate", 1, random_floats(t, 4))};
          in.resize(inputs);
          const auto graph =
              b.finish(b.op(OpKind::kMoeCombine, "y", in, Rows::kT, width, {}, ExpertAttrs{used, used}));
          const auto [cpu, ref] = cpu_and_ref(graph, t);
          expect_near(cpu, ref, 1e-5);
        }
}

}  // namespace
}  // namespace brass
