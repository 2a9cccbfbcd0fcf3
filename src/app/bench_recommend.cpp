// brass bench recommend: settings for a declared workload, with reasons and figures.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "app/bench_flags.h"
#include "app/bench_measure.h"
#include "app/byte_size.h"
#include "app/terminal.h"
#include "report/format.h"
#include "runtime/memory_plan.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

struct Choice {
  ModelFlags flags;
  std::string text;  // the flags
  uint64_t memory =
      0;  // of the machine: weights and one sequence's keys, values and states; of a GPU: all that it takes
  std::optional<double> seconds;
  bool composed = true;
  std::string refused;  // why it was not measured
};

// Pages of one full sequence, and the weights as the file has them.
uint64_t memory_of(const Model& model, const Device& device, KvType k, KvType v, uint32_t context) {
  uint64_t bytes = 0;
  for (const gguf::TensorInfo& t : model.file->tensors()) bytes += t.bytes;
  for (const MemoryGroup& group : model.graph->groups) {
    uint64_t pages = (context + Device::page_positions() - 1) / Device::page_positions();
    if (group.kind == GroupKind::kWindow)
      pages = std::min<uint64_t>(
          pages, (static_cast<uint64_t>(group.window) + Meter::kChunk) / Device::page_positions() + 2);
    if (group.kind == GroupKind::kState) pages = StateHistory::most_pages(EngineOptions{}.checkpoints);
    bytes += pages * device.page_bytes(group, k, v);
  }
  return bytes;
}

Result<> measure(const report::Workload& w, double seconds, Choice& choice) {
  BenchPlan plan{.seconds = seconds, .rounds = 3, .deepest = w.positions(), .workloads = {w}};
  BenchProgress progress(seconds);
  const std::unique_ptr<Meter> meter =
      TRY(open_for(choice.flags, TRY(load_model(TRY(find_model(choice.flags)))), plan));
  Measurement measurement(*meter, plan, progress);
  report::BenchReport report;
  TRY_VOID(measurement.curves(report));
  if (report.speed.decode.empty() || !report.stopped.empty()) {
    choice.refused = "stopped by Ctrl-C";
    return {};
  }
  const report::Phases phases = report::compose(report.speed, w);
  choice.seconds = phases.total();
  if (w.positions() > meter->context() || phases.total() * 1.15 > seconds - progress.elapsed()) return {};
  if (const auto measured = TRY(measurement.workload(w, 1))) {
    choice.seconds = measured->phases.total();
    choice.composed = false;
  }
  return {};
}

constexpr std::string_view kKvTypes[] = {"f16", "int8"};

ModelFlags with_kv(ModelFlags flags, std::string_view kv, uint32_t context) {
  flags.kv_type = kv;
  flags.context = context;
  return flags;
}

// Threads: all and half of them; keys and values: f16 and int8.
Result<> cpu_choices(const ModelFlags& given, const Model& model, uint32_t context, uint64_t budget,
                     std::vector<Choice>& out) {
  const uint32_t all = TRY(open_device(given))->caps().threads;
  for (const std::string_view kv : kKvTypes)
    for (uint32_t threads = all; threads >= 1 && threads * 2 >= all;
         threads = threads == 1 ? 0 : threads / 2) {
      Choice c{.flags = with_kv(given, kv, context)};
      c.flags.threads = threads;
      c.text = fmt::format("--device cpu --threads {} --kv-type {} --context {}", threads, kv, context);
      const auto [k, v] = TRY(kv_types(c.flags));
      c.memory = memory_of(model, *TRY(open_device(given)), k, v, context);
      if (c.memory > budget) c.refused = "over the budget";
      out.push_back(std::move(c));
    }
  return {};
}

// All of the model on the GPU, else as much as it has memory for, within the budget.
Result<Choice> gpu_choice(const ModelFlags& given, const Model& model, std::string_view kv,
                          uint32_t context) {
  Choice c{.flags = with_kv(given, kv, context)};
  EngineOptions options{.context = context};
  std::tie(options.k_type, options.v_type) = TRY(kv_types(c.flags));
  const EngineOptions settled = TRY(settle(model, options));
  const auto text = [&] {
    c.text = fmt::format("--device vulkan{}{} --kv-type {} --context {}",
                         c.flags.gpu < 0 ? "" : fmt::format(" --gpu {}", c.flags.gpu),
                         c.flags.gpu_layers.empty() ? "" : " --gpu-layers auto", kv, context);
  };
  for (const char* layers : {"", "auto"}) {
    c.flags.gpu_layers = layers;
    text();
    const auto device = open_device(c.flags, {&model, options});
    if (!device) {
      c.refused = device.error().message;
      return c;
    }
    const MemoryPlan plan = TRY(MemoryPlan::create(fitted_graphs(model, context), **device, settled));
    const MemoryNeed need = TRY(plan.need(**device));
    c.memory = need.total();
    if (need.fits()) return c;
  }
  c.refused = "over the GPU's memory";
  return c;
}

// What the flags leave open: both kinds of device for "auto", where there are both.
Result<std::vector<Choice>> choices(const BenchFlags& flags, const Model& model, const report::Workload& w,
                                    uint64_t budget) {
  std::vector<Choice> out;
  const uint32_t context = std::min<uint32_t>(model.info.context_length, (w.positions() + 63) / 64 * 64);
  ModelFlags gpu = with_device(flags.model), cpu = flags.model;
  if (gpu.device == "vulkan") {
    if (gpu.device_memory.empty()) gpu.device_memory = flags.budget;
    for (const std::string_view kv : kKvTypes) out.push_back(TRY(gpu_choice(gpu, model, kv, context)));
  }
  cpu.device = "cpu";
  if (flags.model.device != "vulkan") TRY_VOID(cpu_choices(cpu, model, context, budget, out));
  return out;
}

void print(const BenchFlags& flags, const report::Workload& w, const std::vector<Choice>& all,
           const Choice* best) {
  if (flags.json) {
    Json list = Json::array();
    for (const Choice& c : all)
      list.push_back({{"flags", c.text},
                      {"memory_bytes", c.memory},
                      {"seconds", c.seconds ? Json(*c.seconds) : Json()},
                      {"kind", c.seconds ? (c.composed ? "composed" : "measured") : "not measured"},
                      {"refused", c.refused}});
    fmt::print("{}\n", Json{{"workload", {{"prompt", w.prompt}, {"reply", w.reply}}},
                            {"choices", list},
                            {"recommended", best ? Json(best->text) : Json()}}
                           .dump(1));
    return;
  }
  fmt::print("For {} {}:\n", w.name, report::format_shape(w));
  for (const Choice& c : all)
    fmt::print("  {:<52} {:>9} of memory  {}\n", c.text, report::format_bytes(c.memory),
               c.seconds ? fmt::format("{} {}", report::format_seconds(*c.seconds),
                                       c.composed ? "composed" : "measured")
                         : c.refused);
  if (best == nullptr) fmt::print("None of these fits.\n");
}

constexpr double kWorthIt = 0.97;  // a choice that costs quality must be at least this much faster

}  // namespace

Result<> bench_recommend(const BenchFlags& flags) {
  if (flags.second.empty()) return wrong_use("brass bench recommend: give a MODEL");
  if (flags.workloads.size() != 1) return wrong_use("flag --workload: recommend takes one");
  if (!flags.model.kv_type.empty() || flags.model.threads != 0 || flags.model.context != 0)
    return wrong_use("flags --kv-type, --threads, --context: they are what recommend finds out");
  if (flags.model.device == "ref") return wrong_use("flag --device: the reference is not there to be fast");
  if (!flags.model.gpu_layers.empty() || flags.model.experts_on != "gpu")
    return wrong_use("flags --gpu-layers, --experts-on: they are what recommend finds out");
  const report::Workload w = TRY(report::parse_workload(flags.workloads[0]));
  const uint64_t budget = flags.budget.empty() ? UINT64_MAX : TRY(parse_byte_size("--budget", flags.budget));
  BenchFlags with_model = flags;
  with_model.model.model = flags.second;
  const std::unique_ptr<Model> model = TRY(load_model(TRY(find_model(with_model.model))));
  if (w.positions() > model->info.context_length)
    return wrong_use("flag --workload: {} needs {} tokens, and {} was made for {}", report::format_shape(w),
                     w.positions(), flags.second, model->info.context_length);
  std::vector<Choice> all = TRY(choices(with_model, *model, w, budget));
  catch_interrupts();
  for (Choice& c : all) {
    if (!c.refused.empty()) continue;
    if (interrupted())
      c.refused = "stopped by Ctrl-C";
    else
      TRY_VOID(measure(w, 30, c));
  }
  const Choice* best = nullptr;
  for (const Choice& c : all) {
    if (!c.seconds) continue;
    const double bar = best != nullptr ? *best->seconds * kWorthIt : 0;
    if (best == nullptr || *c.seconds < bar) best = &c;
  }
  print(flags, w, all, best);
  if (best == nullptr || flags.json) return {};
  fmt::print(
      "Recommended: {}\n  {} and {}; a later line of the list was taken only where it is more than {:.0f} % "
      "faster{}.\n",
      best->text, report::format_seconds(*best->seconds), report::format_bytes(best->memory),
      (1 - kWorthIt) * 100,
      best->flags.kv_type == "int8"
          ? ". int8 keys and values cost a little quality: brass eval --against-kv-type int8 says how much"
          : "");
  return {};
}

}  // namespace brass::app
