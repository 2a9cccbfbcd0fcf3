// brass bench recommend: settings for a declared workload, with reasons and figures.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/bench_flags.h"
#include "app/bench_measure.h"
#include "app/byte_size.h"
#include "app/terminal.h"
#include "report/format.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

struct Choice {
  uint32_t threads = 0;
  std::string kv_type, text;  // the flags
  uint32_t context = 0;
  uint64_t memory = 0;  // weights and one sequence's keys, values and states
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

Result<> measure(const ModelFlags& flags, const report::Workload& w, double seconds, Choice& choice) {
  BenchPlan plan{.seconds = seconds, .rounds = 3, .deepest = w.positions(), .workloads = {w}};
  BenchProgress progress(seconds);
  const std::unique_ptr<Meter> meter = TRY(open_for(flags, plan));
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

// Threads: all and half of them; keys and values: f16 and int8.
Result<std::vector<Choice>> choices(const BenchFlags& flags, const Model& model, const report::Workload& w) {
  const uint32_t all = TRY(open_device(flags.model))->caps().threads;
  std::vector<Choice> out;
  for (const char* kv : {"f16", "int8"})
    for (uint32_t threads = all; threads >= 1 && threads * 2 >= all;
         threads = threads == 1 ? 0 : threads / 2) {
      Choice c{.threads = threads, .kv_type = kv};
      c.context = std::min<uint32_t>(model.info.context_length, (w.positions() + 63) / 64 * 64);
      c.text = fmt::format("--threads {} --kv-type {} --context {}", threads, kv, c.context);
      const KvType type = std::string_view(kv) == "f16" ? KvType::kF16 : KvType::kInt8;
      c.memory = memory_of(model, *TRY(open_device(flags.model)), type, type, c.context);
      out.push_back(std::move(c));
    }
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
  if (flags.model.device != "cpu" && flags.model.device != "auto")
    return wrong_use("flag --device: recommend is for the CPU");
  const report::Workload w = TRY(report::parse_workload(flags.workloads[0]));
  const uint64_t budget = flags.budget.empty() ? UINT64_MAX : TRY(parse_byte_size("--budget", flags.budget));
  BenchFlags with_model = flags;
  with_model.model.device = "cpu";
  with_model.model.model = flags.second;
  const std::unique_ptr<Model> model = TRY(load_model(TRY(find_model(with_model.model))));
  if (w.positions() > model->info.context_length)
    return wrong_use("flag --workload: {} needs {} tokens, and {} was made for {}", report::format_shape(w),
                     w.positions(), flags.second, model->info.context_length);
  std::vector<Choice> all = TRY(choices(with_model, *model, w));
  catch_interrupts();
  for (Choice& c : all) {
    ModelFlags run = with_model.model;
    run.threads = c.threads;
    run.kv_type = c.kv_type;
    run.context = c.context;
    if (c.memory > budget)
      c.refused = "over the budget";
    else if (interrupted())
      c.refused = "stopped by Ctrl-C";
    else
      TRY_VOID(measure(run, w, 30, c));
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
      best->kv_type == "int8"
          ? ". int8 keys and values cost a little quality: brass eval --against-kv-type int8 says how much"
          : "");
  return {};
}

}  // namespace brass::app
