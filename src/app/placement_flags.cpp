#include "app/placement_flags.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "backend/split/split.h"
#include "report/format.h"
#include "runtime/memory_plan.h"

namespace brass::app {
namespace {

uint32_t blocks_of(const Graph& graph) {
  int32_t last = -1;
  for (const Op& op : graph.ops) last = std::max(last, op.layer);
  return static_cast<uint32_t>(last + 1);
}

bool has_experts(const Graph& graph) {
  return std::ranges::any_of(graph.ops, [](const Op& op) { return op.kind == OpKind::kMoeLinear; });
}

// Looks for the placement that leaves most to the GPU.
class Fitter {
 public:
  Fitter(const DeviceUse& use, const std::shared_ptr<Device>& gpu, const std::shared_ptr<Device>& cpu)
      : use_(use), gpu_(gpu), cpu_(cpu), blocks_(blocks_of(*use.model->graph)) {}

  // Nothing: not even the head alone has room.
  Result<std::optional<Placement>> find() const {
    if (has_experts(*use_.model->graph)) {
      const auto apart = TRY(least([](uint32_t n) { return Placement{.first_experts = n}; }));
      if (apart) return apart;
      return least([&](uint32_t n) { return Placement{.first_layers = n, .first_experts = blocks_}; });
    }
    return least([](uint32_t n) { return Placement{.first_layers = n}; });
  }

 private:
  Result<bool> fits(const Placement& placement) const {
    const EngineOptions settled = TRY(settle(*use_.model, use_.options));
    const std::unique_ptr<Device> device = make_split_device(gpu_, cpu_, placement);
    const MemoryPlan plan =
        TRY(MemoryPlan::create(fitted_graphs(*use_.model, settled.context), *device, settled));
    return TRY(plan.need(*device)).fits();
  }

  // The first of placements 0 … blocks that fits; each needs no more than the one before.
  template <class At>
  Result<std::optional<Placement>> least(const At& at) const {
    uint32_t below = 0, fitting = blocks_ + 1;  // those below do not fit
    while (below < fitting) {
      const uint32_t middle = below + (fitting - below) / 2;
      if (middle > blocks_) break;
      if (TRY(fits(at(middle))))
        fitting = middle;
      else
        below = middle + 1;
    }
    return fitting > blocks_ ? std::optional<Placement>() : std::optional(at(fitting));
  }

  const DeviceUse& use_;
  const std::shared_ptr<Device>&gpu_, &cpu_;
  uint32_t blocks_;
};

}  // namespace

bool shares_work(const ModelFlags& flags) { return !flags.gpu_layers.empty() || flags.experts_on != "gpu"; }

Result<uint32_t> parse_gpu_layers(const std::string& text) {
  uint32_t n = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (fault != std::errc() || end != text.data() + text.size())
    return wrong_use("flag --gpu-layers: '{}' is no number of blocks, nor 'auto'", text);
  if (n == 0) return wrong_use("flag --gpu-layers: for 0 of them, use --device cpu");
  return n;
}

Result<std::optional<Placement>> chosen_placement(const ModelFlags& flags, const DeviceUse& use,
                                                  const std::shared_ptr<Device>& gpu,
                                                  const std::shared_ptr<Device>& cpu) {
  const Graph& graph = *use.model->graph;
  const uint32_t blocks = blocks_of(graph);
  const bool experts_apart = flags.experts_on != "gpu";
  if (experts_apart && !has_experts(graph)) return wrong_use("flag --experts-on: the model has no experts");
  Placement placement{.first_experts = experts_apart ? blocks : 0};
  if (flags.gpu_layers == "auto") {
    if (experts_apart) return wrong_use("flag --experts-on: --gpu-layers auto chooses that itself");
    const std::optional<Placement> found = TRY(Fitter(use, gpu, cpu).find());
    if (!found)
      return fail_hint("use --device cpu, or a smaller --context", "{}: not even the output head fits",
                       gpu->describe());
    placement = *found;
  } else if (!flags.gpu_layers.empty()) {
    const uint32_t n = TRY(parse_gpu_layers(flags.gpu_layers));
    placement.first_layers = n >= blocks ? 0 : blocks - n;
  }
  return placement == Placement{} ? std::optional<Placement>() : std::optional(placement);
}

Result<std::string> fitting_flags(const DeviceUse& use, const std::shared_ptr<Device>& gpu,
                                  const std::shared_ptr<Device>& cpu) {
  const std::optional<Placement> found = TRY(Fitter(use, gpu, cpu).find());
  const uint32_t blocks = blocks_of(*use.model->graph);
  if (!found || found->first_layers == blocks) return std::string();
  if (found->first_layers > 0)
    return fmt::format("--gpu-layers {}{}", blocks - found->first_layers,
                       found->first_experts > 0 ? " --experts-on cpu" : "");
  return std::string(found->first_experts == blocks ? "--experts-on cpu" : "--gpu-layers auto");
}

std::string placement_text(const Plan& decode) {
  std::map<std::string, uint64_t> bytes;
  each_part(decode, [&](const Plan& part) {
    bytes[part.caps.name] += plan_cost(part, {.t = 1, .r = 1, .s = 0}).weight_bytes;
  });
  std::string text = "brass: for a token";
  for (const auto& [device, n] : bytes)
    text += fmt::format(" {} reads {} of weights,", device, report::format_bytes(n));
  return text + fmt::format(" and {} go between them, in {} turns\n",
                            report::format_bytes(decode.moved_bytes(1)), decode.segments.size());
}

}  // namespace brass::app
