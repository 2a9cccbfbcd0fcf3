// The arithmetic of predictions, by cards that make one term visible at a time.
#include "plan/predict.h"

#include <gtest/gtest.h>

#include "graph_builder.h"
#include "profiles.h"

namespace brass {
namespace {

constexpr double kNever = 1e-30;  // of a second: terms that are not looked at

AssumedDevice card() {
  return {.name = "test",
          .title = "a card",
          .bandwidth = 1 / kNever,
          .read_share = 1,
          .matrix_flops = 1 / kNever,
          .f32_flops = 1 / kNever,
          .hop = 0,
          .issue = 0,
          .tiles_made = false};
}

std::shared_ptr<const Plan> plan_of(const TinyModel& model, PlanKey key) {
  return *compile(build_tiny(model), key, dispatch_profile());
}

double total(const Plan& plan, const AssumedDevice& device, uint64_t t, uint64_t depth = 0) {
  double sum = 0;
  for (const StepPrediction& step : predict(plan, device, t, 1, depth)) sum += step.seconds();
  return sum;
}

TEST(Predict, MemoryIsThePlansBytesByWhatIsReadOfThem) {
  for (const TinyModel& model : {plain_model(), qwen_like(), expert_model()}) {
    const auto plan = plan_of(model, {1, 1});
    AssumedDevice device = card();
    device.bandwidth = 1e9;
    device.read_share = 0.5;
    for (const uint64_t depth : {0u, 1000u}) {
      const Cost cost = plan_cost(*plan, {.t = 1, .r = 1, .s = depth});
      const auto bytes = static_cast<double>(cost.weight_bytes + cost.kv_read + cost.kv_written +
                                             cost.state_bytes + cost.activation_bytes);
      EXPECT_NEAR(total(*plan, device, 1, depth), bytes / 5e8, 1e-12);
    }
  }
}

TEST(Predict, AStepThatWaitsPaysAHopAndAttentionTwo) {
  const auto plan = plan_of(plain_model(), {1, 1});
  AssumedDevice device = card();
  device.hop = 1;
  double expected = 0;
  for (const Step& step : plan->steps) {
    expected += step.barrier ? 1 : 0;
    for (const uint32_t o : step.ops) expected += plan->ops[o].kind == OpKind::kAttention ? 1 : 0;
  }
  EXPECT_GT(expected, plain_model().layers * 4.0);
  EXPECT_NEAR(total(*plan, device, 1), expected, 1e-9);
}

TEST(Predict, ArithmeticGoesWithTheRateOfItsUnit) {
  const auto few = plan_of(plain_model(), {1, 1}), many = plan_of(plain_model(), {64, 1});
  const auto seconds = [&](const Plan& plan, double matrix, double f32) {
    AssumedDevice device = card();
    device.matrix_flops = matrix;
    device.f32_flops = f32;
    return total(plan, device, plan.key.t);
  };
  // One row never sees the matrix unit.
  EXPECT_NEAR(seconds(*few, 1e12, 1e9) / seconds(*few, 1e9, 1e9), 1, 1e-9);
  EXPECT_NEAR(seconds(*few, 1e12, 1e9) / seconds(*few, 1e12, 2e9), 2, 1e-9);
  // Many rows' products do, and go by the vector units where there is none.
  const double with = seconds(*many, 1e9, 1 / kNever), without = seconds(*many, 0, 1e9);
  EXPECT_GT(with, 0);
  EXPECT_NEAR(seconds(*many, 2e9, 1 / kNever), with / 2, with * 1e-9);
  EXPECT_GT(without, 0);
}

TEST(Predict, TilesAreWrittenAndReadWhereTheyAreMade) {
  const auto plan = plan_of(plain_model(), {64, 1});
  AssumedDevice device = card();
  device.bandwidth = 1e9;
  const double without = total(*plan, device, 64);
  device.tiles_made = true;
  double values = 0;
  for (const Op& op : plan->ops)
    if (op.kind == OpKind::kLinear && plan->value(op.out[0]).rows == Rows::kT)
      values += static_cast<double>(plan->weight(op.weights[0]).rows) * plan->weight(op.weights[0]).cols;
  EXPECT_GT(values, 0);
  EXPECT_NEAR(total(*plan, device, 64) - without, 4 * values / 1e9, 1e-9);
  device.matrix_flops = 0;
  EXPECT_NEAR(total(*plan, device, 64), without, without * 1e-9);
}

TEST(Predict, CardsAreKnownByName) {
  ASSERT_NE(find_assumed_device("rx9070xt"), nullptr);
  EXPECT_EQ(find_assumed_device("rx9070xt")->bandwidth, 640e9);
  EXPECT_EQ(find_assumed_device("voodoo2"), nullptr);
  for (const AssumedDevice& device : assumed_devices()) EXPECT_EQ(find_assumed_device(device.name), &device);
}

}  // namespace
}  // namespace brass
