#include "report/bench_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/compare.h"
#include "report/saved_report.h"
#include "report/workload.h"

namespace brass::report {
namespace {

using Json = nlohmann::json;

// A machine with prefill 1000 tok/s and decode 100 tok/s at any depth.
BenchReport full_report() {
  BenchReport r;
  r.head = {{"model", "tiny <&\"> model"},
            {"weights sha256", "aa"},
            {"prompt sha256", "bb"},
            {"device", "cpu"},
            {"driver", "none"}};
  r.headline_prompt = 512;
  r.headline_prefill = {0.512, 0.510, 0.514, 0.512, 0.513};
  r.cold_ttft = 0.7;
  r.speed = {Curve({{256, {1e-3}}, {2000, {1e-3}}}), Curve({{16, {10e-3}}, {4096, {10e-3}}}), 0};
  r.depths = {{.depth = 0, .decode = {10e-3, 10.1e-3, 9.9e-3, 10e-3, 10e-3}, .ttft_cached = {}},
              {.depth = 4096,
               .decode = {10e-3, 10.1e-3, 9.9e-3, 10e-3, 10e-3},
               .ttft_cached = {0.01},
               .ttft_warm = 4.1}};
  for (const Workload& w : named_workloads()) {
    WorkloadRow row{.workload = w};
    row.composed = compose(r.speed, w);
    row.composed_cached = compose(r.speed, w, w.prompt - 1);
    row.extrapolated = extrapolated(r.speed, w);
    r.workloads.push_back(row);
  }
  r.workloads[0].measured = MeasuredWorkload{
      .phases = {0.25, 5.2}, .ttft = 0.26, .latency_p50 = 0.01, .latency_p95 = 0.012, .latency_p99 = 0.02};
  r.ledger = Ledger{.depth = 4096,
                    .weights = {{"feed-forward", "Q4_K", 700}, {"output head", "Q6_K", 200}},
                    .kv_read = 90,
                    .kv_written = 10,
                    .flops = 5};
  r.rates = {.bandwidth = 1e5, .int8_ops = 1e9, .f32_ops = 1e8};
  r.overhead = Overhead{.with = {1.001, 1.002, 1.0, 1.001}, .without = {1, 1, 1, 1}, .clock_share = 3e-6};
  r.decode_ceiling = phase_ceiling(1000, 5, r.rates, 50);
  Lever lever;
  lever.name = "kv-int8", lever.change = "int8",
  lever.predicted = LeverOutcome{.decode_tps = 1, .prefill_tps = 2, .seconds = 6};
  lever.measured = LeverOutcome{.decode_tps = 1, .prefill_tps = 2, .seconds = 5};
  lever.prediction_sha256 = "cafe";
  r.levers = {lever};
  r.lever_workload = "chat-turn 2k/2k";
  return r;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(BenchReport, SaysWhatWasMeasuredAndWhatWasComposed) {
  const std::string text = report_text(full_report(), 100, false);
  EXPECT_TRUE(has(text, "measured (composed 5.37 s, -1.5 %)")) << text;
  EXPECT_TRUE(has(text, "composed, extrapolated")) << text;
  EXPECT_TRUE(has(text, "10.0 times the reply")) << text;
  EXPECT_TRUE(has(text, "MORE THAN 10 %")) << text;
  EXPECT_TRUE(has(text, "feed-forward")) << text;
  EXPECT_TRUE(has(text, "70.0 %")) << "of what is streamed: " << text;
  EXPECT_FALSE(has(text, "PARTIAL"));
}

TEST(BenchReport, RoundsFarOffAreNamedEverywhere) {
  BenchReport r = full_report();
  r.headline_prefill[2] = 0.9;
  r.depths[1].decode[0] = 30e-3;
  const std::string text = report_text(r, 100, false);
  EXPECT_TRUE(has(text, "tokens into an empty context  1 of 5 rounds far off")) << text;
  EXPECT_TRUE(has(report_html(r), "5, 1 far off"));
  const Json json = Json::parse(report_json(r));
  EXPECT_EQ(json["numbers"]["prefill_rounds_far_off"], 1);
  EXPECT_EQ(json["depths"][0]["decode_rounds_far_off"], 0);
  EXPECT_EQ(json["depths"][1]["decode_rounds_far_off"], 1);
}

TEST(BenchReport, ARowWithoutContextSaysSo) {
  BenchReport r = full_report();
  r.workloads[4].fits = false;
  EXPECT_TRUE(has(report_text(r, 100, false), "longer than the context"));
  EXPECT_TRUE(has(report_html(r), "longer than the context"));
}

TEST(BenchReport, APartialReportIsValidInEveryForm) {
  BenchReport r;
  r.stopped = "Ctrl-C during prefill";
  EXPECT_TRUE(has(report_text(r, 80, false), "PARTIAL REPORT: Ctrl-C during prefill"));
  const Json json = Json::parse(report_json(r), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["complete"], false);
  EXPECT_TRUE(json["numbers"]["prefill_tps"].is_null());
  EXPECT_TRUE(has(report_html(r), "Partial report"));
  EXPECT_TRUE(has(figure_svg(report_figure(r)), "</svg>"));
  EXPECT_TRUE(parse_saved_report(report_json(r)));
}

TEST(BenchReport, JsonHoldsTheFiguresAsNumbers) {
  const Json json = Json::parse(report_json(full_report()), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["complete"], true);
  EXPECT_NEAR(json["numbers"]["prefill_tps"].get<double>(), 1000, 1e-9);
  EXPECT_NEAR(json["numbers"]["decode_tps"].get<double>(), 100, 1e-9);
  EXPECT_EQ(json["workloads"][0]["kind"], "measured");
  EXPECT_EQ(json["workloads"][1]["kind"], "composed");
  EXPECT_NEAR(json["workloads"][1]["saved_s"]["decode_2x"].get<double>(), 2047 * 0.01 / 2, 1e-6);
  EXPECT_EQ(json["ledger"]["streamed_bytes"], 1000);
  EXPECT_NEAR(json["levers"][0]["off_by"].get<double>(), 0.2, 1e-12);
  EXPECT_NEAR(json["levers"][0]["off_by_decode_tps"].get<double>(), 0, 1e-12);
  EXPECT_EQ(json["levers"][0]["prediction_sha256"], "cafe");
  EXPECT_NEAR(json["numbers"]["crossover"].get<double>(), 10, 1e-9);
  EXPECT_NEAR(json["numbers"]["crossover_deep"]["ratio"].get<double>(), 10, 1e-9);
  EXPECT_NEAR(json["depths"][1]["prefill_tps"].get<double>(), 1000, 1e-6);
  EXPECT_NEAR(json["depths"][1]["decode_interval_tps"]["middle"].get<double>(), 100, 1e-9);
  EXPECT_NEAR(json["cost_of_measuring"]["share"]["middle"].get<double>(), 0.001, 1e-9);
}

TEST(BenchReport, MarkupIsEscapedAndNothingIsFetched) {
  for (const std::string& page : {report_html(full_report()), figure_svg(report_figure(full_report()))}) {
    EXPECT_TRUE(has(page, "tiny &lt;&amp;&quot;&gt; model"));
    EXPECT_FALSE(has(page, "<script"));
    EXPECT_FALSE(has(page, "src="));
    EXPECT_FALSE(has(page, "url("));
    EXPECT_TRUE(has(page, "prefers-color-scheme:dark"));
    EXPECT_TRUE(has(page, ">chat-turn 2k/2k</text>")) << "the figure's text is text";
  }
  EXPECT_TRUE(has(report_html(full_report()), "width=device-width"));
}

TEST(Compare, FindsADifferenceOnlyWhereThereIsOne) {
  std::vector<double> a, b, c;
  for (int i = 0; i < 12; ++i) {
    const double drift = 1 + 0.2 * i;  // what both sides of a round share
    a.push_back(drift * (1 + 0.002 * (i % 3)));
    b.push_back(drift * (1 + 0.002 * ((i + 1) % 3)));
    c.push_back(0.95 * drift * (1 + 0.002 * ((i + 2) % 3)));
  }
  EXPECT_EQ(compare_seconds(a, b, true).verdict, Verdict::kNoDifference);
  EXPECT_EQ(compare_seconds(a, c, true).verdict, Verdict::kFaster);
  EXPECT_EQ(compare_seconds(c, a, true).verdict, Verdict::kSlower);
  EXPECT_EQ(compare_seconds(a, c, false).verdict, Verdict::kNoDifference) << "unpaired, the drift hides it";
  EXPECT_TRUE(has(describe(compare_seconds(a, b, true)), "no detectable difference"));
  const std::vector<double> few = {1, 2}, faster = {0.1, 0.2};
  EXPECT_EQ(compare_seconds(few, faster, true).verdict, Verdict::kTooFewRounds);
}

TEST(Compare, SavedReportsOfTheSameKind) {
  const SavedReport a = *parse_saved_report(report_json(full_report()));
  EXPECT_TRUE(differences(a, a).empty());
  const auto figures = compare_reports(a, a);
  ASSERT_EQ(figures.size(), 3u);  // prefill, two depths
  for (const ComparedFigure& f : figures) EXPECT_EQ(f.result.verdict, Verdict::kNoDifference) << f.name;

  BenchReport other = full_report();
  for (Fact& fact : other.head)
    if (fact.key == "prompt sha256" || fact.key == "driver") fact.value = "other";
  const auto different = differences(a, *parse_saved_report(report_json(other)));
  ASSERT_EQ(different.size(), 2u);
  EXPECT_TRUE(has(different[0], "prompt sha256"));
}

TEST(Compare, RefusesWhatIsNoReport) {
  for (const char* wrong : {"", "{}", "[1]", R"({"format":"brass bench 2"})",
                            R"({"format":"brass bench 1","numbers":{"prefill_s":[-1]}})",
                            R"({"format":"brass bench 1","numbers":{"prefill_s":["x"]}})",
                            R"({"format":"brass bench 1","depths":[3]})"})
    EXPECT_FALSE(parse_saved_report(wrong)) << wrong;
}

}  // namespace
}  // namespace brass::report
