// The CPU device against the properties of every device and every plan: each tier that this machine has, one
// thread and two, with its fusion rules and without, KV in every type.
#include "backend/cpu/device.h"

#include <cmath>

#include "backend/ref/ref.h"
#include "device_properties.h"
#include "guard_properties.h"
#include "plan_properties.h"

namespace brass {
namespace {

DeviceCase on_cpu(const std::string& isa, std::function<Caps(const Caps&)> caps, bool barriers = false) {
  const auto make = [=](bool check) {
    return [=](uint32_t threads) {
      auto device = make_cpu_device(
          {.threads = threads, .isa = isa, .check_finite = check, .barrier_everywhere = barriers});
      EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
      return std::move(*device);
    };
  };
  std::string name = isa + (barriers ? "_barriers" : "");
  std::ranges::replace(name, '-', '_');
  return {.name = name,
          .make = make(true),
          .caps = std::move(caps),
          .kv_types = {KvType::kF16},
          .make_unchecked = make(false)};
}

const auto kOwn = [](const Caps& own) { return own; };

// Every tier with the usual KV type; the best one with all of them, and with a barrier before every step.
std::vector<DeviceCase> every_tier() {
  std::vector<DeviceCase> cases;
  const std::string tiers = cpu_tier_names();
  for (size_t at = 0; at < tiers.size();) {
    const size_t comma = std::min(tiers.find(", ", at), tiers.size());
    const std::string isa = tiers.substr(at, comma - at);
    at = comma + 2;
    if (make_cpu_device({.threads = 1, .isa = isa}))
      cases.push_back(on_cpu(isa, kOwn));
    else
      std::printf("[  SKIPPED ] tier %s: this machine lacks it\n", isa.c_str());
  }
  cases[0].kv_types = {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kInt8};
  return cases;
}

// ---- against ref

Logits on_device(std::unique_ptr<Device> device, const TinyModel& model, size_t tokens) {
  const Caps caps = device->caps();
  Runner r(std::move(device), build_tiny(model), caps, {}, 4, 8, KvType::kF32);
  return r.text(0, random_ids(tokens, model.vocab, 5));
}

// Of the spread of all logits.
double distance(const Logits& a, const Logits& b) {
  double worst = 0, squares = 0, count = 0;
  for (size_t i = 0; i < a.size(); i++)
    for (size_t j = 0; j < a[i].size(); j++) {
      worst = std::max(worst, std::abs(static_cast<double>(a[i][j]) - b[i][j]));
      squares += static_cast<double>(b[i][j]) * b[i][j];
      count++;
    }
  return worst / std::sqrt(squares / count);
}

// Every option of attention counts, and counts as much as on ref; f32 throughout, so nothing hides behind int8.
TEST(CpuDevice, AttentionOptionsAgreeWithRef) {
  TinyModel all = sink_like();
  all.embed = all.attention = all.value = all.down = all.head = Type::F32;
  std::vector<TinyModel> less(3, all);
  less[0].temperature = 0;
  less[1].norm_last = false;
  less[2].softcap = 0;
  const Logits expected = on_device(make_ref_device({}), all, 75);
  const Logits found = on_device(*make_cpu_device({.threads = 2}), all, 75);
  EXPECT_LT(distance(found, expected), 1e-4);
  for (const TinyModel& model : less) {
    const Logits other = on_device(*make_cpu_device({.threads = 2}), model, 75);
    EXPECT_LT(distance(other, on_device(make_ref_device({}), model, 75)), 1e-4);
    EXPECT_GT(distance(other, expected), 1e-2);
  }
}

// Texts of one step, each a sequence: the embedding of each.
Logits embedded(std::unique_ptr<Device> device, const TinyModel& model,
                const std::vector<std::vector<int32_t>>& texts) {
  const Caps caps = device->caps();
  Runner r(std::move(device), build_tiny(model), caps, {}, 4, 8, KvType::kF32);
  std::vector<TokenRow> rows;
  for (size_t s = 0; s < texts.size(); s++)
    for (size_t i = 0; i < texts[s].size(); i++)
      rows.push_back(
          {static_cast<int32_t>(s), texts[s][i], static_cast<int32_t>(i), i + 1 == texts[s].size()});
  return r.step(rows);
}

// Attention that looks both ways, over texts longer and shorter than a page, pooled.
TEST(CpuDevice, WholeTextsAgreeWithRef) {
  TinyModel model = encoder_like();
  model.embed = model.attention = model.value = model.down = model.head = Type::F32;
  std::vector<std::vector<int32_t>> texts;
  for (const size_t n : {75u, 1u, 3u, 130u}) texts.push_back(random_ids(n, model.vocab, n));
  for (const PoolKind kind : {PoolKind::kMean, PoolKind::kFirst}) {
    model.pool = kind;
    const Logits expected = embedded(make_ref_device({}), model, texts);
    ASSERT_EQ(expected.size(), texts.size());
    EXPECT_LT(distance(embedded(*make_cpu_device({.threads = 2}), model, texts), expected), 1e-4);
    for (size_t s = 0; s < texts.size(); s++)
      EXPECT_LT(distance(embedded(*make_cpu_device({.threads = 3}), model, {texts[s]}), {expected[s]}), 1e-4);
    TinyModel causal = model;
    causal.causal = true;
    EXPECT_GT(distance(embedded(make_ref_device({}), causal, texts), expected), 1e-2);
  }
}

std::string best_tier() { return make_cpu_device({.threads = 1}).value()->caps().name.substr(4); }

INSTANTIATE_TEST_SUITE_P(Cpu, DeviceProperties, testing::ValuesIn(every_tier()), name_of_device);
// Each tier: its own kernels.
INSTANTIATE_TEST_SUITE_P(Cpu, GuardProperties, testing::ValuesIn(every_tier()), name_of_device);
INSTANTIATE_TEST_SUITE_P(Cpu, PlanProperties,
                         testing::Values(on_cpu(best_tier(), kOwn), on_cpu(best_tier(), kOwn, true)),
                         name_of_device);

}  // namespace
}  // namespace brass
