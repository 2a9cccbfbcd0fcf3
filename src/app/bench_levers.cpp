#include "app/bench_levers.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "app/bench_flags.h"
#include "app/bench_gpu_lever.h"
#include "app/bench_ledger.h"
#include "app/terminal.h"
#include "base/check.h"
#include "hub/digest.h"
#include "model/mix.h"
#include "report/format.h"
#include "report/lookup.h"
#include "runtime/divergence.h"

namespace brass::app {
namespace {

using report::Lever;
using report::LeverOutcome;
using report::Phases;

constexpr uint32_t kBatch = 4;
constexpr uint32_t kBatchSteps = 12;
constexpr double kLongestVerification = 120;  // seconds
constexpr uint32_t kQualityTokens = 512;      // of the prompt, over which predictions are compared
// Speculation by looking back: tokens that must be equal, tokens that are proposed, the reply that is looked at.
constexpr uint32_t kMatch = 2, kDraft = 4, kReplyLookedAt = 128;
// Of Qwen3-30B-A3B, all parameters to those that a token uses: how sparse mixtures of experts are made today.
constexpr double kSparsity = 30.5 / 3.3;
constexpr std::string_view kUnmeasuredQuality = "not measured: --verify does (or brass eval --against)";

struct Verified {
  LeverOutcome outcome;
  std::string quality;  // "": what the lever says already
};

struct Candidate {
  Lever lever;
  std::function<Result<std::optional<Verified>>()> verify = {};  // empty: cannot be run here; nothing: Ctrl-C
  std::string why_not = "the workload is longer than the context";
};

std::string sha256_of(const std::string& text) {
  hub::Sha256 digest;
  digest.add(std::as_bytes(std::span(text)));
  return digest.finish();
}

uint32_t expert_count(const Graph& graph) {
  uint32_t experts = 0;
  for (const Op& op : graph.ops)
    if (op.kind == OpKind::kMoeLinear) experts = std::max(experts, op.as<ExpertAttrs>().experts);
  return experts;
}

class Levers {
 public:
  Levers(const LeverOptions& options, Meter& meter, Measurement& measurement,
         const report::BenchReport& report)
      : options_(options), meter_(meter), measurement_(measurement), report_(report), w_(options.workload) {}

  Result<std::vector<Candidate>> all() {
    std::vector<Candidate> out;
    for (auto make : {&Levers::kv_type, &Levers::fewer_threads, &Levers::batch, &Levers::cached_prefix,
                      &Levers::other_file, &Levers::speculation, &Levers::experts, &Levers::gpu_layers,
                      &Levers::faster_prefill})
      if (std::optional<Candidate> c = TRY((this->*make)())) out.push_back(std::move(*c));
    for (Lever& lever : TRY(mixes()))
      out.push_back({.lever = std::move(lever), .why_not = "its file is not here"});
    return out;
  }

 private:
  double middle_depth() const { return w_.prompt + w_.reply / 2.0; }
  LeverOutcome outcome(const Phases& p, uint32_t prompt_computed) const {
    return {.decode_tps = p.decode > 0 ? (w_.reply - 1) / p.decode : 0,
            .prefill_tps = p.prefill > 0 ? prompt_computed / p.prefill : 0,
            .seconds = p.total()};
  }
  LeverOutcome composed(const report::Speed& speed) const {
    return outcome(report::compose(speed, w_), w_.prompt);
  }

  // The workload, run by an engine with other flags. `exact`: it has the same bits, so there is no quality to measure.
  std::function<Result<std::optional<Verified>>()> run_with(ModelFlags flags, bool exact) const {
    if (w_.positions() > meter_.model().info.context_length) return {};
    return [this, exact, flags = std::move(flags)]() -> Result<std::optional<Verified>> {
      const std::unique_ptr<Meter> changed =
          TRY(Meter::open(flags, TRY(load_model(TRY(find_model(flags)))), {.context = w_.positions()}));
      TRY_VOID(changed->request(std::min(w_.prompt, Meter::kChunk), 8));  // warm-up
      const Request r = TRY(changed->request(w_.prompt, w_.reply));
      if (!r.whole) return std::optional<Verified>();
      Verified v{.outcome = outcome({r.prefill, r.decode}, w_.prompt), .quality = {}};
      if (!exact) v.quality = TRY(quality_of(*changed));
      return v;
    };
  }
  // How far the changed engine's predictions of the prompt are from the measured one's.
  Result<std::string> quality_of(Meter& changed) const {
    const uint32_t tokens = std::min({kQualityTokens, meter_.context(), changed.context()});
    const Divergence d = TRY(measure_divergence(meter_.engine(), changed.engine(), meter_.prompt(tokens)));
    return fmt::format("KL {:.5f} nats a token, the same first choice at {:.1f} % of {} tokens", d.mean_kl(),
                       100 * d.same_top_share(), d.positions);
  }

  Result<std::optional<Candidate>> kv_type();
  Result<std::optional<Candidate>> fewer_threads();
  Result<std::optional<Candidate>> batch();
  Result<std::optional<Candidate>> cached_prefix();
  Result<std::optional<Candidate>> other_file();
  Result<std::optional<Candidate>> speculation();
  Result<std::optional<Candidate>> experts();
  Result<std::optional<Candidate>> gpu_layers();
  Result<std::optional<Candidate>> faster_prefill();
  Result<std::vector<Lever>> mixes() const;

  const LeverOptions& options_;
  Meter& meter_;
  Measurement& measurement_;
  const report::BenchReport& report_;
  const report::Workload w_;
};

// `device` has had no weights, and gets none.
uint64_t kv_read_at(Meter& meter, double depth, Device& device) {
  const auto plan = device.compile(meter.model().graph, {1, 1});
  return plan ? plan_cost(**plan, {.t = 1, .r = 1, .s = static_cast<uint64_t>(depth)}).kv_read : 0;
}

Result<std::optional<Candidate>> Levers::kv_type() {
  if (options_.model.device == "ref") return std::optional<Candidate>();  // it keeps f32 only
  Device& now = meter_.engine().device();
  ModelFlags flags = options_.model;
  const bool to_int8 = now.caps().kv.per_k_value > 1.5;
  flags.kv_type = to_int8 ? "int8" : "f16";
  const EngineOptions options = Meter::engine_options({.context = meter_.context()});
  const std::unique_ptr<Device> then = TRY(open_device(flags, {&meter_.model(), options}));
  const auto before = static_cast<double>(kv_read_at(meter_, middle_depth(), now));
  const auto after = static_cast<double>(kv_read_at(meter_, middle_depth(), *then));
  if (!(before > 0)) return std::optional<Candidate>();  // a model that keeps no keys
  report::Speed speed = report_.speed;
  speed.decode = report::with_kv_bytes(speed.decode, after / before);
  Lever lever{
      .name = "kv-" + flags.kv_type,
      .change = fmt::format("keys and values as {}: --kv-type {}", flags.kv_type, flags.kv_type),
      .quality = std::string(kUnmeasuredQuality),
      .bytes_saved = static_cast<int64_t>(before - after),
      .predicted = composed(speed),
      .unavailable = {},
      .assumption = "what grows with depth in decode is reading keys and values; prefill stays as it is",
      .prediction_sha256 = {}};
  return Candidate{std::move(lever), run_with(std::move(flags), false)};
}

Result<std::optional<Candidate>> Levers::fewer_threads() {
  const uint32_t threads = meter_.engine().device().caps().threads;
  if (threads < 2 || !report_.rates.bandwidth || !report_.ledger) return std::optional<Candidate>();
  ModelFlags flags = options_.model;
  flags.threads = threads / 2;
  const DeviceProbe probe = TRY(TRY(open_device(flags))->probe());
  const report::DeviceRates then{probe.bandwidth, probe.int8_ops, probe.f32_ops};
  const auto decode = report::slowdown(static_cast<double>(report_.ledger->streamed()),
                                       static_cast<double>(report_.ledger->flops), report_.rates, then);
  const auto prefill = report::slowdown(report_.prefill_bytes, report_.prefill_flops, report_.rates, then);
  if (!decode || !prefill) return std::optional<Candidate>();
  report::Speed speed = report_.speed;
  speed.prefill = report::scaled(speed.prefill, *prefill);
  speed.decode = report::scaled(speed.decode, *decode);
  speed.first_token *= *prefill;
  Lever lever{.name = fmt::format("threads-{}", flags.threads),
              .change = fmt::format("{} of {} threads: --threads {}", flags.threads, threads, flags.threads),
              .quality = "none: the same bits",
              .bytes_saved = 0,
              .predicted = composed(speed),
              .unavailable = {},
              .assumption = "each phase slows down as its bound does: probes with both thread counts",
              .prediction_sha256 = {}};
  return Candidate{std::move(lever), run_with(std::move(flags), true)};
}

Result<std::optional<Candidate>> Levers::batch() {
  if (report_.headline_prefill.empty() || !report_.ledger || !measurement_.has_kept())
    return std::optional<Candidate>();
  const SequenceId kept = measurement_.kept(static_cast<uint32_t>(middle_depth()));
  const uint32_t depth = meter_.engine().length(kept);
  const report::Curve& decode = report_.speed.decode;
  const double one = decode.at(depth);
  const double attention = decode.fit() ? std::max(0.0, decode.fit()->b.middle) * depth : 0;
  const double arithmetic = report_.speed.prefill.at(0);
  const Phases alone = report::compose(report_.speed, w_);
  // Of one request when kBatch of them share every decode step.
  const auto shared = [this, alone](double step) {
    LeverOutcome o = outcome({alone.prefill, step * (w_.reply - 1) / kBatch}, w_.prompt);
    return o;
  };
  Lever lever{
      .name = fmt::format("batch-{}", kBatch),
      .change = fmt::format("{} requests decode together, at a depth of {}; seconds are all of them ÷ {}",
                            kBatch, depth, kBatch),
      .quality = "none: the same bits",
      .bytes_saved = static_cast<int64_t>(report_.ledger->weight_bytes() * (kBatch - 1) / kBatch),
      .predicted = shared(report::batch_step_seconds(one, std::min(attention, one), arithmetic, kBatch)),
      .unavailable = {},
      .assumption =
          "weights are read once a step; a row costs at least what it does in prefill; attention is each "
          "sequence's own",
      .prediction_sha256 = {}};
  return Candidate{std::move(lever), [this, kept, shared]() -> Result<std::optional<Verified>> {
                     std::vector<double> steps = TRY(meter_.decode_together(kept, kBatch, kBatchSteps));
                     steps.erase(steps.begin(),
                                 steps.begin() + 2);  // a first plan, and pages that are copied
                     return Verified{shared(report::median(steps)), {}};
                   }};
}

Result<std::optional<Candidate>> Levers::cached_prefix() {
  if (w_.prompt < 2) return std::optional<Candidate>();
  const Phases phases = report::compose(report_.speed, w_, w_.prompt - 1);
  Lever lever{.name = "prefix-cached",
              .change = "all of the prompt but its last token is cached, as in a conversation that goes on",
              .quality = "none: the same bits",
              .bytes_saved = 0,
              .predicted = outcome(phases, 1),
              .unavailable = {},
              .assumption = "the last token costs one decode step",
              .prediction_sha256 = {}};
  std::function<Result<std::optional<Verified>>()> verify;
  if (w_.positions() <= meter_.context())
    verify = [this]() -> Result<std::optional<Verified>> {
      const SequenceId base = TRY(meter_.engine().create_sequence());
      Result<std::vector<Chunk>> held = meter_.extend(base, w_.prompt - 1);
      if (held && interrupted()) {
        meter_.engine().drop(base);
        return std::optional<Verified>();
      }
      Result<Request> r =
          held ? meter_.request_behind(base, w_.reply) : Result<Request>(std::unexpected(held.error()));
      meter_.engine().drop(base);
      if (!r) return std::unexpected(r.error());
      if (!r->whole) return std::optional<Verified>();
      return Verified{outcome({r->prefill, r->decode}, r->prompt - r->cached), {}};
    };
  return Candidate{std::move(lever), std::move(verify)};
}

Result<std::optional<Candidate>> Levers::other_file() {
  if (options_.other.empty() || !report_.ledger) return std::optional<Candidate>();
  ModelFlags flags = options_.model;
  flags.model = options_.other;
  const std::unique_ptr<Model> other = TRY(load_other(options_.model, options_.other, meter_.model()));
  const auto plan = TRY(meter_.engine().device().compile(other->graph, {1, 1}));
  const auto before = static_cast<double>(report_.ledger->weight_bytes());
  const auto after = static_cast<double>(make_ledger(*plan, report_.ledger->depth).weight_bytes());
  report::Speed speed = report_.speed;
  speed.decode = report::with_weight_bytes(speed.decode, before, after);
  Lever lever{.name = "other-file",
              .change = fmt::format("the file {}: {} of weights a token", options_.other,
                                    report::format_bytes(static_cast<uint64_t>(after))),
              .quality = std::string(kUnmeasuredQuality),
              .bytes_saved = static_cast<int64_t>(before - after),
              .predicted = composed(speed),
              .unavailable = {},
              .assumption = "decode reaches the same share of the bandwidth; prefill stays as it is",
              .prediction_sha256 = {}};
  return Candidate{std::move(lever), run_with(std::move(flags), false)};
}

// The model's tensors as a mix is asked for them, and how many experts a layer has.
std::vector<ShapedTensor> shaped_tensors(const Model& model) {
  std::vector<ShapedTensor> out;
  for (const gguf::TensorInfo& t : model.file->tensors()) {
    ShapedTensor shaped{.name = t.name,
                        .kind = t.n_dims < 2 ? WeightKind::kVector : WeightKind::kMatrix,
                        .dims = {},
                        .type = t.type};
    for (int d = 0; d < t.n_dims; d++) shaped.dims.push_back(t.dims[static_cast<size_t>(d)]);
    out.push_back(std::move(shaped));
  }
  return out;
}

// Bytes of weights that a token would stream from a file of this mix: the same plan with other types. Nothing where
// the device cannot run them.
Result<std::optional<uint64_t>> mix_bytes(Meter& meter, std::string_view mix, uint64_t depth) {
  const Model& model = meter.model();
  const auto types = TRY(mix_types(mix, shaped_tensors(model), expert_count(*model.graph)));
  auto graph = std::make_shared<Graph>(*model.graph);
  for (Weight& w : graph->weights)
    if (const auto found = types.find(w.name); w.kind == WeightKind::kMatrix && found != types.end())
      w.type = found->second;
  const auto plan = meter.engine().device().compile(graph, {1, 1});
  if (!plan) return std::optional<uint64_t>();
  return std::optional(make_ledger(**plan, depth).weight_bytes());
}

constexpr std::string_view kMixes[] = {"Q8_0", "Q6_K", "Q4_K_M", "IQ3_M"};
constexpr double kSameMix = 0.03;  // bytes this close are the file that is there already

Result<std::vector<Lever>> Levers::mixes() const {
  std::vector<Lever> out;
  if (!report_.ledger) return out;
  const auto before = static_cast<double>(report_.ledger->weight_bytes());
  for (const std::string_view mix : kMixes) {
    const std::optional<uint64_t> bytes = TRY(mix_bytes(meter_, mix, report_.ledger->depth));
    if (!bytes || std::abs(static_cast<double>(*bytes) / before - 1) < kSameMix) continue;
    const auto after = static_cast<double>(*bytes);
    report::Speed speed = report_.speed;
    speed.decode = report::with_weight_bytes(speed.decode, before, after);
    out.push_back(
        {.name = fmt::format("mix-{}", mix),
         .change =
             fmt::format("the same model as {}: {} of weights a token instead of {}", mix,
                         report::format_bytes(*bytes), report::format_bytes(report_.ledger->weight_bytes())),
         .quality = "not measured: needs the file (--other FILE runs it)",
         .bytes_saved = static_cast<int64_t>(before - after),
         .predicted = composed(speed),
         .unavailable = {},
         .assumption =
             "decode reaches the same share of the bandwidth with the other formats; prefill stays as it is",
         .prediction_sha256 = {}});
  }
  return out;
}

// Acceptance is measured: a reply that the model made is gone through again, asking what looking back would have drafted.
Result<std::optional<Candidate>> Levers::speculation() {
  const uint32_t prompt = std::min({w_.prompt, Meter::kChunk, meter_.context() - 2});
  const uint32_t wanted = std::min({w_.reply, kReplyLookedAt, meter_.context() - prompt});
  const Request reply = TRY(meter_.request(prompt, wanted));
  std::vector<int32_t> text(meter_.prompt(prompt).begin(), meter_.prompt(prompt).end());
  text.insert(text.end(), reply.ids.begin(), reply.ids.end());
  const report::LookupReplay replay = report::replay_lookup(text, prompt, kMatch, kDraft);
  if (!report_.ledger || replay.steps() == 0)
    return std::optional<Candidate>();  // Ctrl-C, or a reply of one token
  const report::Curve& decode = report_.speed.decode;
  const double depth = middle_depth(), one = decode.at(depth);
  const double attention = decode.fit() ? std::clamp(decode.fit()->b.middle * depth, 0.0, one) : 0;
  const double drafting = report::batch_step_seconds(one, attention, report_.speed.prefill.at(0), kDraft + 1);
  const double tokens_a_step = static_cast<double>(replay.tokens) / replay.steps();
  const double step = (replay.plain * one + replay.drafting * drafting) / replay.steps();
  Phases phases = report::compose(report_.speed, w_);
  phases.decode *= step / tokens_a_step / one;
  Lever lever{
      .name = "speculation",
      .change = fmt::format(
          "up to {} tokens are drafted from what followed the same {} tokens before: of {} drafted {:.0f} "
          "% were right in a reply of {}, {:.2f} tokens a step",
          kDraft, kMatch, replay.drafted, replay.acceptance() * 100, replay.tokens + 1, tokens_a_step),
      .quality = "none: what is accepted is what would have been drawn",
      .bytes_saved =
          static_cast<int64_t>(static_cast<double>(report_.ledger->weight_bytes()) * (1 - 1 / tokens_a_step)),
      .predicted = outcome(phases, w_.prompt),
      .unavailable = {},
      .assumption = "a step of several rows costs what it does in a batch; other texts accept more or less",
      .prediction_sha256 = {}};
  return Candidate{.lever = std::move(lever), .why_not = "brass run drafts nothing"};
}

// Of the same class by a rule of thumb: the geometric mean of all parameters and those that a token uses.
Result<std::optional<Candidate>> Levers::experts() {
  if (!report_.ledger) return std::optional<Candidate>();
  Lever lever{.name = "experts",
              .change = {},
              .quality = {},
              .predicted = {},
              .unavailable = {},
              .assumption = {},
              .prediction_sha256 = {}};
  if (expert_count(*meter_.model().graph) > 0) {
    lever.change = "a mixture of experts instead of a dense model";
    lever.unavailable = "this model is one";
    return Candidate{.lever = std::move(lever)};
  }
  const double ratio = std::sqrt(kSparsity);
  const auto before = static_cast<double>(report_.ledger->weight_bytes()), after = before / ratio;
  report::Speed speed = report_.speed;
  speed.decode = report::with_weight_bytes(speed.decode, before, after);
  speed.prefill = report::scaled(speed.prefill, 1 / ratio);
  speed.first_token /= ratio;
  lever.change = fmt::format(
      "a mixture of experts of the same class: {} of weights a token instead of {}, in a file {:.1f} times "
      "as large",
      report::format_bytes(static_cast<uint64_t>(after)),
      report::format_bytes(report_.ledger->weight_bytes()), ratio);
  lever.quality = "the same class only by a rule of thumb (geometric mean of all and of used parameters)";
  lever.bytes_saved = static_cast<int64_t>(before - after);
  lever.predicted = composed(speed);
  lever.assumption = fmt::format(
      "{:.1f} times as many parameters as a token uses, as in Qwen3-30B-A3B; both phases go with what is "
      "used",
      kSparsity);
  return Candidate{.lever = std::move(lever),
                   .why_not = "it is another model: bench its file, then brass bench compare"};
}

Result<std::optional<Candidate>> Levers::faster_prefill() {
  report::Speed speed = report_.speed;
  speed.prefill = report::scaled(speed.prefill, 0.5);
  speed.first_token /= 2;
  Lever lever{.name = "prefill-2x",
              .change = "prefill twice as fast: other kernels, or a device with more arithmetic",
              .quality = "none",
              .bytes_saved = 0,
              .predicted = composed(speed),
              .unavailable = {},
              .assumption = "decode stays as it is",
              .prediction_sha256 = {}};
  return Candidate{.lever = std::move(lever), .why_not = "no flag here makes it so"};
}

Result<std::optional<Candidate>> Levers::gpu_layers() {
  GpuLever more =
      TRY(more_gpu_layers(options_.model, meter_, report_, static_cast<uint64_t>(middle_depth())));
  if (!more.lever.unavailable.empty()) return Candidate{.lever = std::move(more.lever)};
  more.lever.predicted = composed(more.speed);
  return Candidate{std::move(more.lever), run_with(std::move(more.flags), false)};
}

// Each prediction and its hash, for everybody to see before anything is put to the test.
Result<> write_down(const LeverOptions& options, const std::vector<Lever>& levers, BenchProgress& progress) {
  std::string text;
  for (const Lever& lever : levers)
    if (lever.predicted)
      text += fmt::format("{}  {}\n", lever.prediction_sha256, report::prediction_text(lever));
  progress.clear();
  fmt::print(stderr, "Predictions, by the SHA-256 of their texts:\n{}", text);
  if (options.out.empty()) return {};
  return write_out(options.out, "predictions.txt", text);
}

}  // namespace

Result<std::unique_ptr<Model>> load_other(const ModelFlags& model_flags, const std::string& other,
                                          const Model& model) {
  ModelFlags flags = model_flags;
  flags.model = other;
  std::unique_ptr<Model> loaded = TRY(load_model(TRY(find_model(flags))));
  const ModelInfo &a = loaded->info, &b = model.info;
  if (a.architecture != b.architecture || a.layers != b.layers || a.embedding_length != b.embedding_length)
    return wrong_use(
        "flag --other: {} is not the same model ({}, {} layers of {}; MODEL is {}, {} layers of {})", other,
        a.architecture, a.layers, a.embedding_length, b.architecture, b.layers, b.embedding_length);
  return loaded;
}

Result<> pull_levers(const LeverOptions& options, Meter& meter, Measurement& measurement,
                     BenchProgress& progress, report::BenchReport& report) {
  if (report.speed.prefill.empty() || report.speed.decode.empty()) return {};
  report.lever_workload = fmt::format("{} {}", options.workload.name, report::format_shape(options.workload));
  progress.say("Predicting levers");
  Levers levers(options, meter, measurement, report);
  std::vector<Candidate> candidates = TRY(levers.all());
  for (Candidate& c : candidates) {
    if (c.lever.predicted) c.lever.prediction_sha256 = sha256_of(report::prediction_text(c.lever));
    report.levers.push_back(c.lever);
  }
  if (!options.verify) return {};
  TRY_VOID(write_down(options, report.levers, progress));
  for (size_t i = 0; i < candidates.size(); i++) {
    Lever& lever = report.levers[i];
    if (!lever.predicted) continue;
    const auto skipped = [&](const std::string& why) {
      report.notes.push_back(fmt::format("{} was not verified: {}.", lever.name, why));
    };
    if (!candidates[i].verify) {
      skipped(candidates[i].why_not);
      continue;
    }
    if (lever.predicted->seconds > kLongestVerification) {
      skipped("its run would take " + report::format_seconds(lever.predicted->seconds));
      continue;
    }
    progress.say("Verifying " + lever.name, lever.predicted->seconds);
    std::optional<Verified> seen;
    if (!interrupted()) {
      Result<std::optional<Verified>> run = candidates[i].verify();
      if (!run && run.error().no_room) {
        skipped(run.error().message);
        continue;
      }
      seen = TRY(std::move(run));
    }
    if (!seen || interrupted()) {
      report.stopped = "Ctrl-C before all levers were verified";
      return {};
    }
    lever.measured = seen->outcome;
    if (!seen->quality.empty()) lever.quality = std::move(seen->quality);
  }
  return {};
}

}  // namespace brass::app
