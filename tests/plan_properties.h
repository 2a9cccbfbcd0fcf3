// "The plan is the program": what is done to a plan shows in what the device computes, exactly when it must.
// A test program includes this and instantiates PlanProperties with its devices.
#pragma once

#include <set>

#include "device_case.h"

namespace brass {

class PlanProperties : public DeviceTest {
 protected:
  static constexpr auto kModel = small_model;

  // A fresh device each time, so that nothing stale stands in for what a changed plan does not compute: three
  // tokens one by one, or at once.
  static Logits outcome(const std::shared_ptr<const Graph>& graph, bool at_once, Runner::Change change = {}) {
    Result<Logits> all = try_outcome(graph, at_once, std::move(change));
    EXPECT_TRUE(all.has_value()) << (all ? "" : all.error().message);
    return all ? std::move(*all) : Logits{};
  }

  // As outcome(), of a plan that a device may find to be wrong: its error.
  static Result<Logits> try_outcome(const std::shared_ptr<const Graph>& graph, bool at_once,
                                    Runner::Change change) {
    Runner r = runner(graph, 1, {}, std::move(change));
    const std::vector<TokenRow> rows = Runner::rows_of(0, {7, 23, 41}, 0);
    if (at_once) return r.try_step(rows);
    Logits all;
    for (const TokenRow& row : rows) all.push_back(TRY(r.try_step({row}))[0]);
    return all;
  }

  static std::shared_ptr<const Plan> plan_of(const std::shared_ptr<const Graph>& graph, bool at_once) {
    Runner r = runner(graph);
    return std::make_shared<Plan>(r.plan(at_once ? PlanKey{4, 4} : PlanKey{1, 1}));
  }

  static void renew(Plan& plan) {
    declare_ranges(plan);
    place_barriers(plan);
  }

  // First and last steps of every stored value, after steps have moved.
  static void renew_lifetimes(Plan& plan) {
    for (Placed& p : plan.placed) p.first = p.last = 0;
    for (uint32_t s = 0; s < plan.steps.size(); s++)
      for (const uint32_t o : plan.steps[s].ops) {
        for (const ValueId v : plan.ops[o].in) plan.placed[static_cast<size_t>(v)].last = s;
        for (const ValueId v : plan.ops[o].out)
          plan.placed[static_cast<size_t>(v)].first = plan.placed[static_cast<size_t>(v)].last = s;
      }
    for (const ValueId v : plan.outputs())
      plan.placed[static_cast<size_t>(v)].last = static_cast<uint32_t>(plan.steps.size());
    renew(plan);
  }

  static void swap_steps(Plan& plan, size_t i) {
    std::swap(plan.steps[i], plan.steps[i + 1]);
    renew_lifetimes(plan);
  }

  static std::vector<ValueId> stored_values(const Plan& plan) {
    std::vector<ValueId> stored;
    for (ValueId v = 0; v < static_cast<ValueId>(plan.values.size()); v++)
      if (plan.place(v).storage != Storage::kInternal) stored.push_back(v);
    return stored;
  }

  static uint64_t whole_bytes(const Plan& plan, ValueId v) {
    const Placed& p = plan.place(v);
    return p.bytes * (p.storage == Storage::kPrivate ? plan.caps.threads : 1);
  }
};

TEST_P(PlanProperties, EveryStepIsNeeded) {
  const auto graph = build_tiny(kModel());
  for (const bool at_once : {false, true}) {
    const Logits whole = outcome(graph, at_once);
    const auto plan = plan_of(graph, at_once);
    for (size_t s = 0; s < plan->steps.size(); s++) {
      const Logits without = outcome(graph, at_once, [&](Plan& p) {
        p.steps.erase(p.steps.begin() + static_cast<ptrdiff_t>(s));
        renew(p);
        EXPECT_FALSE(check_plan(p).has_value());
      });
      EXPECT_FALSE(same_bits(whole, without))
          << "without step '" << plan->ops[plan->steps[s].ops[0]].name << "'";
    }
  }
}

TEST_P(PlanProperties, OperandsCountUnlessTheyAreAdded) {
  const auto graph = build_tiny(kModel());
  for (const bool at_once : {false, true}) {
    const Logits whole = outcome(graph, at_once);
    const auto plan = plan_of(graph, at_once);
    size_t swapped = 0, refused = 0;
    for (size_t o = 0; o < plan->ops.size(); o++) {
      const Op& op = plan->ops[o];
      if (op.in.size() != 2 || plan->value(op.in[0]).width != plan->value(op.in[1]).width) continue;
      swapped++;
      const Result<Logits> other =
          try_outcome(graph, at_once, [&](Plan& p) { std::swap(p.ops[o].in[0], p.ops[o].in[1]); });
      EXPECT_EQ(other && same_bits(whole, *other), op.kind == OpKind::kAdd)
          << "operands of '" << op.name << "'";
      refused += !other;
    }
    EXPECT_GE(swapped, 8u);  // kv_write, act_mul and two sums a layer
    EXPECT_LE(refused, 6u);  // what a program makes for itself has no place to be read from as something else
  }
}

TEST_P(PlanProperties, WeightsCount) {
  const auto graph = build_tiny(kModel());
  const Logits whole = outcome(graph, false);
  const auto plan = plan_of(graph, false);
  size_t swapped = 0;
  for (size_t a = 0; a < plan->ops.size(); a++)
    for (size_t b = a + 1; b < plan->ops.size(); b++) {
      if (plan->ops[a].kind != plan->ops[b].kind || plan->ops[a].weights.empty()) continue;
      const Weight &wa = plan->weight(plan->ops[a].weights[0]), &wb = plan->weight(plan->ops[b].weights[0]);
      if (wa.rows != wb.rows || wa.cols != wb.cols || wa.type != wb.type) continue;
      swapped++;
      const Logits other =
          outcome(graph, false, [&](Plan& p) { std::swap(p.ops[a].weights, p.ops[b].weights); });
      EXPECT_FALSE(same_bits(whole, other))
          << "weights of '" << plan->ops[a].name << "' and '" << plan->ops[b].name;
    }
  EXPECT_GE(swapped, 10u);
}

// Neighbours in the other order: the checker says yes exactly when the results stay.
TEST_P(PlanProperties, IndependentStepsMayChangePlaces) {
  const auto graph = build_tiny(kModel());
  for (const bool at_once : {false, true}) {
    const Logits whole = outcome(graph, at_once);
    const auto plan = plan_of(graph, at_once);
    for (size_t i = 0; i + 1 < plan->steps.size(); i++) {
      Plan swapped = *plan;
      swap_steps(swapped, i);
      const bool sound = check_plan(swapped).has_value();
      const Logits other = outcome(graph, at_once, [&](Plan& p) { swap_steps(p, i); });
      EXPECT_EQ(sound, same_bits(whole, other))
          << "steps '" << plan->ops[plan->steps[i].ops[0]].name << "' and '"
          << plan->ops[plan->steps[i + 1].ops[0]].name << "'";
    }
  }
}

// Many such swaps one after another.
TEST_P(PlanProperties, AnySoundOrderGivesTheSame) {
  const auto graph = build_tiny(kModel());
  const Logits whole = outcome(graph, true);
  for (uint64_t seed = 0; seed < 5; seed++) {
    const auto shuffle = [&](Plan& plan) {
      Rng rng(seed);
      for (int tries = 0; tries < 300; tries++) {
        const size_t i = rng.below(plan.steps.size() - 1);
        Plan other = plan;
        swap_steps(other, i);
        if (check_plan(other).has_value()) plan = std::move(other);
      }
    };
    EXPECT_TRUE(same_bits(whole, outcome(graph, true, shuffle)));
  }
}

TEST_P(PlanProperties, ValuesMayLieAnywhereApart) {
  const auto graph = build_tiny(kModel());
  const auto spread = [](Plan& plan) {
    uint64_t end = 4096;
    std::vector<ValueId> values = stored_values(plan);
    std::ranges::reverse(values);
    for (const ValueId v : values) {
      plan.placed[static_cast<size_t>(v)].offset = end;
      end += (whole_bytes(plan, v) + 511) / 256 * 256;
    }
    plan.arena_bytes = end;
    renew(plan);
    EXPECT_TRUE(check_plan(plan).has_value());
  };
  for (const bool at_once : {false, true})
    EXPECT_TRUE(same_bits(outcome(graph, at_once), outcome(graph, at_once, spread)));
}

// A value moved onto another: what the checker allows changes nothing; what overwrites a value before it is
// read for the last time is refused, and shows.
TEST_P(PlanProperties, OverlapsShowExactlyWhenTheCheckerSaysSo) {
  const auto graph = build_tiny(kModel());
  const Logits whole = outcome(graph, true);
  const auto plan = plan_of(graph, true);
  const std::vector<ValueId> values = stored_values(*plan);
  size_t refused = 0, allowed = 0;
  for (const ValueId v : values)
    for (const ValueId w : values) {
      if (v == w || plan->place(v).offset == plan->place(w).offset) continue;
      const auto move = [&](Plan& p) {
        p.placed[static_cast<size_t>(v)].offset = p.place(w).offset;
        p.arena_bytes = std::max(p.arena_bytes, p.place(v).offset + whole_bytes(p, v));
        renew(p);
      };
      Plan moved = *plan;
      move(moved);
      const bool sound = check_plan(moved).has_value();
      const bool overwrites =
          plan->place(w).first < plan->place(v).first && plan->place(v).first < plan->place(w).last;
      if (!sound && !overwrites) continue;  // what it shows depends on the kernel, or on a third value
      EXPECT_FALSE(sound && overwrites) << plan->value(v).name << " onto " << plan->value(w).name;
      EXPECT_EQ(sound, same_bits(whole, outcome(graph, true, move)))
          << plan->value(v).name << " onto " << plan->value(w).name;
      (sound ? allowed : refused)++;
    }
  EXPECT_GT(allowed, 20u);
  EXPECT_GT(refused, 20u);
}

// The ledger names what is read: a weight of NaN shows in every logit if a step of the plan lists it, else
// nowhere.
TEST_P(PlanProperties, NanShowsIfTheLedgerListsTheWeight) {
  if (!GetParam().make_unchecked) GTEST_SKIP() << GetParam().name << " refuses weights that are not finite";
  if (GetParam().choose > 0) GTEST_SKIP() << "what is chosen of the logits does not show them all";
  TinyModel model = kModel();
  model.bias = model.spare = true;
  const auto graph = build_tiny(model);
  for (size_t w = 0; w < graph->weights.size(); w++) {
    const auto poisoned = build_tiny(model);
    std::ranges::fill(poisoned->bytes[w], std::byte{0xff});  // NaN in floats and in f16 scales
    std::unique_ptr<Device> device = GetParam().make_unchecked(1);
    const Caps caps = GetParam().caps(device->caps());
    Runner r(std::move(device), poisoned, caps);
    const Logits logits = r.text(0, {3, 4});
    bool listed = false;
    for (const Step& step : r.plan({2, 2}).steps)
      for (const uint32_t o : step.ops)
        listed |= std::ranges::count(r.plan({2, 2}).ops[o].weights, static_cast<WeightId>(w)) > 0;
    for (const auto& row : logits) {
      const auto nans = std::ranges::count_if(row, [](float x) { return std::isnan(x); });
      EXPECT_EQ(nans, listed ? static_cast<ptrdiff_t>(row.size()) : 0) << graph->weights[w].name;
    }
  }
}

}  // namespace brass
