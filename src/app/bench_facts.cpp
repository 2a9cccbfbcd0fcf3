#include "app/bench_facts.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "app/bench_machine.h"
#include "app/version.h"
#include "backend/vulkan/device.h"
#include "hub/digest.h"
#include "report/format.h"

namespace brass::app {
namespace {

// "Q4_K 78 %, Q6_K 21 %, F32 1 %" of the bytes.
std::string types_mix(const gguf::File& file) {
  std::map<std::string, uint64_t> bytes;
  uint64_t all = 0;
  for (const gguf::TensorInfo& t : file.tensors()) bytes[gguf::type_name(t.type)] += t.bytes, all += t.bytes;
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto& [type, n] : bytes) order.emplace_back(n, type);
  std::ranges::sort(order, std::greater());
  std::string text;
  for (const auto& [n, type] : order)
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", type,
                        100.0 * static_cast<double>(n) / static_cast<double>(all));
  return text;
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

bool has_experts(const Graph& graph) {
  return std::ranges::any_of(graph.ops, [](const Op& op) { return op.kind == OpKind::kMoeLinear; });
}

// Weights that somebody drew (brass-synth says so in the name) choose experts as dice do.
std::string routing_text(Meter& meter) {
  if (meter.random_prompt()) return "random routing: the text is random token ids";
  const auto name = meter.model().file->find_string("general.name");
  if (name && *name && (*name)->ends_with(", random")) return "random routing: the weights are random";
  return "as the text asks for";
}

}  // namespace

Result<std::string> driver_text(Meter& meter, const ModelFlags& flags) {
  if (flags.device != "vulkan") return "none; " + system_name();
  const std::string device = meter.engine().device().describe();
  for (const VulkanInfo& info : TRY(vulkan_devices()))
    if (device.find(info.name) != std::string::npos &&
        (flags.gpu < 0 || static_cast<uint32_t>(flags.gpu) == info.index))
      return fmt::format("{}; {}", info.driver, system_name());
  return fail("{}: no driver says that it is its", device);
}

std::string weights_sha256(const gguf::File& file) {
  hub::Sha256 digest;
  for (const gguf::TensorInfo& t : file.tensors()) digest.add(t.data);
  return digest.finish();
}

Result<std::vector<report::Fact>> head_facts(Meter& meter, const ModelFlags& flags) {
  const Model& model = meter.model();
  const gguf::File& file = *model.file;
  uint64_t parameters = 0;
  for (const gguf::TensorInfo& t : file.tensors()) parameters += t.values();
  const Caps& caps = meter.engine().device().caps();
  std::vector<report::Fact> facts = {
      {"model", std::filesystem::path(file.path()).filename().string()},
      {"architecture", fmt::format("{}, {} parameters, {} layers", model.info.architecture,
                                   report::format_count(static_cast<double>(parameters)), model.info.layers)},
      {"file", fmt::format("{}: {}", report::format_bytes(file.total_bytes()), types_mix(file))},
      {"weights sha256", weights_sha256(file)},
      {"device", meter.engine().device().describe()}};
  if (const std::string name = processor_name(); !name.empty()) facts.push_back({"processor", name});
  facts.push_back({"driver", TRY(driver_text(meter, flags))});
  if (const std::string clock = clock_text(); !clock.empty()) facts.push_back({"clocks at the start", clock});
  const std::string kv = !flags.kv_type.empty() ? flags.kv_type : flags.device == "ref" ? "f32" : "f16";
  facts.push_back({"keys, values", fmt::format("{} ({:.4g} and {:.4g} bytes a value)", kv,
                                               caps.kv.per_k_value, caps.kv.per_v_value)});
  facts.push_back({"steps", fmt::format("batch 1, at most {} prompt tokens a step, context {}", Meter::kChunk,
                                        meter.context())});
  facts.push_back({"sampling", "the defaults of brass run, seed 1; replies go on past end tokens"});
  facts.push_back({"prompt", meter.random_prompt() ? "random token ids: the file has no vocabulary"
                                                   : "prose that the program carries"});
  facts.push_back({"prompt sha256", meter.prompt_sha256()});
  if (has_experts(*model.graph)) facts.push_back({"expert routing", routing_text(meter)});
  facts.push_back({"version", one_line(version_text())});
  facts.push_back({"date", now_text()});
  return facts;
}

void add_noise_facts(report::BenchReport& report, uint32_t rounds, std::optional<double> neighbours,
                     double timer_cost) {
  report.head.push_back(
      {"method", fmt::format("one warm-up, then at most {} rounds, depths in turns; medians, "
                             "95 % bootstrap intervals; no round is dropped",
                             rounds)});
  // Three readings of the clock stand in each token's time.
  const double token = report.speed.decode.empty() ? 0 : report.speed.decode.at(0);
  report.head.push_back(
      {"clock",
       fmt::format(
           "resolution {}, a reading costs {}{}", report::format_seconds(timer_resolution()),
           report::format_seconds(timer_cost),
           token > 0 ? fmt::format(": {:.4f} % of a token for three", 300 * timer_cost / token) : "")});
  if (report.overhead) report.head.push_back({"cost of measuring", report::describe(*report.overhead)});
  if (neighbours)
    report.head.push_back(
        {"other programs", fmt::format("{:.1f} % of the processors meanwhile{}", *neighbours * 100,
                                       *neighbours > 0.05 ? ": expect noise" : "")});
}

}  // namespace brass::app
