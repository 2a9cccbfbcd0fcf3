// Cutting a graph for two devices: every operation once, in an order that holds, and few segments.
#include "plan/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "graph_builder.h"
#include "plan/plan.h"

namespace brass {
namespace {

std::vector<std::string> names_of(const std::vector<Op>& ops) {
  std::vector<std::string> names;
  for (const Op& op : ops)
    if (op.kind != OpKind::kRopeTable && op.kind != OpKind::kHiddenIn && !op.name.starts_with("receive.") &&
        op.name != "send")
      names.push_back(op.name);
  std::ranges::sort(names);
  return names;
}

// Every value that is read is made before it; shapes are those of the operations.
void expect_sound(const Segments& segments) {
  for (const GraphSegment& segment : segments.list) {
    std::vector<bool> made(segment.graph->values.size(), false);
    for (const Op& op : segment.graph->ops) {
      for (const ValueId v : op.in) EXPECT_TRUE(made[static_cast<size_t>(v)]) << op.name;
      for (const ValueId v : op.out) made[static_cast<size_t>(v)] = true;
    }
    uint32_t width = 0;
    for (const Wire& wire : segment.in) {
      width += wire.width;
      if (wire.from == Wire::kBatch) continue;
      const Graph& source = *segments.list[static_cast<size_t>(wire.from)].graph;
      ASSERT_GE(source.hidden, 0);
      EXPECT_LE(wire.column + wire.width, source.values[static_cast<size_t>(source.hidden)].width);
      EXPECT_LT(&segments.list[static_cast<size_t>(wire.from)], &segment);
    }
    if (width == 0) continue;
    EXPECT_EQ(segment.graph->values[static_cast<size_t>(segment.graph->ops[0].out[0])].width, width);
  }
}

TEST(Placement, EveryOperationIsInOneSegment) {
  for (const TinyModel& model : {plain_model(), qwen_like(), gemma_like(), sink_like(), expert_model()}) {
    const auto graph = build_tiny(model);
    for (const Placement& placement :
         {Placement{}, Placement{.first_layers = 1}, Placement{.first_layers = model.layers},
          Placement{.first_experts = 1000}, Placement{.first_layers = 1, .first_experts = 1000}}) {
      const Segments segments = cut(*graph, place_operations(*graph, placement));
      expect_sound(segments);
      std::vector<Op> all;
      for (const GraphSegment& segment : segments.list)
        all.insert(all.end(), segment.graph->ops.begin(), segment.graph->ops.end());
      EXPECT_EQ(names_of(all), names_of(graph->ops));
      for (size_t s = 1; s < segments.list.size(); s++)
        EXPECT_NE(segments.list[s].device, segments.list[s - 1].device);
      EXPECT_GE(segments.list[segments.output].graph->logits, 0);
    }
  }
}

TEST(Placement, FirstLayersAreOneSegmentAndTheRestAnother) {
  const auto graph = build_tiny(qwen_like());
  EXPECT_EQ(cut(*graph, place_operations(*graph, {})).list.size(), 1u);
  const Segments halves = cut(*graph, place_operations(*graph, {.first_layers = 1}));
  ASSERT_EQ(halves.list.size(), 2u);
  EXPECT_EQ(halves.list[0].device, 1u);
  EXPECT_EQ(halves.list[1].in.size(), 1u);  // the residual
}

// An expert layer costs one way there and one back: what else the GPU can do is done before.
TEST(Placement, ExpertsAreOneSegmentALayer) {
  const TinyModel model = expert_model();
  const auto graph = build_tiny(model);
  const Segments segments = cut(*graph, place_operations(*graph, {.first_experts = 1000}));
  size_t layers = 0;
  for (const GraphSegment& segment : segments.list) {
    const bool experts =
        std::ranges::any_of(segment.graph->ops, [](const Op& op) { return op.kind == OpKind::kMoeLinear; });
    EXPECT_EQ(experts, segment.device == 1);
    layers += experts ? 1 : 0;
  }
  EXPECT_EQ(segments.list.size(), 2 * layers + 1);
  EXPECT_GT(layers, 0u);
}

// A layer that reads another one's keys and values goes where they are.
TEST(Placement, AttentionGoesToItsMemory) {
  GraphBuilder b;
  const uint32_t group = b.group({.name = "kv", .kind = GroupKind::kKv, .layers = {{1, 32, 32}}});
  const ValueId x = b.input("x", 32, random_floats(32 * 8, 1));
  const AttentionAttrs attention{
      .group = group, .layer = 0, .q_heads = 1, .kv_heads = 1, .k_dim = 32, .v_dim = 32, .scale = 1};
  b.kv_write("write", x, x, {group, 0, 1, 32, 32}, 0);
  const ValueId a = b.op(OpKind::kAttention, "first", {x}, Rows::kT, 32, {}, attention, 0);
  const ValueId c = b.op(OpKind::kAttention, "second", {a}, Rows::kT, 32, {}, attention, 1);
  const ValueId rows = b.op(OpKind::kGatherRows, "rows", {c}, Rows::kR, 32);
  const auto graph = b.finish(b.op(OpKind::kLmHead, "head", {rows}, Rows::kR, 8,
                                   {b.matrix("w", Type::F32, 8, 32, 1)}, LinearAttrs{}));
  const Segments segments = cut(*graph, place_operations(*graph, {.first_layers = 1}));
  ASSERT_EQ(segments.list.size(), 2u);
  EXPECT_EQ(names_of(segments.list[0].graph->ops),
            (std::vector<std::string>{"first", "second", "write", "x"}));
  std::vector<const Graph*> second = {segments.list[1].graph.get()}, first = {segments.list[0].graph.get()};
  EXPECT_EQ(groups_within(second)[0].layers[0].heads, 0u);
  EXPECT_EQ(groups_within(first)[0].layers[0].heads, 1u);
}

}  // namespace
}  // namespace brass
