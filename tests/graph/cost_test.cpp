// What operations cost, by hand, and what they are called.
#include <gtest/gtest.h>

#include "graph_builder.h"

namespace brass {
namespace {

Cost cost_of(const Graph& graph, std::string_view name, const Sizes& sizes, const KvBytes& kv = {4, 4}) {
  for (const Op& op : graph.ops)
    if (op.name == name) return op_cost(graph, graph.values, op, sizes, kv);
  ADD_FAILURE() << "no operation " << name;
  return {};
}

TEST(Cost, EmbedReadsTheRowsOfTheTokens) {
  const auto graph = build_tiny(plain_model());
  const Cost cost = cost_of(*graph, "embed", {5, 1, 0});
  EXPECT_EQ(cost.weight_bytes, 5u * 256 / 32 * 34);  // Q8_0
  EXPECT_EQ(cost.activation_bytes, 5u * 256 * 4);
}

TEST(Cost, LinearReadsItsTensorsOnceForAnyRows) {
  const auto graph = build_tiny(qwen_like());
  for (const uint64_t t : {1, 7}) {
    const Cost cost = cost_of(*graph, "blk.0.attn_k", {t, 1, 0});
    EXPECT_EQ(cost.weight_bytes, 128u * 144 + 128 * 4);  // Q4_K rows of one block, f32 bias
    EXPECT_EQ(cost.flops, 2 * t * 128 * 256);
    EXPECT_EQ(cost.activation_bytes, t * (256 + 128) * 4);
  }
}

TEST(Cost, NoRowsReadNothing) {
  const auto graph = build_tiny(plain_model());
  EXPECT_EQ(cost_of(*graph, "output", {4, 0, 0}).weight_bytes, 0u);
  EXPECT_EQ(cost_of(*graph, "output", {4, 2, 0}).flops, 2u * 2 * 301 * 256);
}

TEST(Cost, KvWrite) {
  const auto graph = build_tiny(plain_model());
  EXPECT_EQ(cost_of(*graph, "blk.0.kv_write", {3, 1, 9}).kv_written, 3u * 2 * 128 * 4);
  EXPECT_EQ(cost_of(*graph, "blk.0.kv_write", {3, 1, 9}, {1.125, 2}).kv_written, 3u * (144 + 256));
}

TEST(Cost, AttentionSeesItsOwnPositionAndTheWindow) {
  const auto graph = build_tiny(gemma_like());  // layer 0: window 20; layer 1: all
  const uint64_t per_position = 64 * 2 * 4, flops = 2 * 4 * 128;
  EXPECT_EQ(cost_of(*graph, "blk.1.attention", {1, 1, 100}).kv_read, 101 * per_position);
  EXPECT_EQ(cost_of(*graph, "blk.1.attention", {1, 1, 100}).flops, 101 * flops);
  EXPECT_EQ(cost_of(*graph, "blk.1.attention", {4, 1, 0}).flops, (1 + 2 + 3 + 4) * flops);
  EXPECT_EQ(cost_of(*graph, "blk.0.attention", {1, 1, 100}).kv_read, 20 * per_position);
  EXPECT_EQ(cost_of(*graph, "blk.0.attention", {4, 1, 100}).kv_read, 23 * per_position);
  EXPECT_EQ(cost_of(*graph, "blk.0.attention", {4, 1, 18}).flops, (19 + 20 + 20 + 20) * flops);
  EXPECT_EQ(cost_of(*graph, "blk.0.attention", {2, 1, 3}).kv_read, 5 * per_position);
}

TEST(Cost, WholeTexts) {
  const auto graph = build_tiny(encoder_like());
  EXPECT_EQ(cost_of(*graph, "blk.1.attention", {4, 1, 0}).flops, 4u * 4 * (2 * 4 * 128));
  EXPECT_EQ(cost_of(*graph, "blk.1.attention", {4, 1, 0}).kv_read, 4u * 64 * 2 * 4);
  EXPECT_EQ(cost_of(*graph, "pool", {5, 1, 0}).flops, 5u * 256);
  EXPECT_EQ(cost_of(*graph, "pool", {5, 2, 0}).activation_bytes, (5u + 2) * 256 * 4);
  EXPECT_TRUE(graph->needs_whole_texts());
  EXPECT_FALSE(build_tiny(plain_model())->needs_whole_texts());
}

TEST(Cost, OneRowForAllTokensIsReadOnce) {
  GraphBuilder b;
  const WeightId table = b.matrix("types", 2, 24, random_floats(48, 1));
  const auto graph =
      b.finish(b.op(OpKind::kEmbed, "embed", {}, Rows::kT, 24, {table}, EmbedAttrs{EmbedIndex::kFirst}));
  EXPECT_EQ(cost_of(*graph, "embed", {7, 1, 0}).weight_bytes, 24u * 4);
  EXPECT_EQ(cost_of(*graph, "embed", {0, 0, 0}).weight_bytes, 0u);
}

TEST(Cost, BytesOfValues) {
  EXPECT_EQ(value_bytes({"x", Rows::kT, 100}, {3, 1, 0}), 3u * 400);
  EXPECT_EQ(value_bytes({"x", Rows::kR, 100}, {3, 1, 0}), 400u);
  EXPECT_EQ(value_bytes({"x", Rows::kT, 100, true}, {3, 1, 0}), 3u * (100 + 4 * 8));
}

TEST(Names, AreThoseOfTheVocabulary) {
  EXPECT_EQ(op_name(OpKind::kEmbed), "embed");
  EXPECT_EQ(op_name(OpKind::kQuantAct), "quant_act");
  EXPECT_EQ(op_name(OpKind::kHeadNorm), "head_norm");
  EXPECT_EQ(act_name(ActKind::kSilu), "silu");
  EXPECT_EQ(act_name(ActKind::kSigmoid), "sigmoid");
}

}  // namespace
}  // namespace brass
