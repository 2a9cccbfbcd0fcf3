// The report for programs: plain numbers in seconds, bytes and tokens a second; what is missing is null or absent.
#include <nlohmann/json.hpp>

#include "report/bench_report.h"

namespace brass::report {
namespace {

using Json = nlohmann::ordered_json;

Json phases_json(const Phases& p) {
  return {{"prefill_s", p.prefill},
          {"decode_s", p.decode},
          {"total_s", p.total()},
          {"prefill_share", p.prefill_share()}};
}

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json interval_json(const Interval& i) { return {{"low", i.low}, {"middle", i.middle}, {"high", i.high}}; }

// Of one token in each of these seconds.
Json interval_tps(const std::vector<double>& seconds) {
  if (seconds.empty()) return {};
  const std::vector<double> one = {1.0};
  return interval_json(ratio_interval(one, seconds));
}

Json overhead_json(const Overhead& overhead) {
  return {{"share", interval_json(overhead_share(overhead))},
          {"clock_share", overhead.clock_share},
          {"with_s", overhead.with},
          {"without_s", overhead.without}};
}

Json curve_json(const Curve& curve) {
  Json points = Json::array();
  for (const CurvePoint& p : curve.points())
    points.push_back({{"depth", p.depth}, {"seconds_a_token", p.seconds}});
  Json out{{"points", points}};
  if (curve.fit())
    out["fit"] = {{"a_s", interval_json(curve.fit()->a)},
                  {"b_s_a_position", interval_json(curve.fit()->b)},
                  {"largest_residual", curve.fit()->worst_residual}};
  return out;
}

Json depths_json(const BenchReport& report) {
  Json out = Json::array();
  for (const DepthRow& d : report.depths)
    out.push_back(
        {{"depth", d.depth},
         {"decode_s_a_token", d.decode},
         {"decode_tps", d.decode.empty() ? Json() : Json(1 / median(d.decode))},
         {"decode_interval_tps", interval_tps(d.decode)},
         {"decode_rounds_far_off", far_off(d.decode)},
         {"prefill_tps", report.speed.prefill.empty() ? Json() : Json(1 / report.speed.prefill.at(d.depth))},
         {"ttft_warm_s", optional_json(d.ttft_warm)},
         {"ttft_cached_s", d.ttft_cached},
         {"others_share_of_processors", d.disturbance}});
  return out;
}

Json workload_json(const WorkloadRow& row) {
  Json out{{"name", row.workload.name},
           {"prompt", row.workload.prompt},
           {"reply", row.workload.reply},
           {"kind", row.measured ? "measured" : row.composed ? "composed" : "none"},
           {"extrapolated", row.extrapolated},
           {"fits_context", row.fits}};
  if (row.composed) out["composed"] = phases_json(*row.composed);
  if (row.composed_cached) out["composed_prefix_cached"] = phases_json(*row.composed_cached);
  if (row.measured_cached) out["measured_prefix_cached"] = phases_json(*row.measured_cached);
  if (row.measured) {
    const MeasuredWorkload& m = *row.measured;
    out["measured"] = phases_json(m.phases);
    out["measured"]["ttft_s"] = m.ttft;
    out["measured"]["latency_s"] = {{"p50", m.latency_p50}, {"p95", m.latency_p95}, {"p99", m.latency_p99}};
    out["measured"]["repetitions"] = m.repetitions;
  }
  if (const auto best = row.best())
    out["saved_s"] = {{"prefill_2x", saved_by_prefill(*best, 2)},
                      {"decode_2x", saved_by_decode(*best, 2)},
                      {"prefix_cached", row.cached() ? Json(best->prefill - row.cached()->prefill) : Json()}};
  return out;
}

Json ledger_json(const Ledger& l) {
  Json weights = Json::array();
  for (const LedgerRow& row : l.weights)
    weights.push_back({{"group", row.group}, {"type", row.type}, {"bytes", row.bytes}});
  return {{"depth", l.depth},
          {"weights", weights},
          {"kv_read_bytes", l.kv_read},
          {"kv_written_bytes", l.kv_written},
          {"state_bytes", l.state},
          {"activation_bytes", l.activations},
          {"streamed_bytes", l.streamed()},
          {"flops", l.flops}};
}

Json ceiling_json(const std::optional<PhaseCeiling>& c) {
  if (!c) return {};
  return {{"bound", c->bound},
          {"ceiling_tps", c->ceiling_tps},
          {"achieved_tps", c->achieved_tps},
          {"achieved", c->achieved()}};
}

Json outcome_json(const std::optional<LeverOutcome>& o) {
  if (!o) return {};
  return {{"prefill_tps", o->prefill_tps}, {"decode_tps", o->decode_tps}, {"seconds", o->seconds}};
}

Json lever_json(const Lever& l) {
  Json out{{"name", l.name}, {"change", l.change}};
  if (!l.unavailable.empty()) {
    out["unavailable"] = l.unavailable;
    return out;
  }
  out["bytes_saved"] = l.bytes_saved;
  out["quality"] = l.quality;
  out["assumption"] = l.assumption;
  out["predicted"] = outcome_json(l.predicted);
  out["prediction"] = l.predicted ? Json(prediction_text(l)) : Json();
  out["prediction_sha256"] = l.prediction_sha256;
  out["measured"] = outcome_json(l.measured);
  const auto off = off_by(l);
  out["off_by"] = off ? Json(off->seconds) : Json();
  out["off_by_prefill_tps"] = off ? Json(off->prefill_tps) : Json();
  out["off_by_decode_tps"] = off ? Json(off->decode_tps) : Json();
  return out;
}

Json level_json(const ServedLevel& l) {
  Json out{{"workload", {{"prompt", l.workload.prompt}, {"reply", l.workload.reply}}},
           {"concurrency", l.at_once},
           {"prompt_tokens", l.prompt_tokens},
           {"reply_tokens", l.reply_tokens},
           {"tokens_counted_by_server", l.server_counts},
           {"seconds", l.seconds},
           {"ttft_s", l.ttft},
           {"ttft_repeated_prompt_s", l.repeated_ttft},
           {"prefill_tps", l.prefill_tps},
           {"decode_tps", l.decode_tps},
           {"errors", l.errors}};
  if (!l.gaps.empty())
    out["latency_s"] = {{"p50", percentile(l.gaps, 0.5)},
                        {"p95", percentile(l.gaps, 0.95)},
                        {"p99", percentile(l.gaps, 0.99)}};
  return out;
}

Json rounds_json(const BenchReport& report) {
  const auto deep = report.deep_crossover();
  return {{"headline_prompt", report.headline_prompt},
          {"prefill_s", report.headline_prefill},
          {"prefill_rounds_far_off", far_off(report.headline_prefill)},
          {"cold_ttft_s", optional_json(report.cold_ttft)},
          {"prefill_tps", optional_json(report.prefill_tps())},
          {"decode_tps", optional_json(report.decode_tps())},
          {"crossover", optional_json(report.shallow_crossover())},
          {"crossover_deep", deep ? Json{{"depth", deep->depth}, {"ratio", deep->ratio}} : Json()}};
}

}  // namespace

std::string report_json(const BenchReport& report) {
  Json head = Json::object(), workloads = Json::array(), losses = Json::array(), levers = Json::array();
  for (const Fact& fact : report.head) head[fact.key] = fact.value;
  for (const WorkloadRow& row : report.workloads) workloads.push_back(workload_json(row));
  for (const StepLoss& loss : report.losses)
    losses.push_back({{"step", loss.step}, {"seconds", loss.seconds}, {"least_seconds", loss.least}});
  for (const Lever& lever : report.levers) levers.push_back(lever_json(lever));
  Json out{{"format", "brass bench 1"},
           {"complete", report.stopped.empty()},
           {"stopped", report.stopped},
           {"head", head},
           {"numbers", rounds_json(report)},
           {"curves",
            {{"prefill", curve_json(report.speed.prefill)},
             {"decode", curve_json(report.speed.decode)},
             {"first_token_s", report.speed.first_token}}},
           {"depths", depths_json(report)},
           {"workloads", workloads}};
  if (report.logged)
    out["requests"] = {{"file", report.logged->file},
                       {"count", report.logged->count},
                       {"prefill_bound", report.logged->prefill_bound},
                       {"phases", phases_json(report.logged->phases)}};
  for (const ServedLevel& level : report.served) out["levels"].push_back(level_json(level));
  if (report.overhead) out["cost_of_measuring"] = overhead_json(*report.overhead);
  if (report.ledger) out["ledger"] = ledger_json(*report.ledger);
  out["prefill_token"] = {{"flops", report.prefill_flops}, {"bytes", report.prefill_bytes}};
  out["rates"] = {{"bandwidth_bytes_s", optional_json(report.rates.bandwidth)},
                  {"int8_ops_s", optional_json(report.rates.int8_ops)},
                  {"f32_ops_s", optional_json(report.rates.f32_ops)}};
  out["ceilings"] = {{"prefill", ceiling_json(report.prefill_ceiling)},
                     {"decode", ceiling_json(report.decode_ceiling)}};
  out["losses"] = losses;
  out["lever_workload"] = report.lever_workload;
  out["levers"] = levers;
  out["notes"] = report.notes;
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace brass::report
