#include "app/bench_measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/bench_facts.h"
#include "app/bench_ledger.h"
#include "app/bench_machine.h"
#include "app/terminal.h"
#include "base/check.h"
#include "report/format.h"

namespace brass::app {
namespace {

// Doublings: where keys and values outgrow a cache the curve bends, and a straight line over the bend is 12 % off.
constexpr uint32_t kDepths[] = {512, 1024, 2048, 4096, 8192, 16384, 32768};
constexpr uint32_t kMostDecodeTokens = 32, kFewestDecodeTokens = 8;
constexpr double kDecodeRoundSeconds = 0.5;
constexpr uint32_t kChunksAPoint = 4;  // of the prefill curve
constexpr size_t kLossesShown = 5;

double share_or_zero(const Neighbours& neighbours) { return neighbours.share().value_or(0); }

}  // namespace

void BenchProgress::say(const std::string& what, std::optional<double> left) {
  if (!stderr_is_terminal()) return;
  const double rest = left.value_or(std::isfinite(planned_) ? std::max(0.0, planned_ - elapsed()) : 0);
  std::string line =
      rest > 0 ? fmt::format("{} … at most {} left", what, report::format_seconds(rest)) : what + " …";
  line.resize(std::min(line.size(), static_cast<size_t>(std::max(1, terminal_width() - 1))));
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
  drawn_ = true;
}

void BenchProgress::clear() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
  drawn_ = false;
}

Result<std::unique_ptr<Meter>> open_for(const ModelFlags& flags, const BenchPlan& plan) {
  const std::unique_ptr<Model> model = TRY(load_model(TRY(find_model(flags))));
  const uint32_t most = flags.context != 0 ? flags.context : model->info.context_length;
  uint32_t wanted = std::max(plan.deepest + 64, 1024u);
  for (const report::Workload& w : plan.workloads)
    if (w.positions() <= most) wanted = std::max(wanted, w.positions());
  wanted = std::min(wanted, most);
  // One sequence's keys and values are touched once, and each kept prefix shares their pages.
  const Caps caps = TRY(open_device(flags))->caps();
  double per_position = 0;
  for (const MemoryGroup& group : model->graph->groups)
    for (const KvLayer& l : group.layers)
      per_position += l.heads * (l.k_dim * caps.kv.per_k_value + l.v_dim * caps.kv.per_v_value);
  if (const auto memory = available_memory(); memory && per_position > 0) {
    const double room = static_cast<double>(*memory) * 0.5 / per_position;
    if (room < wanted) wanted = std::max(1024u, static_cast<uint32_t>(room));
  }
  return Meter::open(
      flags, {.context = std::min(wanted, most), .held = static_cast<uint32_t>(std::size(kDepths)) + 8});
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

uint32_t Measurement::decode_tokens(double seconds_a_token) const {
  return static_cast<uint32_t>(std::clamp(kDecodeRoundSeconds / seconds_a_token, double{kFewestDecodeTokens},
                                          double{kMostDecodeTokens}));
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
    report.notes.push_back("No ceilings: " + probe.error().message + ".");
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

// A prompt of one step, whole (with its first token) and as the inside of a longer one, in turns.
Result<> Measurement::headline(report::BenchReport& report) {
  const uint32_t tokens = std::min(Meter::kChunk, meter_.context() / 2);
  report.headline_prompt = tokens;
  progress_.say("The first prompt");
  report.cold_ttft = TRY(meter_.request(tokens, 1)).ttft;
  const bool whole = tokens == Meter::kChunk;
  std::vector<double> inner;
  const double begin = progress_.elapsed();
  for (uint32_t i = 0; i < plan_.rounds; i++) {
    if (i >= 3 && progress_.elapsed() - begin > plan_.seconds * 0.2) break;
    progress_.say("Prefill");
    report.headline_prefill.push_back(TRY(meter_.request(tokens, 1)).prefill);
    if (whole) inner.push_back(TRY(meter_.inner_chunk(tokens)));
    if (stop(report, "during prefill")) break;
  }
  std::vector<double> each = whole ? inner : report.headline_prefill;
  for (double& s : each) s /= tokens;
  prefill_points_.push_back({tokens / 2.0, each});
  report.speed.prefill = report::Curve(prefill_points_);
  if (whole)
    report.speed.first_token = std::max(0.0, report::median(report.headline_prefill) - report::median(inner));
  return {};
}

// One sequence grows from depth to depth; its steps are the prefill curve, and a copy is kept at each depth.
Result<> Measurement::walk(report::BenchReport& report) {
  const SequenceId base = TRY(meter_.engine().create_sequence());
  double since_start = 0;
  uint32_t at = 0;
  for (const uint32_t depth : depths()) {
    const double expected = report.speed.prefill.sum(at, depth);
    if (at > 0 && progress_.elapsed() + expected > plan_.seconds * 0.5) {
      report.notes.push_back(
          fmt::format("Depths from {} on were not measured: {} more of prefill, beyond the time for this "
                      "report (--full measures them).",
                      report::format_tokens(depth), report::format_seconds(expected)));
      break;
    }
    std::vector<Chunk> chunks;
    // In pieces, so that an interrupt is seen.
    for (uint32_t next = at; next < depth;) {
      next = std::min(depth, next + kChunksAPoint * Meter::kChunk);
      progress_.say(
          fmt::format("Prefill to a depth of {}", report::format_tokens(depth)),
          std::isfinite(plan_.seconds) ? std::nullopt : std::optional(report.speed.prefill.sum(next, depth)));
      const std::vector<Chunk> piece = TRY(meter_.extend(base, next));
      double seconds = 0;
      uint32_t tokens = 0, first = piece.front().begin;
      for (const Chunk& chunk : piece) since_start += chunk.seconds;
      // The first step of all was measured in rounds already.
      for (const Chunk& chunk : piece)
        if (chunk.begin > 0)
          seconds += chunk.seconds, tokens += chunk.tokens;
        else
          first = chunk.tokens;
      if (tokens > 0) prefill_points_.push_back({first + tokens / 2.0, {seconds / tokens}});
      if (stop(report, "during prefill over depth")) break;
    }
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

Result<> Measurement::decode_rounds(report::BenchReport& report) {
  report.depths.insert(report.depths.begin(), report::DepthRow{.depth = 0, .decode = {}, .ttft_cached = {}});
  std::vector<uint32_t> tokens;
  const double begin = progress_.elapsed();
  for (uint32_t round = 0; round <= plan_.rounds;
       round++) {  // the first one warms up, and says how long a token takes
    if (round > 3 && progress_.elapsed() - begin > plan_.seconds * 0.3) break;
    for (size_t i = 0; i < report.depths.size(); i++) {
      report::DepthRow& row = report.depths[i];
      progress_.say(fmt::format("Decode, round {} of {}, depth {}", std::max(1u, round), plan_.rounds,
                                report::format_tokens(row.depth)));
      const Neighbours meanwhile;
      const uint32_t n = round == 0 ? kFewestDecodeTokens : tokens[i];
      const Request r =
          TRY(i == 0 ? meter_.request(1, n + 1) : meter_.request_behind(kept_[i - 1].second, n + 1));
      if (r.gaps.empty()) continue;  // the context ended
      const double each = r.decode() / static_cast<double>(r.gaps.size());
      if (round == 0) {
        tokens.push_back(decode_tokens(each));
        if (tokens.size() < i + 1) return fail("no token was decoded at a depth of {}", row.depth);
      } else {
        row.decode.push_back(each);
        if (i > 0) row.ttft_cached.push_back(r.ttft);
        if (r.decode() > 0.3) row.disturbance = std::max(row.disturbance, share_or_zero(meanwhile));
      }
      if (stop(report, "during decode")) break;
    }
    if (!report.stopped.empty()) break;
  }
  std::vector<report::CurvePoint> points;
  for (size_t i = 0; i < report.depths.size(); i++)
    if (!report.depths[i].decode.empty())
      points.push_back({report.depths[i].depth + 1 + tokens[i] / 2.0, report.depths[i].decode});
  report.speed.decode = report::Curve(std::move(points));
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

Result<report::MeasuredWorkload> Measurement::workload(const report::Workload& w, uint32_t repetitions) {
  std::vector<double> prefill, decode, ttft, gaps;
  for (uint32_t i = 0; i < repetitions; i++) {
    const Request r = TRY(meter_.request(w.prompt, w.reply));
    prefill.push_back(r.prefill);
    decode.push_back(r.decode());
    ttft.push_back(r.ttft);
    gaps.insert(gaps.end(), r.gaps.begin(), r.gaps.end());
  }
  if (gaps.empty()) gaps.push_back(0);
  return report::MeasuredWorkload{.phases = {report::median(prefill), report::median(decode)},
                                  .ttft = report::median(ttft),
                                  .latency_p50 = report::percentile(gaps, 0.5),
                                  .latency_p95 = report::percentile(gaps, 0.95),
                                  .latency_p99 = report::percentile(gaps, 0.99),
                                  .repetitions = repetitions};
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
  if (!plan_.measure_workloads) return {};
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
    if (stop(report, "before all workloads were run")) break;
    progress_.say(fmt::format("Running {}", row->workload.name),
                  std::isfinite(plan_.seconds) ? std::nullopt : std::optional(to_come));
    const auto repetitions = static_cast<uint32_t>(std::clamp(left() / 6 / expected, 1.0, 3.0));
    row->measured = TRY(workload(row->workload, repetitions));
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
  report.head = head_facts(meter_, flags);
  const Neighbours meanwhile;
  TRY_VOID(probe(report));
  if (!stop(report, "after the probes")) TRY_VOID(curves(report));
  TRY_VOID(workloads(report));
  if (report.stopped.empty()) TRY_VOID(probe(report));
  TRY_VOID(ledger(report));
  add_noise_facts(report, plan_.rounds, meanwhile.share(), timer_cost());
  progress_.clear();
  return {};
}

}  // namespace brass::app
