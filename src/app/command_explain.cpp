// brass explain: the plan that is executed.
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "app/commands.h"
#include "app/explain_assumed.h"
#include "app/session.h"
#include "backend/vulkan/device.h"
#include "plan/explain.h"
#include "report/format.h"
#include "runtime/memory_plan.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainFlags {
  ModelFlags model;
  std::string phase = "decode";
  uint32_t depth = 0;
  std::string assume;  // a card that is not here
  std::vector<std::string> without;
  bool embeddings = false, draft = false, json = false;
};

struct Phase {
  uint32_t t, r;
  uint32_t draft = 0;   // 0: the trunk, else which draft, from 1 on
  uint32_t choose = 0;  // PlanKey::choose
};

// decode: one token, one row; greedy: the same, and the device chooses; sampled: the same, and it finds the candidates;
// prefill:N: N tokens, the last one's row; verify:K: K tokens, K rows. Embeddings: of a text of one token, of N tokens; of
// each of K tokens. draft, draft:N: one step of the first, of the N-th draft.
Result<Phase> parse_phase(const std::string& text) {
  if (text == "decode") return Phase{1, 1};
  if (text == "draft") return Phase{1, 1, 1};
  if (text == "greedy") return Phase{.t = 1, .r = 1, .choose = 1};
  if (text == "sampled") return Phase{.t = 1, .r = 1, .choose = kMostCandidates};
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  uint32_t n = 0;
  if (colon != std::string::npos) std::from_chars(text.data() + colon + 1, text.data() + text.size(), n);
  if ((name != "prefill" && name != "verify" && name != "draft") || n == 0 || n > 65536)
    return wrong_use(
        "flag --phase: '{}' is none of decode, greedy, sampled, prefill:N, verify:K, draft, draft:N", text);
  if (name == "draft") return Phase{1, 1, n};
  return name == "prefill" ? Phase{n, 1} : Phase{n, n};
}

Json cost_json(const Cost& cost) {
  return {{"weight_bytes", cost.weight_bytes},         {"kv_read_bytes", cost.kv_read},
          {"kv_written_bytes", cost.kv_written},       {"state_bytes", cost.state_bytes},
          {"activation_bytes", cost.activation_bytes}, {"flops", cost.flops}};
}

Json value_json(const Plan& plan, ValueId v) {
  static constexpr const char* kStorage[] = {"arena", "private", "internal"};
  const Placed& p = plan.place(v);
  const Value& value = plan.value(v);
  Json out{{"name", value.name},
           {"rows", value.rows == Rows::kT ? "T" : "R"},
           {"width", value.width},
           {"type", value_type_name(value)},
           {"storage", kStorage[static_cast<size_t>(p.storage)]}};
  if (p.storage != Storage::kInternal) out["offset"] = p.offset, out["bytes"] = p.bytes;
  return out;
}

Json step_json(const Plan& plan, const Step& step, const StepRow& row) {
  Json in = Json::array(), out = Json::array(), weights = Json::array(), ops = Json::array();
  for (const uint32_t o : step.ops) {
    const Op& op = plan.ops[o];
    ops.push_back(op_name(op.kind));
    for (const ValueId v : op.in) in.push_back(value_json(plan, v));
    for (const ValueId v : op.out) out.push_back(value_json(plan, v));
    for (const WeightId id : op.weights) {
      const Weight& w = plan.weight(id);
      weights.push_back({{"tensor", w.name},
                         {"type", find_format(w.type)->name},
                         {"rows", w.rows},
                         {"cols", w.cols},
                         {"bytes", w.bytes()}});
    }
  }
  Json json{
      {"step", row.step}, {"kernel", row.kernel}, {"rule", row.rule},  {"barrier", row.barrier}, {"ops", ops},
      {"in", in},         {"out", out},           {"weights", weights}};
  json["cost"] = cost_json(row.cost);
  return json;
}

// What the whole engine takes of the device's memory; nothing where that has none of its own.
Result<std::optional<MemoryNeed>> memory_of(const Model& model, Device& device, EngineOptions& options) {
  if (!device.caps().own_memory) return std::optional<MemoryNeed>();
  options = TRY(settle(model, options));
  const MemoryPlan plan = TRY(MemoryPlan::create(fitted_graphs(model, options.context), device, options));
  return std::optional(TRY(plan.need(device)));
}

std::string memory_text(const MemoryNeed& need, const EngineOptions& options) {
  std::string text =
      fmt::format("memory for a context of {}, steps of up to {} tokens:", options.context, options.chunk);
  for (const MemoryNeed::Part& part : need.parts)
    text += fmt::format("{} {} {}{}", &part == need.parts.data() ? "" : ",", part.name,
                        report::format_bytes(part.bytes), part.elsewhere ? " (of the machine's)" : "");
  return text + fmt::format("; {} in all, of {} that are free: {}\n", report::format_bytes(need.total()),
                            report::format_bytes(need.available), need.fits() ? "fits" : "does not fit");
}

Json memory_json(const MemoryNeed& need, const EngineOptions& options) {
  Json parts = Json::array();
  for (const MemoryNeed::Part& part : need.parts)
    parts.push_back({{"what", part.name}, {"bytes", part.bytes}, {"elsewhere", part.elsewhere}});
  return {{"context", options.context},  {"chunk", options.chunk},       {"parts", std::move(parts)},
          {"total_bytes", need.total()}, {"free_bytes", need.available}, {"fits", need.fits()}};
}

// Of a GPU that is not here.
Result<Caps> assumed_caps(const ExplainFlags& flags) {
  const AssumedDevice* device = TRY(need_assumed_device(flags.assume));
  const auto [k, v] = TRY(kv_types(flags.model));
  return vulkan_caps(device->title, k, v);
}

Result<> run_explain(const ExplainFlags& flags) {
  const Phase phase = TRY(parse_phase(flags.phase));
  const std::string path = TRY(find_model(flags.model));
  const bool draft = flags.draft || phase.draft > 0;
  const std::unique_ptr<Model> model =
      TRY(load_model(path, {.embeddings = flags.embeddings, .draft = draft}));
  if (phase.draft > model->drafts.size())
    return wrong_use("flag --phase: '{}', and the model has {} draft{}", flags.phase, model->drafts.size(),
                     model->drafts.size() == 1 ? "" : "s");
  if (flags.depth > 0 && model->graph->needs_whole_texts())
    return wrong_use("flag --depth: the model reads whole texts, so nothing can be cached before a step");
  EngineOptions options{.context = flags.model.context};
  std::tie(options.k_type, options.v_type) = TRY(kv_types(flags.model));
  std::unique_ptr<Device> device;
  if (flags.assume.empty()) device = TRY(open_device(flags.model, {model.get(), options}));
  const Caps caps = device != nullptr ? device->caps() : TRY(assumed_caps(flags));
  for (const std::string& rule : flags.without)
    if (!caps.rules.contains(rule)) {
      std::string names;
      for (const std::string_view name : caps.rules) names += " " + std::string(name);
      return wrong_use("flag --without: '{}' is no rule of this device; its rules:{}", rule, names);
    }
  const PlanKey key{bucket(phase.t), phase.r <= 1 ? phase.r : bucket(phase.r), draft && phase.choose == 0,
                    phase.choose};
  const auto& graph = phase.draft > 0 ? model->drafts[phase.draft - 1] : model->graph;
  if (device == nullptr) {
    Caps left = caps;
    for (const std::string& rule : flags.without) left.rules.erase(rule);
    const auto plan = TRY(compile(graph, key, left));
    const AssumedDevice& assumed = *find_assumed_device(flags.assume);
    const PhaseSizes sizes{phase.t, phase.r, flags.depth};
    fmt::print("{}", flags.json ? predicted_json(*plan, assumed, sizes).dump() + "\n"
                                : predicted_text(*plan, assumed, sizes));
    return {};
  }
  const auto plan = TRY(device->compile(graph, key, flags.without));
  const std::optional<MemoryNeed> memory = TRY(memory_of(*model, *device, options));
  if (!flags.json) {
    fmt::print("{}", explain(*plan, phase.t, phase.r, flags.depth));
    if (memory) fmt::print("{}", memory_text(*memory, options));
    return {};
  }
  const std::vector<StepRow> rows = explain_rows(*plan, phase.t, phase.r, flags.depth);
  Json steps = Json::array();
  each_part(*plan, [&](const Plan& part) {
    for (const Step& step : part.steps) {
      Json json = step_json(part, step, rows[steps.size()]);
      if (!plan->segments.empty()) json["device"] = part.caps.name;
      steps.push_back(std::move(json));
    }
  });
  const Json out{{"architecture", model->info.architecture},
                 {"part", plan->source->part},
                 {"profile", caps.name},
                 {"t", phase.t},
                 {"r", phase.r},
                 {"depth", flags.depth},
                 {"arena_bytes", plan->arena_bytes},
                 {"memory", memory ? memory_json(*memory, options) : Json(nullptr)},
                 {"moved_bytes", plan->moved_bytes(phase.t)},
                 {"steps", steps},
                 {"totals", cost_json(plan_cost(*plan, {.t = phase.t, .r = phase.r, .s = flags.depth}))}};
  fmt::print("{}\n", out.dump());
  return {};
}

}  // namespace

Body declare_explain(Arguments& arguments) {
  auto flags = std::make_shared<ExplainFlags>();
  declare_model(arguments, flags->model);
  declare_device(arguments, flags->model);
  declare_prompt_products(arguments, flags->model);
  arguments.option("--phase", flags->phase,
                   "decode, greedy (the device chooses the token), sampled (it finds the candidates), "
                   "prefill:N, verify:K, or draft (draft:N: the N-th)");
  arguments.option("--depth", flags->depth, "positions already cached");
  arguments.option("--assume", flags->assume,
                   "predicts the time on a card that is not here (rx9070xt, rx7900xtx, rx6800xt, h200)");
  arguments.option("--without", flags->without, "switches a fusion rule off (repeatable)");
  arguments.flag("--embeddings", flags->embeddings,
                 "the plan that makes embeddings (brass embed), not logits");
  arguments.flag("--draft", flags->draft, "the plan that also makes what drafts (nextn) go on from");
  arguments.flag("--json", flags->json, "machine-readable");
  return [flags] { return run_explain(*flags); };
}

}  // namespace brass::app
