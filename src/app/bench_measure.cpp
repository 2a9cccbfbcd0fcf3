#include "app/bench_measure.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "app/bench_facts.h"
#include "app/bench_ledger.h"
#include "app/bench_machine.h"
#include "app/terminal.h"
#include "base/check.h"
#include "report/format.h"
#include "runtime/memory_plan.h"

namespace brass::app {
namespace {

// Doublings: where keys and values outgrow a cache the curve bends, and a straight line over the bend is 12 % off.
constexpr uint32_t kDepths[] = {512, 1024, 2048, 4096, 8192, 16384, 32768};
constexpr uint32_t kMostDecodeTokens = 32, kLookTokens = 4, kLookPrompt = 8;
constexpr uint32_t kChunksAPoint = 4;  // of the prefill curve
constexpr size_t kLossesShown = 5;
constexpr double kUsualShare = 0.4;  // of the ceiling that the probes set, for a first look
// Parts of the time that there is, at most: what is over is for workloads.
constexpr double kPromptPart = 0.2, kDepthPart = 0.5, kDecodePart = 0.25, kOverheadPart = 0.05;
constexpr uint32_t kFewestPairs = 6, kMostPairs = 24;
constexpr double kRepeatedSeconds = 60;  // a workload is run again as long as its runs fit into these
constexpr uint32_t kMostRepetitions = 3;
constexpr int kBarWidth = 20;

double share_or_zero(const Neighbours& neighbours) { return neighbours.share().value_or(0); }

std::string bar_text(double share) {
  const int filled = static_cast<int>(std::lround(kBarWidth * std::clamp(share, 0.0, 1.0)));
  std::string bar;
  for (int i = 0; i < kBarWidth; i++) bar += i < filled ? "█" : "░";
  return bar;
}

}  // namespace

void BenchProgress::say(const std::string& what, std::optional<double> left) {
  if (!stderr_is_terminal()) return;
  std::string line = what + " …";
  const bool planned = std::isfinite(planned_);
  if (planned || left) {
    const double rest = std::max(0.0, planned ? planned_ - elapsed() : *left);
    const double share = planned ? elapsed() / planned_ : elapsed() / std::max(elapsed() + rest, 1e-3);
    const std::string time = fmt::format(" {:3.0f} %, at most {} left{}", std::min(share, 1.0) * 100,
                                         report::format_seconds(rest), planned ? "" : " of this");
    // A bar where the line has room for it: what it says stands in the text, too.
    if (what.size() + time.size() + kBarWidth + 6 < static_cast<size_t>(terminal_width()))
      line = fmt::format("{} {}{}", bar_text(share), what, time);
    else
      line = what + time;
  }
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
  drawn_ = true;
}

void BenchProgress::clear() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
  drawn_ = false;
}

namespace {

// The largest context up to `wanted` that the device has room for, of `held` and further sequences.
Result<uint32_t> context_with_room(const ModelFlags& flags, const Model& model, uint32_t wanted,
                                   uint32_t held) {
  EngineOptions options = Meter::engine_options({.context = wanted, .held = held});
  std::tie(options.k_type, options.v_type) = TRY(kv_types(flags));
  const std::unique_ptr<Device> device = TRY(open_device(flags, {&model, options}));
  if (device->caps().own_memory) {
    const EngineOptions settled = TRY(settle(model, options));
    const MemoryPlan memory = TRY(MemoryPlan::create(fitted_graphs(model, wanted), *device, settled));
    const uint32_t most = TRY(memory.largest_context(*device, options.k_type, options.v_type, wanted));
    return most == 0 || most + Device::page_positions() > wanted ? wanted
                                                                 : most;  // none: opening it says why
  }
  // One sequence's keys and values are touched once, and each kept prefix shares their pages.
  const Caps& caps = device->caps();
  double per_position = 0;
  for (const MemoryGroup& group : model.graph->groups)
    for (const KvLayer& l : group.layers)
      per_position += l.heads * (l.k_dim * caps.kv.per_k_value + l.v_dim * caps.kv.per_v_value);
  const auto memory = available_memory();
  if (!memory || !(per_position > 0)) return wanted;
  const double room = static_cast<double>(*memory) * 0.5 / per_position;
  return room < wanted ? std::max(1024u, static_cast<uint32_t>(room)) : wanted;
}

}  // namespace

Result<std::unique_ptr<Meter>> open_for(const ModelFlags& flags, std::unique_ptr<Model> model,
                                        const BenchPlan& plan) {
  TRY_VOID(need_decoding(*model, "brass bench"));
  const uint32_t most = flags.context != 0 ? flags.context : model->info.context_length;
  uint32_t wanted = std::max(plan.deepest + 64, 1024u);
  for (const report::Workload& w : plan.workloads)
    if (w.positions() <= most) wanted = std::max(wanted, w.positions());
  const uint32_t held = static_cast<uint32_t>(std::size(kDepths)) + 8;
  const uint32_t context = TRY(context_with_room(flags, *model, std::min(wanted, most), held));
  return Meter::open(flags, std::move(model), {.context = std::min(context, most), .held = held});
}

// The usual depths that fit, and the end of the context where that is well beyond the last of them.
std::vector<uint32_t> Measurement::depths() const {
  const uint32_t room =
      std::min(plan_.deepest, meter_.context() - std::min(meter_.context() - 1, kMostDecodeTokens + 2));
  std::vector<uint32_t> out;
  for (const uint32_t depth : kDepths)
    if (depth <= room) out.push_back(depth);
  const uint32_t end = room / Meter::kChunk * Meter::kChunk;
  if (end >= Meter::kChunk && (out.empty() || end > out.back() * 3 / 2)) out.push_back(end);
  return out;
}

// Seconds of a part, to be shown where the plan has no end.
std::optional<double> Measurement::in_all(double seconds) const {
  return std::isfinite(plan_.seconds) ? std::nullopt : std::optional(seconds);
}

bool Measurement::stop(report::BenchReport& report, const char* when) const {
  if (!interrupted()) return false;
  if (report.stopped.empty()) report.stopped = fmt::format("Ctrl-C {}", when);
  return true;
}

Result<> Measurement::probe(report::BenchReport& report) {
  progress_.say("Probing memory and arithmetic");
  const Result<DeviceProbe> probe = meter_.engine().device().probe();
  if (!probe) {
    const std::string note = "No ceilings: " + probe.error().message + ".";
    if (std::ranges::find(report.notes, note) == report.notes.end()) report.notes.push_back(note);
    return {};
  }
  // The fastest of two looks, at the beginning and at the end: others can only make it slower.
  const auto larger = [](std::optional<double>& kept, double seen) {
    kept = std::max(kept.value_or(0), seen);
  };
  larger(report.rates.bandwidth, probe->bandwidth);
  larger(report.rates.int8_ops, probe->int8_ops);
  larger(report.rates.f32_ops, probe->f32_ops);
  return {};
}

// Seconds of a prompt token, roughly: as the probes promise, else as a short prompt takes, which is the first one after
// loading then.
Result<double> Measurement::first_look(report::BenchReport& report) {
  const uint32_t chunk = std::min(Meter::kChunk, meter_.context() / 2);
  const Cost cost = plan_cost(*TRY(meter_.engine().plan_for(chunk, 1)), {.t = chunk, .r = 1, .s = 0});
  const auto least = report::least_seconds(static_cast<double>(cost.weight_bytes),
                                           static_cast<double>(cost.flops), report.rates);
  if (least && *least > 0) return *least / chunk / kUsualShare;
  const uint32_t tokens = std::min(kLookPrompt, chunk);
  return TRY(meter_.request(tokens, 1)).prefill / tokens;
}

// A prompt of one step, whole (with its first token) and as the inside of a longer one, in turns.
Result<> Measurement::headline(report::BenchReport& report) {
  const double look = TRY(first_look(report)), time = plan_.seconds * kPromptPart;
  const uint32_t most = std::min(Meter::kChunk, meter_.context() / 2);
  const uint32_t tokens = report::prompt_tokens(std::max(look, 1e-9), 2 * plan_.rounds + 1, time, most);
  if (tokens < most)
    report.notes.push_back(fmt::format(
        "The prompt that is timed has {} tokens, not {}: this machine needs about {} for one of those.",
        tokens, most, report::format_seconds(look * most)));
  report.headline_prompt = tokens;
  progress_.say("The first prompt");
  const Request cold = TRY(meter_.request(tokens, 1));
  if (stop(report, "during the first prompt")) return {};
  if (report.rates.bandwidth) report.cold_ttft = cold.ttft;  // else the look was the first
  const bool whole = tokens == Meter::kChunk;
  std::vector<double> inner;
  const double begin = progress_.elapsed();
  for (uint32_t i = 0; i < plan_.rounds; i++) {
    if (i > 0 && (progress_.elapsed() - begin) * (i + 1) / i > time) break;
    progress_.say("Prefill", in_all(cold.prefill * 2 * (plan_.rounds - i)));
    const Request r = TRY(meter_.request(tokens, 1));
    if (stop(report, "during prefill")) break;
    report.headline_prefill.push_back(r.prefill);
    if (whole) inner.push_back(TRY(meter_.inner_chunk(tokens)));
  }
  if (report.headline_prefill.empty()) return {};
  if (report.stopped.empty() && report.headline_prefill.size() < plan_.rounds)
    report.notes.push_back(fmt::format("Prefill has {} of {} rounds: more were beyond the time.",
                                       report.headline_prefill.size(), plan_.rounds));
  std::vector<double> each = whole ? inner : report.headline_prefill;
  for (double& s : each) s /= tokens;
  prefill_points_.push_back({tokens / 2.0, each});
  report.speed.prefill = report::Curve(prefill_points_);
  if (whole)
    report.speed.first_token = std::max(0.0, report::median(report.headline_prefill) - report::median(inner));
  return {};
}

// Seconds from depth to depth; some steps together are a point of the curve. In pieces, so that progress is seen.
Result<double> Measurement::walk_to(report::BenchReport& report, SequenceId base, uint32_t at,
                                    uint32_t depth) {
  double took = 0;
  for (uint32_t next = at; next < depth && !interrupted();) {
    progress_.say(fmt::format("Prefill to a depth of {}", report::format_tokens(depth)),
                  in_all(report.speed.prefill.sum(next, depths().back())));
    next = std::min(depth, next + kChunksAPoint * Meter::kChunk);
    std::vector<double> each;
    double first = 0, last = 0;
    for (const Chunk& chunk : TRY(meter_.extend(base, next))) {
      took += chunk.seconds;
      if (chunk.begin == 0 && report.headline_prompt == Meter::kChunk)
        continue;  // measured in rounds already
      if (each.empty()) first = chunk.begin;
      last = chunk.begin + chunk.tokens;
      each.push_back(chunk.seconds / chunk.tokens);
    }
    const double middle = (first + last) / 2;
    if (!each.empty() && middle > prefill_points_.back().depth) prefill_points_.push_back({middle, each});
  }
  stop(report, "during prefill over depth");
  return took;
}

// One sequence grows from depth to depth; its steps are the prefill curve, and a copy is kept at each depth.
Result<> Measurement::walk(report::BenchReport& report) {
  const SequenceId base = TRY(meter_.engine().create_sequence());
  double since_start = 0;
  uint32_t at = 0;
  for (const uint32_t depth : depths()) {
    const double expected = report.speed.prefill.sum(at, depth);
    if (progress_.elapsed() + expected > plan_.seconds * kDepthPart) {
      report.notes.push_back(
          fmt::format("Depths from {} on were not measured: {} more of prefill, beyond the time for this "
                      "report (--full measures them).",
                      report::format_tokens(depth), report::format_seconds(expected)));
      break;
    }
    since_start += TRY(walk_to(report, base, at, depth));
    report.speed.prefill = report::Curve(prefill_points_);
    if (!report.stopped.empty()) break;
    at = depth;
    kept_.emplace_back(depth, TRY(meter_.engine().fork(base)));
    report.depths.push_back({.depth = depth,
                             .decode = {},
                             .ttft_cached = {},
                             .ttft_warm = since_start + report.speed.first_token});
  }
  meter_.engine().drop(base);
  return {};
}

// A reply at one of the report's depths: the first is an empty context.
Result<Request> Measurement::reply_at(size_t row, uint32_t tokens, TokenClock clock) {
  return row == 0 ? meter_.request(1, tokens, clock)
                  : meter_.request_behind(kept_[row - 1].second, tokens, clock);
}

// Some tokens at each depth, which say how many rounds of how many there is time for.
Result<report::DecodeRounds> Measurement::warm_up(report::BenchReport& report) {
  std::vector<double> each;
  for (size_t i = 0; i < report.depths.size(); i++) {
    progress_.say(
        fmt::format("Decode, warm-up at a depth of {}", report::format_tokens(report.depths[i].depth)));
    const Request r = TRY(reply_at(i, kLookTokens + 1));
    if (stop(report, "during the warm-up of decode")) return report::DecodeRounds{};
    if (r.gaps.empty()) return fail("no token was decoded at a depth of {}", report.depths[i].depth);
    each.push_back(report::median(r.gaps));
  }
  const double time = plan_.seconds * kDecodePart;
  const report::DecodeRounds plan = report::decode_rounds(each, plan_.rounds, time);
  if (plan.rounds < plan_.rounds)
    report.notes.push_back(
        fmt::format("Decode has {} of {} rounds: more were beyond the time.", plan.rounds, plan_.rounds));
  return plan;
}

Result<> Measurement::decode_rounds(report::BenchReport& report) {
  report.depths.insert(report.depths.begin(), report::DepthRow{.depth = 0, .decode = {}, .ttft_cached = {}});
  const report::DecodeRounds plan = TRY(warm_up(report));
  if (!report.stopped.empty()) return {};
  reply_tokens_ = plan.tokens;
  const double begin = progress_.elapsed();
  for (uint32_t round = 0; round < plan.rounds && report.stopped.empty(); round++) {
    for (size_t i = 0; i < report.depths.size(); i++) {
      report::DepthRow& row = report.depths[i];
      const double a_round = round > 0 ? (progress_.elapsed() - begin) / round : 0;
      progress_.say(fmt::format("Decode, round {} of {}, depth {}", round + 1, plan.rounds,
                                report::format_tokens(row.depth)),
                    in_all(a_round * (plan.rounds - round)));
      const Neighbours meanwhile;
      const Request r = TRY(reply_at(i, reply_tokens_[i] + 1));
      if (stop(report, "during decode")) break;
      if (r.gaps.empty()) continue;  // the context ended
      row.decode.push_back(r.decode / static_cast<double>(r.gaps.size()));
      if (i > 0) row.ttft_cached.push_back(r.ttft);
      if (r.decode > 0.3) row.disturbance = std::max(row.disturbance, share_or_zero(meanwhile));
    }
  }
  std::vector<report::CurvePoint> points;
  for (size_t i = 0; i < report.depths.size(); i++)
    if (!report.depths[i].decode.empty())
      points.push_back({report.depths[i].depth + 1 + reply_tokens_[i] / 2.0, report.depths[i].decode});
  report.speed.decode = report::Curve(std::move(points));
  return {};
}

// The same short reply with and without a clock at each token; who begins changes from pair to pair.
Result<> Measurement::overhead(report::BenchReport& report) {
  const size_t row = std::min<size_t>(1, kept_.size());
  const double each = report.speed.decode.at(report.depths[row].depth);
  const uint32_t tokens = reply_tokens_[row];
  const uint32_t pairs =
      report::pairs_in(each * tokens, plan_.seconds * kOverheadPart, kFewestPairs, kMostPairs);
  report::Overhead seen{.with = {}, .without = {}, .clock_share = timer_cost() / each};
  for (uint32_t i = 0; i < pairs; i++) {
    progress_.say("Decode with and without the bench's clock", in_all(each * tokens * 2 * (pairs - i)));
    double with = 0, without = 0;
    for (const bool on : {i % 2 == 0, i % 2 != 0})
      (on ? with : without) = TRY(reply_at(row, tokens + 1, on ? TokenClock::kOn : TokenClock::kOff)).decode;
    if (stop(report, "while the cost of measuring was measured")) break;
    seen.with.push_back(with);
    seen.without.push_back(without);
  }
  if (!seen.with.empty()) report.overhead = std::move(seen);
  return {};
}

Result<> Measurement::curves(report::BenchReport& report) {
  TRY_VOID(headline(report));
  if (!report.stopped.empty()) return {};
  TRY_VOID(walk(report));
  if (!report.stopped.empty()) return {};
  return decode_rounds(report);
}

SequenceId Measurement::kept(uint32_t depth) const {
  ENSURE(!kept_.empty(), "no prefix was kept");
  SequenceId best = kept_.front().second;
  for (const auto& [at, id] : kept_)
    if (at <= depth) best = id;
  return best;
}

Result<std::optional<report::MeasuredWorkload>> Measurement::workload(const report::Workload& w,
                                                                      uint32_t repetitions) {
  std::vector<double> prefill, decode, ttft, gaps;
  for (uint32_t i = 0; i < repetitions; i++) {
    const Request r = TRY(meter_.request(w.prompt, w.reply));
    if (!r.whole) break;
    prefill.push_back(r.prefill);
    decode.push_back(r.decode);
    ttft.push_back(r.ttft);
    gaps.insert(gaps.end(), r.gaps.begin(), r.gaps.end());
  }
  if (prefill.empty()) return std::optional<report::MeasuredWorkload>();
  if (gaps.empty()) gaps.push_back(0);
  return report::MeasuredWorkload{.phases = {report::median(prefill), report::median(decode)},
                                  .ttft = report::median(ttft),
                                  .latency_p50 = report::percentile(gaps, 0.5),
                                  .latency_p95 = report::percentile(gaps, 0.95),
                                  .latency_p99 = report::percentile(gaps, 0.99),
                                  .repetitions = static_cast<uint32_t>(prefill.size())};
}

Result<> Measurement::workloads(report::BenchReport& report) {
  for (const report::Workload& w : plan_.workloads) {
    report::WorkloadRow row{.workload = w};
    row.fits = w.positions() <= meter_.context();
    if (!report.speed.prefill.empty() && !report.speed.decode.empty()) {
      row.composed = report::compose(report.speed, w);
      row.composed_cached = report::compose(report.speed, w, w.prompt - 1);
      row.extrapolated = report::extrapolated(report.speed, w);
    }
    report.workloads.push_back(row);
  }
  if (!plan_.measure_workloads || !report.stopped.empty()) return {};
  // Short ones first: as many as the time allows are run.
  std::vector<report::WorkloadRow*> order;
  for (report::WorkloadRow& row : report.workloads)
    if (row.fits && row.composed) order.push_back(&row);
  std::ranges::sort(order, {}, [](const report::WorkloadRow* row) { return row->composed->total(); });
  double to_come = 0;
  for (const report::WorkloadRow* row : order) to_come += row->composed->total();
  for (report::WorkloadRow* row : order) {
    const double expected = row->composed->total();
    if (expected * 1.15 > left()) break;
    progress_.say(fmt::format("Running {}", row->workload.name), in_all(to_come));
    const auto repetitions = static_cast<uint32_t>(
        std::clamp(std::min(left() / 6, kRepeatedSeconds) / expected, 1.0, double{kMostRepetitions}));
    row->measured = TRY(workload(row->workload, repetitions));
    if (stop(report, "before all workloads were run")) break;
    to_come -= expected;
  }
  return {};
}

Result<> Measurement::ledger(report::BenchReport& report) {
  Engine& engine = meter_.engine();
  // At 4k where that was measured: neither the shallowest nor the deepest.
  uint32_t depth = 0;
  for (const report::DepthRow& row : report.depths)
    if (row.depth <= 4096) depth = row.depth;
  report.ledger = make_ledger(*TRY(engine.plan_for(1, 1)), depth);
  const uint32_t chunk = report.headline_prompt;
  const Cost prompt = plan_cost(*TRY(engine.plan_for(chunk, 1)), {.t = chunk, .r = 1, .s = 0});
  report.prefill_flops = static_cast<double>(prompt.flops) / chunk;
  report.prefill_bytes =
      static_cast<double>(prompt.weight_bytes + prompt.kv_read + prompt.kv_written + prompt.state_bytes) /
      chunk;
  if (const auto tps = report.prefill_tps())
    report.prefill_ceiling =
        report::phase_ceiling(report.prefill_bytes, report.prefill_flops, report.rates, *tps);
  if (!report.speed.decode.empty())
    report.decode_ceiling = report::phase_ceiling(static_cast<double>(report.ledger->streamed()),
                                                  static_cast<double>(report.ledger->flops), report.rates,
                                                  1 / report.speed.decode.at(depth));
  if (!kept_.empty() && report.stopped.empty() && report.rates.bandwidth)
    report.losses = TRY(find_losses(meter_, kept(std::max(depth, 1u)), report.rates, kLossesShown));
  return {};
}

Result<> Measurement::run(const ModelFlags& flags, report::BenchReport& report) {
  report.head = TRY(head_facts(meter_, flags));
  const Neighbours meanwhile;
  if (!stop(report, "before anything was measured")) TRY_VOID(probe(report));
  if (!stop(report, "after the probes")) TRY_VOID(curves(report));
  if (report.stopped.empty()) TRY_VOID(overhead(report));
  TRY_VOID(workloads(report));
  if (report.stopped.empty()) TRY_VOID(probe(report));
  TRY_VOID(ledger(report));
  add_noise_facts(report, plan_.rounds, meanwhile.share(), timer_cost());
  progress_.clear();
  return {};
}

}  // namespace brass::app
