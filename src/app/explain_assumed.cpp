#include "app/explain_assumed.h"

#include <algorithm>
#include <map>

#include "plan/explain.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

// Steps of all layers that are alike.
struct Kind {
  std::string name;
  uint32_t count = 0;
  StepPrediction sum;
  double seconds = 0;  // of each step the longer of memory and arithmetic, and its hops
  double bytes = 0, flops = 0;
};

void add(Kind& kind, const StepPrediction& step, const Cost& cost) {
  kind.count++;
  kind.sum.memory += step.memory;
  kind.sum.arithmetic += step.arithmetic;
  kind.sum.waiting += step.waiting;
  kind.seconds += step.seconds();
  kind.bytes += static_cast<double>(cost.weight_bytes + cost.kv_read + cost.kv_written + cost.state_bytes);
  kind.flops += static_cast<double>(cost.flops);
}

std::vector<Kind> kinds_of(const Plan& plan, const AssumedDevice& device, const PhaseSizes& sizes,
                           Kind& total) {
  const std::vector<StepRow> rows = explain_rows(plan, sizes.t, sizes.r, sizes.depth);
  const std::vector<StepPrediction> steps = predict(plan, device, sizes.t, sizes.r, sizes.depth);
  std::map<std::string, Kind> by_name;
  for (size_t i = 0; i < rows.size(); i++) {
    std::string_view name = rows[i].step;
    if (name.starts_with("blk.")) name.remove_prefix(std::min(name.find('.', 4) + 1, name.size()));
    Kind& kind = by_name[fmt::format("{} {}", name, rows[i].kernel)];
    add(kind, steps[i], rows[i].cost);
    add(total, steps[i], rows[i].cost);
  }
  std::vector<Kind> kinds;
  for (auto& [name, kind] : by_name) {
    kind.name = name;
    kinds.push_back(std::move(kind));
  }
  std::ranges::sort(kinds, std::greater(), &Kind::seconds);
  return kinds;
}

Json kind_json(const Kind& kind) {
  return {{"count", kind.count},
          {"seconds", kind.seconds},
          {"memory_seconds", kind.sum.memory},
          {"arithmetic_seconds", kind.sum.arithmetic},
          {"waiting_seconds", kind.sum.waiting},
          {"bytes", kind.bytes},
          {"flops", kind.flops}};
}

}  // namespace

Result<const AssumedDevice*> need_assumed_device(const std::string& name) {
  if (const AssumedDevice* found = find_assumed_device(name)) return found;
  std::string names;
  for (const AssumedDevice& device : assumed_devices()) names += fmt::format(" {}", device.name);
  return wrong_use("flag --assume: '{}' is not known; known are:{}", name, names);
}

std::string predicted_text(const Plan& plan, const AssumedDevice& device, const PhaseSizes& sizes) {
  Kind total;
  const std::vector<Kind> kinds = kinds_of(plan, device, sizes, total);
  std::string text = fmt::format(
      "PREDICTION, not a measurement: {} · T={} R={} S={} · {} steps\n"
      "  assumed: {:.0f} GB/s, {:.0f} % of it read; f16 matrix unit {:.0f} TFLOP/s; f32 {:.1f} TFLOP/s; "
      "{:.1f} us a hop\n"
      "       us  count   memory  arithmetic  waiting       MB  GFLOP  step\n",
      device.title, sizes.t, sizes.r, sizes.depth, plan.steps.size(), device.bandwidth / 1e9,
      device.read_share * 100, device.matrix_flops / 1e12, device.f32_flops / 1e12, device.hop * 1e6);
  const auto line = [&](const Kind& kind, std::string_view name) {
    text += fmt::format("  {:>7.1f} {:>6} {:>8.1f} {:>11.1f} {:>8.1f} {:>8.1f} {:>6.1f}  {}\n",
                        kind.seconds * 1e6, kind.count, kind.sum.memory * 1e6, kind.sum.arithmetic * 1e6,
                        kind.sum.waiting * 1e6, kind.bytes / 1e6, kind.flops / 1e9, name);
  };
  for (const Kind& kind : kinds) line(kind, kind.name);
  line(total, "all");
  text += fmt::format("predicted: {:.2f} ms, {:.1f} tok/s\n", total.seconds * 1e3, sizes.t / total.seconds);
  return text;
}

Json predicted_json(const Plan& plan, const AssumedDevice& device, const PhaseSizes& sizes) {
  Kind total;
  Json steps = Json::array();
  for (const Kind& kind : kinds_of(plan, device, sizes, total)) {
    steps.push_back(kind_json(kind));
    steps.back()["step"] = kind.name;
  }
  Json out{
      {"predicted", true}, {"device", device.title},   {"t", sizes.t}, {"r", sizes.r}, {"depth", sizes.depth},
      {"steps", steps},    {"total", kind_json(total)}};
  out["tokens_per_second"] = sizes.t / total.seconds;
  return out;
}

}  // namespace brass::app
