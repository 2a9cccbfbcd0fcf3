// A convolution that the product before it makes: the bits, and the states that it leaves, of both apart.
#include "plan/rules.h"
#include "state_harness.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

using Dispatches = std::map<std::string, uint64_t>;

std::shared_ptr<const Graph> linear_conv_graph(uint32_t cols, uint32_t channels, uint32_t taps, bool silu,
                                               bool bias = false) {
  GraphBuilder b;
  const ValueId x = b.input("x", cols, random_floats(size_t{kStateTexts} * cols, 1));
  const WeightId w = b.matrix("w", Type::Q8_0, channels, cols, 0.5f);
  const ValueId u = b.op(OpKind::kLinear, "u", {x}, Rows::kT, channels, {w}, LinearAttrs{});
  const uint32_t group = state_group(b, channels * (taps - 1));
  std::vector<WeightId> weights = {b.vector("taps", random_floats(size_t{channels} * taps, 2))};
  if (bias) weights.push_back(b.vector("bias", random_floats(channels, 3)));
  return b.finish(b.op(OpKind::kConv1d, "conv", {u}, Rows::kT, channels, weights,
                       ConvAttrs{.group = group, .layer = 1, .taps = taps, .bias = bias, .silu = silu}));
}

// Of the convolution; the layer before it is nobody's.
std::vector<float> window(const StateRunner& runner, PageId page) {
  const std::vector<float> all = runner.state(page);
  return {all.begin() + 21, all.end()};
}

StateRunner runner(const std::shared_ptr<const Graph>& graph, bool joined, Dispatches& dispatches) {
  auto device = make_vulkan_device({.poison = true, .dispatches = &dispatches});
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  std::vector<std::string> without;
  if (!joined) without.emplace_back(kLinearConv);
  return {std::move(*device), graph, without};
}

// A text from its beginning, in place and elsewhere; two texts in a step, one of which reads what the other writes; snapshots;
// rows of nobody.
const std::vector<std::vector<StateRows>> kSteps = {
    {{0, 1, {-1, 0}}},
    {{1, 2, {0, 0}}},
    {{2, 7, {0, 1}, {{2, 2}, {5, 3}}}},
    {{7, 8, {1, 4}}, {3, 6, {2, 1}}},
    {{20, 22, {-1, 5}}, {8, 11, {4, 4}, {{9, 6}}, 2}},
    {{11, 12, {4, 4}}, {22, 23, {5, 7}}, {6, 7, {1, 1}}},
};

TEST(VulkanConv, JoinedWithItsProductChangesNoBit) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const auto& [cols, channels, taps] :
       {std::array<uint32_t, 3>{64, 37, 4}, {256, 512, 4}, {1088, 96, 3}, {32, 5, 2}, {1024, 700, 8}}) {
    SCOPED_TRACE(fmt::format("{} columns, {} channels, {} taps", cols, channels, taps));
    const auto graph = linear_conv_graph(cols, channels, taps, channels % 2 == 0);
    Dispatches joined_dispatches, apart_dispatches;
    StateRunner joined = runner(graph, true, joined_dispatches),
                apart = runner(graph, false, apart_dispatches);
    for (const std::vector<StateRows>& step : kSteps) {
      const Logits found = joined.step(step), expected = apart.step(step);
      size_t row = 0;
      for (const StateRows& part : step) {
        row += part.padding;  // nobody's rows are not made
        for (int32_t i = part.begin; i < part.end; i++, row++)
          EXPECT_EQ(found[row], expected[row]) << "row " << i;
      }
      for (const StateRows& part : step) {
        EXPECT_EQ(window(joined, part.pages.out), window(apart, part.pages.out));
        for (const auto& [at, page] : part.snapshots) EXPECT_EQ(window(joined, page), window(apart, page));
      }
    }
    EXPECT_EQ(joined_dispatches["conv1d"], 0u);
    EXPECT_GT(apart_dispatches["conv1d"], 0u);
  }
}

TEST(VulkanConv, ABiasStaysApart) {
  if (!vulkan_is_there()) GTEST_SKIP();
  Dispatches dispatches;
  StateRunner apart = runner(linear_conv_graph(64, 40, 4, true, true), true, dispatches);
  apart.step({{0, 3, {-1, 0}}});
  EXPECT_EQ(dispatches["conv1d"], 1u);
}

}  // namespace
}  // namespace brass
