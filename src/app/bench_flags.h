// The flags of brass bench, and what it does: one function for each of its forms.
#pragma once

#include <string>
#include <vector>

#include "app/session.h"
#include "report/bench_report.h"

namespace brass::app {

struct BenchFlags {
  ModelFlags model;  // model.model: the first operand: MODEL, or what to do
  std::string second, third;
  std::string out, workload_file, a, b, budget, other, api_key;
  std::vector<std::string> workloads;
  bool full = false, json = false, levers = false, verify = false, allow_different = false;
  uint32_t seconds = 0, rounds = 0;
  std::vector<std::string> concurrency;
};

Result<> bench_model(const BenchFlags& flags);      // bench_model.cpp
Result<> bench_article(const BenchFlags& flags);    // bench_article.cpp
Result<> bench_compare(const BenchFlags& flags);    // bench_compare.cpp
Result<> bench_recommend(const BenchFlags& flags);  // bench_recommend.cpp
Result<> bench_client(const BenchFlags& flags);     // bench_client.cpp

// bench_output.cpp
// On standard output as --json asks, and report.json, report.html, figure.svg where --out says.
Result<> show_report(const BenchFlags& flags, const report::BenchReport& report);
// A file of the folder `out`, which is made if it is missing.
Result<> write_out(const std::string& out, const std::string& name, const std::string& content);

}  // namespace brass::app
