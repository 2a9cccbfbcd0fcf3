#include "app/bench_gpu_lever.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "app/placement_flags.h"
#include "backend/split/split.h"
#include "report/format.h"

namespace brass::app {
namespace {

using report::DeviceRates;

struct Work {
  double bytes = 0, flops = 0;
  uint64_t weight_bytes = 0;
  bool own_memory = false;  // a GPU's
};

// Of one step, by the device that does it.
using Shares = std::map<std::string, Work>;

Shares shares_of(const Plan& plan, const Sizes& sizes) {
  Shares out;
  each_part(plan, [&](const Plan& part) {
    const Cost cost = plan_cost(part, sizes);
    Work& work = out[part.caps.name];
    work.bytes += static_cast<double>(cost.weight_bytes + cost.kv_read + cost.kv_written + cost.state_bytes);
    work.flops += static_cast<double>(cost.flops);
    work.weight_bytes += cost.weight_bytes;
    work.own_memory = part.caps.own_memory;
  });
  return out;
}

// The least time, where the devices take turns. Nothing where a rate is missing.
std::optional<double> least_of(const Shares& shares, const std::map<std::string, DeviceRates>& rates) {
  double seconds = 0;
  for (const auto& [device, work] : shares) {
    const auto found = rates.find(device);
    if (found == rates.end()) return std::nullopt;
    const auto least = report::least_seconds(work.bytes, work.flops, found->second);
    if (!least) return std::nullopt;
    seconds += *least;
  }
  return seconds;
}

// The flags that give a GPU more; or why there are none.
Result<std::string> more_flags(const ModelFlags& now, uint32_t layers, ModelFlags& then) {
  then = now;
  if (now.device == "ref") return "the reference device shares nothing";
  if (now.device == "vulkan" && !shares_work(now)) return "all of them are on one";
  if (now.device == "cpu") {
    ModelFlags any = now;
    any.device = "auto", any.isa.clear();
    any = with_device(any);
    if (any.device != "vulkan") return "there is no GPU here that Brass can use (brass devices)";
    then.device = "vulkan", then.gpu = any.gpu, then.gpu_layers = "auto";
    return "";
  }
  if (now.gpu_layers == "auto") return "its memory holds no more";
  if (now.gpu_layers.empty()) return "all but experts are on one";
  const uint32_t n = TRY(parse_gpu_layers(now.gpu_layers));
  if (n >= layers) return "all of them are on one";
  then.gpu_layers = std::to_string(std::min(layers, n + std::max(1u, layers / 8)));
  return "";
}

Result<DeviceRates> rates_of(Device& device) {
  const DeviceProbe probe = TRY(device.probe());
  return DeviceRates{probe.bandwidth, probe.int8_ops, probe.f32_ops};
}

// The devices that share the work then.
struct Pair {
  std::shared_ptr<Device> gpu, cpu;
};

Result<Pair> open_pair(const ModelFlags& then) {
  ModelFlags cpu = then, gpu = then;
  cpu.device = "cpu", cpu.gpu = -1;
  for (ModelFlags* flags : {&cpu, &gpu}) flags->gpu_layers.clear(), flags->experts_on = "gpu";
  cpu.device_memory.clear(), gpu.isa.clear();
  std::unique_ptr<Device> first = TRY(open_device(gpu)), second = TRY(open_device(cpu));
  return Pair{std::move(first), std::move(second)};
}

// By the names that plans know the devices by.
Result<std::map<std::string, DeviceRates>> rates_of_both(const Pair& pair, const ModelFlags& now,
                                                         const report::BenchReport& report) {
  std::map<std::string, DeviceRates> rates;
  rates[pair.gpu->caps().name] = TRY(rates_of(*pair.gpu));
  rates[pair.cpu->caps().name] = now.device == "cpu" ? report.rates : TRY(rates_of(*pair.cpu));
  return rates;
}

struct Factors {
  double decode, prefill;
  uint64_t gpu_bytes, cpu_bytes;  // of weights a token, then
};

Result<std::optional<Factors>> factors(const ModelFlags& now, const ModelFlags& then, Meter& meter,
                                       const report::BenchReport& report, uint64_t depth) {
  const Pair pair = TRY(open_pair(then));
  EngineOptions options = Meter::engine_options({.context = meter.context()});
  std::tie(options.k_type, options.v_type) = TRY(kv_types(then));
  const auto placement = TRY(chosen_placement(then, {&meter.model(), options}, pair.gpu, pair.cpu));
  const std::shared_ptr<Device> changed =
      placement ? make_split_device(pair.gpu, pair.cpu, *placement) : pair.gpu;
  const auto rates = TRY(rates_of_both(pair, now, report));
  Factors out{};
  for (const uint32_t tokens : {1u, Meter::kChunk}) {
    const Sizes sizes{.t = tokens, .r = 1, .s = tokens == 1 ? depth : 0};
    const auto plan = TRY(changed->compile(meter.model().graph, {tokens, 1}));
    const auto before = least_of(shares_of(*TRY(meter.engine().plan_for(tokens, 1)), sizes), rates);
    const Shares shares = shares_of(*plan, sizes);
    const auto after = least_of(shares, rates);
    if (!before || !after || !(*before > 0)) return std::optional<Factors>();
    (tokens == 1 ? out.decode : out.prefill) = *after / *before;
    if (tokens > 1) continue;
    for (const auto& [device, work] : shares)
      (work.own_memory ? out.gpu_bytes : out.cpu_bytes) += work.weight_bytes;
  }
  return std::optional(out);
}

}  // namespace

Result<GpuLever> more_gpu_layers(const ModelFlags& now, Meter& meter, const report::BenchReport& report,
                                 uint64_t depth) {
  GpuLever out{
      .lever = {.name = "gpu-layers", .change = "more layers on a GPU"}, .speed = report.speed, .flags = {}};
  out.lever.unavailable = TRY(more_flags(now, meter.model().info.layers, out.flags));
  if (!out.lever.unavailable.empty()) return out;
  const auto found = factors(now, out.flags, meter, report, depth);
  if (!found) {
    out.lever.unavailable = found.error().message;
    return out;
  }
  if (!*found) {
    out.lever.unavailable = "a device has no probes";
    return out;
  }
  const Factors& f = **found;
  out.lever.change =
      fmt::format("--device vulkan --gpu-layers {}: of a token's weights the GPU reads {}, the CPU {}",
                  out.flags.gpu_layers, report::format_bytes(f.gpu_bytes), report::format_bytes(f.cpu_bytes));
  out.lever.quality = std::string("not measured: --verify does");
  out.lever.assumption =
      "each device reaches the share of its own ceilings that was reached now; what goes between them costs "
      "nothing";
  out.speed.decode = report::scaled(out.speed.decode, f.decode);
  out.speed.prefill = report::scaled(out.speed.prefill, f.prefill);
  out.speed.first_token *= f.prefill;
  return out;
}

}  // namespace brass::app
