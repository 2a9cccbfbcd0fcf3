// check_plan finds what a wrong plan does wrong, and says where.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph_builder.h"
#include "model/model.h"
#include "profiles.h"
#include "shared_data.h"

namespace brass {
namespace {

class Checker : public testing::TestWithParam<bool> {  // fused?
 protected:
  static Plan good_plan() {
    const Caps caps = GetParam() ? fused_profile() : plain_profile();
    return **compile(build_tiny(gemma_like()), {8, 2}, caps);
  }
  static std::string fault(const Plan& plan) {
    const Result<> checked = check_plan(plan);
    return checked ? "" : checked.error().message;
  }
  static bool says(const Plan& plan, std::string_view what) {
    const std::string text = fault(plan);
    if (text.find(what) != std::string::npos) return true;
    ADD_FAILURE() << "expected '" << what << "', found '" << text << "'";
    return false;
  }
};

TEST_P(Checker, AGoodPlanIsGood) { EXPECT_EQ(fault(good_plan()), ""); }

TEST_P(Checker, EveryBarrierIsNeeded) {
  const Plan plan = good_plan();
  size_t barriers = 0;
  for (size_t s = 0; s < plan.steps.size(); s++) {
    if (!plan.steps[s].barrier) continue;
    barriers++;
    Plan without = plan;
    without.steps[s].barrier = false;
    EXPECT_TRUE(says(without, "touch the same bytes without a barrier")) << "step " << s;
  }
  EXPECT_GT(barriers, 10u);
}

TEST_P(Checker, AMovedValueThatOverlapsALiveOne) {
  const Plan plan = good_plan();
  size_t found = 0;
  for (size_t v = 0; v < plan.placed.size(); v++)
    for (size_t w = 0; w < plan.placed.size(); w++) {
      const Placed &a = plan.placed[v], &b = plan.placed[w];
      if (v == w || a.storage == Storage::kInternal || b.storage == Storage::kInternal) continue;
      if (a.first > b.last || b.first > a.last) continue;
      Plan moved = plan;
      moved.placed[v].offset = b.offset + b.bytes - 4;  // four bytes in common
      moved.arena_bytes += a.bytes * plan.caps.threads + b.bytes;
      declare_ranges(moved);
      place_barriers(moved);
      EXPECT_TRUE(says(moved, "are live together and overlap in the arena"));
      found++;
    }
  EXPECT_GT(found, 50u);
}

TEST_P(Checker, AValuePastTheArena) {
  Plan plan = good_plan();
  plan.arena_bytes -= 1;
  EXPECT_TRUE(says(plan, "lies past the arena"));
}

TEST_P(Checker, AValueWithoutAPlace) {
  const Plan plan = good_plan();
  size_t found = 0;
  for (size_t v = 0; v < plan.placed.size(); v++) {
    const Placed& p = plan.placed[v];
    if (p.storage == Storage::kInternal || p.last == plan.steps.size()) continue;
    Plan without = plan;
    without.placed[v].storage = Storage::kInternal;
    EXPECT_TRUE(says(without, "which has no place")) << plan.values[v].name;
    found++;
  }
  EXPECT_GT(found, 20u);
}

// Of a last convolution only its state is wanted where no logits are; its program writes its rows all the same.
TEST(PlanWithoutLogits, WhatNothingReadsHasAPlace) {
  const auto path = shared_data("tiny/lfm2-a.gguf");
  if (!path) GTEST_SKIP();
  const auto model = load_model(*path);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  for (const Caps& caps : {plain_profile(), fused_profile()}) {
    const auto plan = compile((*model)->graph, {8, 0}, caps);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    std::set<ValueId> read;
    for (const Op& op : (*plan)->ops) read.insert(op.in.begin(), op.in.end());
    size_t unread = 0;
    for (const Step& step : (*plan)->steps)
      for (const uint32_t o : step.ops)
        for (const ValueId v : (*plan)->ops[o].out) {
          if (read.contains(v)) continue;
          EXPECT_NE((*plan)->place(v).storage, Storage::kInternal) << (*plan)->value(v).name;
          unread++;
        }
    EXPECT_GE(unread, 1u);
  }
}

TEST_P(Checker, SwappedSteps) {
  const Plan plan = good_plan();
  size_t refused = 0;
  for (size_t s = 0; s + 1 < plan.steps.size(); s++) {
    const Step &first = plan.steps[s], &second = plan.steps[s + 1];
    const bool feeds = std::ranges::any_of(first.ops, [&](uint32_t o) {
      return std::ranges::any_of(plan.ops[o].out, [&](ValueId v) {
        return std::ranges::any_of(second.ops,
                                   [&](uint32_t p) { return std::ranges::count(plan.ops[p].in, v) > 0; });
      });
    });
    if (!feeds) continue;
    Plan swapped = plan;
    std::swap(swapped.steps[s], swapped.steps[s + 1]);
    EXPECT_TRUE(says(swapped, "before it is made"));
    refused++;
  }
  EXPECT_GT(refused, 10u);
}

TEST_P(Checker, AttentionBeforeItsWrite) {
  const Plan plan = good_plan();
  const auto step_of = [&](std::string_view name) {
    for (size_t s = 0; s < plan.steps.size(); s++)
      for (const uint32_t o : plan.steps[s].ops)
        if (plan.ops[o].name == name) return s;
    return plan.steps.size();
  };
  Plan swapped = plan;
  const size_t write = step_of("blk.1.kv_write"), attention = step_of("blk.1.attention");
  ASSERT_LT(write, attention);
  ASSERT_LT(attention, plan.steps.size());
  // The write goes behind the attention; q's rotation, if it stands in the write's step, must not.
  Step& from = swapped.steps[write];
  std::erase_if(from.ops, [&](uint32_t o) { return plan.ops[o].kind == OpKind::kKvWrite; });
  for (uint32_t o = 0; o < plan.ops.size(); o++)
    if (plan.ops[o].name == "blk.1.kv_write") swapped.steps[attention].ops.push_back(o);
  EXPECT_TRUE(says(swapped, "'blk.1.kv_write' touches its layer's memory out of order"));
}

TEST_P(Checker, ADuplicatedAndAMissingOperation) {
  const Plan plan = good_plan();
  Plan twice = plan;
  twice.steps[3].ops.push_back(twice.steps[2].ops[0]);
  EXPECT_TRUE(says(twice, fmt::format("operation '{}' is in 2 steps", plan.ops[plan.steps[2].ops[0]].name)));
  Plan none = plan;
  none.steps.pop_back();
  EXPECT_TRUE(says(none, "is in 0 steps"));
}

INSTANTIATE_TEST_SUITE_P(Plans, Checker, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& p) { return p.param ? "fused" : "plain"; });

}  // namespace
}  // namespace brass
