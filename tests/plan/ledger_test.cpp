// The ledger is true: what the plan says it reads is what the tensors hold.
#include <gtest/gtest.h>

#include "graph_builder.h"
#include "profiles.h"

namespace brass {
namespace {

// Bytes of the tensors by hand: whole ones of those that are read, a row a token of the embedding.
uint64_t bytes_by_hand(const Graph& graph, bool tied, uint64_t t, bool head) {
  uint64_t total = 0;
  for (const Weight& w : graph.weights) {
    if (w.name == "spare") continue;
    if (w.name == "token_embd") {
      total += t * w.data.size() / w.rows;
      if (tied && head) total += w.data.size();
    } else if (head || !w.name.starts_with("output")) {
      total += w.data.size();
    }
  }
  return total;
}

TEST(Ledger, WeightBytesAreThoseOfTheTensors) {
  for (TinyModel model : {plain_model(), qwen_like(), gemma_like(), ragged_model()}) {
    model.spare = true;
    const auto graph = build_tiny(model);
    for (const Caps& caps : {plain_profile(), fused_profile()})
      for (const uint64_t t : {1u, 5u, 8u}) {
        const auto plan = *compile(graph, {bucket(static_cast<uint32_t>(t)), 1}, caps);
        EXPECT_EQ(plan_cost(*plan, {t, 1, 100}).weight_bytes, bytes_by_hand(*graph, model.tied, t, true));
      }
  }
}

TEST(Ledger, WithoutLogitsWhatOnlyTheyReadIsNotCounted) {
  TinyModel model = plain_model();
  const auto graph = build_tiny(model);
  uint64_t expected = bytes_by_hand(*graph, false, 8, false);
  // The last layer's attention and feed-forward lead to logits only.
  for (const Weight& w : graph->weights)
    for (const char* name : {"blk.1.attn_q", "blk.1.attn_output", "blk.1.ffn_norm", "blk.1.ffn_gate",
                             "blk.1.ffn_up", "blk.1.ffn_down"})
      if (w.name == name) expected -= w.data.size();
  EXPECT_EQ(plan_cost(**compile(graph, {8, 0}, fused_profile()), {8, 0, 0}).weight_bytes, expected);
}

TEST(Ledger, ABatchReadsEachWeightOnce) {
  const auto graph = build_tiny(plain_model());
  const auto plan = *compile(graph, {8, 8}, fused_profile());
  const uint64_t row = graph->weights[0].data.size() / graph->weights[0].rows;
  EXPECT_EQ(plan_cost(*plan, {8, 8, 0}).weight_bytes, plan_cost(*plan, {1, 1, 0}).weight_bytes + 7 * row);
}

// One token reads the experts that it uses; many tokens those that are expected of an even spread, at most all.
TEST(Ledger, ExpertsAreCountedAsExpected) {
  const TinyModel model = expert_model();
  const auto graph = build_tiny(model);
  uint64_t of_experts = 0;
  for (const Weight& w : graph->weights)
    if (w.name.find("_exps") != std::string::npos) of_experts += w.data.size();
  const uint64_t row = graph->weights[0].data.size() / graph->weights[0].rows;
  const uint64_t others = bytes_by_hand(*graph, false, 0, true) - of_experts;
  for (const auto& [t, share] : {std::pair{1u, 3 / 7.0}, {2u, 1 - 16 / 49.0}, {1000u, 1.0}}) {
    const auto plan = *compile(graph, {bucket(t), 1}, fused_profile());
    EXPECT_NEAR(static_cast<double>(plan_cost(*plan, {t, 1, 0}).weight_bytes),
                static_cast<double>(others + t * row) + share * static_cast<double>(of_experts), 10)
        << t;
  }
}

TEST(Ledger, KvBytesFollowDepthWindowAndType) {
  const TinyModel model = gemma_like();  // layers 0 and 2 see 20 positions
  const auto graph = build_tiny(model);
  const auto plan = *compile(graph, {1, 1}, fused_profile());
  const uint64_t position = 2 * 64 * 2;  // K and V of one head, f16
  const Cost cost = plan_cost(*plan, {1, 1, 1000});
  EXPECT_EQ(cost.kv_written, 3 * position);
  EXPECT_EQ(cost.kv_read, (1001 + 2 * 20) * position);
  EXPECT_EQ(plan_cost(*plan, {1, 1, 4}).kv_read, 3 * 5 * position);
  Caps f32 = fused_profile();
  f32.kv = {4, 1};
  EXPECT_EQ(plan_cost(**compile(graph, {1, 1}, f32), {1, 1, 4}).kv_read, 3 * 5 * 64 * 5);
}

TEST(Ledger, FusionMovesNoWeightsAndFewerActivations) {
  const auto graph = build_tiny(plain_model());
  const Sizes sizes{1, 1, 50};
  const Cost fused = plan_cost(**compile(graph, {1, 1}, fused_profile()), sizes);
  const Cost unfused = plan_cost(**compile(graph, {1, 1}, without_rules(fused_profile())), sizes);
  EXPECT_EQ(fused.weight_bytes, unfused.weight_bytes);
  EXPECT_EQ(fused.kv_read, unfused.kv_read);
  EXPECT_EQ(fused.flops, unfused.flops);
  EXPECT_LT(fused.activation_bytes, unfused.activation_bytes);
}

TEST(Ledger, StepsSumToThePlan) {
  const auto plan = *compile(build_tiny(gemma_like()), {8, 2}, fused_profile());
  const Sizes sizes{7, 2, 33};
  Cost sum;
  for (const Step& step : plan->steps) sum += step_cost(*plan, step, sizes);
  const Cost whole = plan_cost(*plan, sizes);
  EXPECT_EQ(sum.weight_bytes, whole.weight_bytes);
  EXPECT_EQ(sum.kv_read, whole.kv_read);
  EXPECT_EQ(sum.kv_written, whole.kv_written);
  EXPECT_EQ(sum.activation_bytes, whole.activation_bytes);
  EXPECT_EQ(sum.flops, whole.flops);
}

TEST(Ledger, ProductFlopsAreTwoAMultiplication) {
  GraphBuilder b;
  const ValueId x = b.input("x", 32, random_floats(4 * 32, 1));
  const auto graph = b.finish(
      b.op(OpKind::kLinear, "y", {x}, Rows::kT, 10, {b.matrix("w", Type::F16, 10, 32, 1)}, LinearAttrs{}));
  EXPECT_EQ(plan_cost(**compile(graph, {4, 1}, plain_profile()), {4, 1, 0}).flops, 2u * 4 * 10 * 32);
}

}  // namespace
}  // namespace brass
