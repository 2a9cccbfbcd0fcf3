// A server's figures as the report shows them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/bench_report.h"

namespace brass::report {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

BenchReport served_report() {
  BenchReport r;
  r.head = {{"model", "theirs"}};
  r.served = {{.workload = {"1k/20", 1024, 20},
               .at_once = 1,
               .ttft = {0.5},
               .decode = {0.38},
               .gaps = {0.02, 0.02, 0.04},
               .prefill_tps = {2048},
               .decode_tps = {50},
               .repeated_ttft = {0.02},
               .prompt_tokens = 1024,
               .reply_tokens = 20,
               .seconds = 1,
               .errors = {}},
              {.workload = {"1k/20", 1024, 20},
               .at_once = 4,
               .ttft = {},
               .decode = {},
               .gaps = {},
               .prefill_tps = {},
               .decode_tps = {},
               .repeated_ttft = {},
               .server_counts = false,
               .errors = {"http://x: out of <patience>"}}};
  WorkloadRow row{.workload = {"1k/20", 1024, 20}};
  row.measured = MeasuredWorkload{.phases = {0.5, 0.38}, .ttft = 0.5};
  row.measured_cached = Phases{0.02, 0.38};
  r.workloads = {row};
  return r;
}

TEST(Served, EveryFormHasEveryLevel) {
  const BenchReport r = served_report();
  const std::string text = report_text(r, 100, false), html = report_html(r);
  EXPECT_TRUE(has(text, "1k/20 1k/20, 1 at once: 1024 prompt and 20 reply tokens")) << text;
  EXPECT_TRUE(has(text, "500 ms (p95 500 ms), 20.0 ms for the same prompt again")) << text;
  EXPECT_TRUE(has(text, "in all 20.0 tok/s of replies")) << text;
  EXPECT_TRUE(has(text, "chunks: the server counts none")) << text;
  EXPECT_TRUE(has(text, "failed: http://x")) << text;
  EXPECT_TRUE(has(html, "Requests at once"));
  EXPECT_TRUE(has(html, "<td>4</td><td></td>")) << "nothing stands where nothing was seen";
  const auto json = nlohmann::json::parse(report_json(r));
  EXPECT_EQ(json["levels"].size(), 2u);
  EXPECT_EQ(json["levels"][0]["latency_s"]["p50"], 0.02);
  EXPECT_FALSE(json["levels"][1].contains("latency_s"));
}

TEST(Served, ARepeatedPromptIsItsPrefixCached) {
  const auto json = nlohmann::json::parse(report_json(served_report()));
  EXPECT_NEAR(json["workloads"][0]["saved_s"]["prefix_cached"].get<double>(), 0.48, 1e-12);
  EXPECT_EQ(json["workloads"][0]["kind"], "measured");
}

}  // namespace
}  // namespace brass::report
