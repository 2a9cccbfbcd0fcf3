// What compile makes of a graph: every operation once, whatever rules are on; refusals by name; its own
// speed.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "graph_builder.h"
#include "profiles.h"
#include "sanitized.h"

namespace brass {
namespace {

std::shared_ptr<const Plan> compiled(const std::shared_ptr<const Graph>& graph, PlanKey key,
                                     const Caps& caps) {
  Result<std::shared_ptr<const Plan>> plan = compile(graph, key, caps);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  return *plan;
}

// Names of the operations that run, sorted: the same ones once each, whatever joins them.
std::vector<std::string> operations_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps)
    for (const uint32_t o : step.ops) names.push_back(plan.ops[o].name);
  std::ranges::sort(names);
  return names;
}

std::set<std::string_view> rules_used(const Plan& plan) {
  std::set<std::string_view> used;
  for (const Step& step : plan.steps)
    if (step.ops.size() > 1) used.insert(step.rule);
  return used;
}

TEST(Bucket, IsTheNextPowerOfTwo) {
  EXPECT_EQ(bucket(0), 0u);
  EXPECT_EQ(bucket(1), 1u);
  EXPECT_EQ(bucket(3), 4u);
  EXPECT_EQ(bucket(64), 64u);
  EXPECT_EQ(bucket(65), 128u);
}

// Of devices that pay for every step: the same operations whatever rule is off, few steps a layer for few rows, and steps of
// one operation of f32 for many.
TEST(Compile, DispatchRulesRunTheSameOperationsOnce) {
  for (const TinyModel& model : {plain_model(), qwen_like(), gemma_like(), sink_like(), expert_model()}) {
    const auto graph = build_tiny(model);
    for (const PlanKey key : {PlanKey{1, 1}, PlanKey{1, 0}, PlanKey{8, 2}}) {
      const Caps whole = dispatch_profile();
      const std::vector<std::string> expected = operations_of(*compiled(graph, key, without_rules(whole)));
      for (const std::string_view rule : whole.rules) {
        Caps caps = whole;
        caps.rules.erase(rule);
        const auto plan = compiled(graph, key, caps);
        std::vector<std::string> operations = operations_of(*plan);
        const auto copies =
            std::erase_if(operations, [](const std::string& name) { return name.ends_with(".again"); });
        EXPECT_TRUE(copies == 0 || (rule != kNormLinear && model.experts > 0)) << copies << " norms twice";
        EXPECT_EQ(operations, expected) << "without " << rule;
        EXPECT_TRUE(check_plan(*plan).has_value());
        EXPECT_FALSE(rules_used(*plan).contains(rule));
      }
    }
    const auto many = compiled(graph, {16, 1}, dispatch_profile());
    EXPECT_EQ(many->steps.size(), many->ops.size());
    for (const Op& op : many->ops) EXPECT_NE(op.kind, OpKind::kQuantAct);
  }
  TinyModel more = qwen_like();
  more.layers += 1;
  EXPECT_EQ(compiled(build_tiny(more), {1, 1}, dispatch_profile())->steps.size() -
                compiled(build_tiny(qwen_like()), {1, 1}, dispatch_profile())->steps.size(),
            5u);  // q, k, v; attention; output with its norm; gate and up; down with its norm
}

TEST(Compile, AnySetOfRulesRunsTheSameOperationsOnce) {
  for (const TinyModel& model : {plain_model(), qwen_like(), gemma_like()}) {
    const auto graph = build_tiny(model);
    for (const PlanKey key : {PlanKey{1, 1}, PlanKey{8, 2}, PlanKey{64, 0}}) {
      const std::vector<std::string> expected =
          operations_of(*compiled(graph, key, without_rules(fused_profile())));
      EXPECT_TRUE(std::ranges::adjacent_find(expected) == expected.end());
      for (uint32_t set = 0; set < 1u << all_rules().size(); set++) {
        Caps caps = without_rules(fused_profile());
        for (size_t i = 0; i < all_rules().size(); i++)
          if (set >> i & 1) caps.rules.insert(all_rules()[i].name);
        const auto plan = compiled(graph, key, caps);
        ASSERT_EQ(operations_of(*plan), expected) << "rules " << set;
        ASSERT_TRUE(check_plan(*plan).has_value());
      }
    }
  }
}

TEST(Compile, EveryRuleIsUsedAndCanBeSwitchedOff) {
  std::set<std::string_view> used;
  for (const TinyModel& model : {plain_model(), gemma_like()})
    used.merge(rules_used(*compiled(build_tiny(model), {1, 1}, fused_profile())));
  for (const Rule& rule : all_rules()) {
    // glu and attention_quant end as parts of larger steps when their own followers are on.
    Caps only = without_rules(fused_profile());
    only.rules = {rule.name};
    if (rule.name == "glu_quant") only.rules.insert("glu");
    EXPECT_TRUE(used.contains(rule.name) ||
                rules_used(*compiled(build_tiny(plain_model()), {1, 1}, only)).contains(rule.name))
        << rule.name;
    Caps caps = fused_profile();
    caps.rules.erase(rule.name);
    EXPECT_FALSE(rules_used(*compiled(build_tiny(gemma_like()), {1, 1}, caps)).contains(rule.name))
        << rule.name;
  }
}

TEST(Compile, FusionMakesFewerStepsAndBarriers) {
  const auto graph = build_tiny(plain_model());
  const auto count = [](const Plan& plan) {
    return std::ranges::count_if(plan.steps, [](const Step& s) { return s.barrier; });
  };
  const auto fused = compiled(graph, {1, 1}, fused_profile());
  const auto unfused = compiled(graph, {1, 1}, without_rules(fused_profile()));
  EXPECT_LT(fused->steps.size() * 2, unfused->steps.size());
  EXPECT_LT(count(*fused), count(*unfused));
}

TEST(Compile, WithoutLogitsThereIsNoHead) {
  const auto graph = build_tiny(plain_model());
  const auto plan = compiled(graph, {8, 0}, fused_profile());
  const std::vector<std::string> names = operations_of(*plan);
  for (const char* name : {"last", "output_norm", "output", "blk.1.ffn_down", "blk.1.attention"})
    EXPECT_FALSE(std::ranges::binary_search(names, name)) << name;
  EXPECT_TRUE(std::ranges::binary_search(names, std::string("blk.1.kv_write")));
}

TEST(Compile, PrivateStepsAreShortRowWiseOnes) {
  const auto graph = build_tiny(plain_model());
  for (const uint32_t t : {1u, 4u, 8u}) {
    const auto plan = compiled(graph, {t, 1}, fused_profile());
    size_t in_private = 0;
    for (const Step& step : plan->steps) {
      in_private += step.in_private;
      for (const uint32_t o : step.ops)
        for (const ValueId v : plan->ops[o].out) {
          EXPECT_NE(v == graph->logits && step.in_private, true);
          EXPECT_TRUE(step.in_private || plan->place(v).storage != Storage::kPrivate);
          EXPECT_TRUE(!step.in_private || plan->value(v).rows == Rows::kR || t <= plan->caps.private_rows);
        }
    }
    EXPECT_EQ(in_private > 1, t <= 4) << t;  // the norm before the head has one row whatever T is
  }
  for (const Step& step : compiled(graph, {1, 1}, fused_profile(1))->steps) EXPECT_FALSE(step.in_private);
}

TEST(Compile, RefusesByName) {
  const auto graph = build_tiny(plain_model());
  Caps caps = plain_profile();
  caps.operations.erase(OpKind::kRope);
  const auto no_rope = compile(graph, {1, 1}, caps);
  ASSERT_FALSE(no_rope.has_value());
  EXPECT_EQ(no_rope.error().message, "device 'plain' cannot run rope ('blk.0.q_rope', layer 0)");

  caps = plain_profile();
  caps.matrix_types.erase(Type::Q6_K);
  const auto no_q6 = compile(graph, {1, 1}, caps);
  ASSERT_FALSE(no_q6.has_value());
  EXPECT_EQ(
      no_q6.error().message,
      "device 'plain' has no kernel for linear ('blk.0.attn_v', layer 0): tensor 'blk.0.attn_v' is Q6_K");
}

// Of a plan that chooses, the choice is what lives to the end, and the logits are not.
TEST(Compile, ChoosesWhereTheKeyAsksForIt) {
  const auto graph = build_tiny(gemma_like());  // its logits are capped
  const PlanKey key{.t = 1, .r = 1, .choose = 1};
  for (const Caps& caps : {plain_profile(), dispatch_profile()}) {
    const auto plan = compiled(graph, key, caps), plain = compiled(graph, {1, 1}, caps);
    EXPECT_EQ(plan->outputs(), std::vector<ValueId>{plan->choice});
    ASSERT_EQ(plan->steps.size(), plain->steps.size() + 1);
    EXPECT_EQ(plan->ops[plan->steps.back().ops[0]].kind, OpKind::kChoose);
    EXPECT_TRUE(plan->steps.back().barrier);
    EXPECT_EQ(plan->place(graph->logits).last + 1, plan->steps.size());
    EXPECT_EQ(plan->place(plan->choice).last, plan->steps.size());
    const Sizes sizes{1, 1, 0};
    EXPECT_EQ(plan_cost(*plan, sizes).flops,
              plan_cost(*plain, sizes).flops + plan->value(graph->logits).width);
    EXPECT_EQ(plan_cost(*plan, sizes).weight_bytes, plan_cost(*plain, sizes).weight_bytes);
  }
  Caps caps = plain_profile();
  caps.operations.erase(OpKind::kChoose);
  EXPECT_EQ(compile(graph, key, caps).error().message, "device 'plain' cannot run choose");
}

// As many numbers and logits a row as candidates were asked for, or as there are logits.
TEST(Compile, FindsAsManyCandidatesAsTheKeyAsksFor) {
  const auto graph = build_tiny(small_model());
  const uint32_t vocabulary = small_model().vocab;
  const auto plain = compiled(graph, {4, 3}, dispatch_profile());
  for (const uint32_t choose : {2u, 40u, kMostCandidates}) {
    const uint32_t candidates = std::min(choose, vocabulary);
    const auto plan = compiled(graph, {.t = 4, .r = 3, .choose = choose}, dispatch_profile());
    EXPECT_EQ(plan->outputs(), std::vector<ValueId>{plan->choice});
    const Op& op = plan->ops[plan->steps.back().ops[0]];
    EXPECT_EQ(op.kind, OpKind::kChoose);
    EXPECT_EQ(op.as<ChooseAttrs>().candidates, candidates);
    EXPECT_EQ(plan->value(plan->choice).width, 2 * candidates);
    EXPECT_EQ(plan->place(plan->choice).bytes, 3 * ((2 * candidates + 15) / 16 * 16) * sizeof(float));
    const Sizes sizes{4, 3, 0};
    const Cost found = plan_cost(*plan, sizes), without = plan_cost(*plain, sizes);
    EXPECT_EQ(found.weight_bytes, without.weight_bytes);
    EXPECT_EQ(found.activation_bytes - without.activation_bytes,
              3 * (vocabulary + 2 * candidates) * sizeof(float));
  }
}

TEST(Compile, Int8InputsAreMadeOnceForAllTheirReaders) {
  const auto graph = build_tiny(plain_model());
  const auto plan = compiled(graph, {1, 1}, without_rules(fused_profile()));
  std::map<ValueId, int> made;
  for (const Op& op : plan->ops) {
    if (op.kind == OpKind::kQuantAct) {
      EXPECT_EQ(made[op.in[0]]++, 0) << op.name;
    }
    if (op.kind == OpKind::kLinear) {
      EXPECT_TRUE(plan->value(op.in[0]).quantized()) << op.name;
    }
  }
  EXPECT_EQ(made.size(),
            2u * 4 + 1);  // before q/k/v, the output, gate/up, down of two layers; before the head
  Caps floats_only = fused_profile();
  floats_only.int8_terms.clear();
  for (const Op& op : compiled(graph, {1, 1}, floats_only)->ops) EXPECT_NE(op.kind, OpKind::kQuantAct);
}

// A value is quantized once, with as many terms as the reader that wants most.
TEST(Compile, Int8InputsHaveTheTermsOfTheirReaders) {
  const auto graph = build_tiny(plain_model());
  for (const uint8_t of_q6 : {uint8_t{1}, uint8_t{2}}) {
    Caps caps = without_rules(fused_profile());
    caps.int8_terms[Type::Q6_K] = of_q6;
    const auto plan = compiled(graph, {1, 1}, caps);
    std::map<ValueId, uint8_t> wanted;
    for (const Op& op : plan->ops)
      if (op.kind == OpKind::kLinear || op.kind == OpKind::kLmHead) {
        uint8_t& most = wanted[op.in[0]];
        most = std::max(most, caps.int8_terms[plan->weight(op.weights[0]).type]);
      }
    std::set<uint8_t> seen;
    for (const auto& [v, terms] : wanted) {
      const Value& value = plan->value(v);
      EXPECT_EQ(value.int8_terms, terms) << value.name;
      EXPECT_TRUE(value.name.ends_with(value_type_name(value))) << value.name;
      const QuantizedLayout one = quantized_layout(value.width, 1, 1),
                            all = quantized_layout(value.width, 1, terms);
      EXPECT_EQ(plan->place(v).bytes, all.bytes);
      EXPECT_EQ(all.bytes, one.bytes + (terms - 1) * one.code_stride);
      EXPECT_EQ(value_bytes(value, {.t = 1, .r = 1, .s = 0}),
                terms * value.width + (value.width + 31) / 32 * 8);
      seen.insert(terms);
    }
    EXPECT_EQ(seen, (std::set<uint8_t>{1, 2})) << "both kinds are in this model";
  }
}

double cpu_milliseconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

TEST(Compile, TakesLessThanFiveMillisecondsForSixtyFourLayers) {
  if (kSanitized) GTEST_SKIP() << "times of an instrumented build say nothing";
  TinyModel model = gemma_like();
  model.layers = 64;
  model.d = model.ffn = 256;
  const auto graph = build_tiny(model);
  for (const Caps& caps : {fused_profile(), plain_profile()}) {
    double best = 1e9;
    for (int i = 0; i < 20; i++) {
      const double start = cpu_milliseconds();
      compiled(graph, {1, 1}, caps);
      best = std::min(best, cpu_milliseconds() - start);
    }
    EXPECT_LT(best, 5.0) << caps.name;
    RecordProperty(caps.name + "_us", static_cast<int>(best * 1000));
    std::printf("%s: %.2f ms\n", caps.name.c_str(), best);
  }
}

}  // namespace
}  // namespace brass
