// A report read back from its JSON, for comparison with another.
//
// Owns: what two reports must share, which of their figures can be compared.
// Invariants: only rounds that were measured are compared, never composed figures.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/compare.h"

namespace brass::report {

struct SavedReport {
  std::map<std::string, std::string> head;
  uint32_t headline_prompt = 0;
  std::vector<double> prefill;                     // seconds of the headline prompt
  std::map<uint32_t, std::vector<double>> decode;  // depth → seconds a token
};

Result<SavedReport> parse_saved_report(std::string_view json);

// "prompt sha256 (1a2b… and 3c4d…)" for each fact of kIdentity that differs.
std::vector<std::string> differences(const SavedReport& a, const SavedReport& b);

struct ComparedFigure {
  std::string name;
  double tokens;             // that one round's seconds are of
  std::vector<double> a, b;  // seconds
  Comparison result;
};
std::vector<ComparedFigure> compare_reports(const SavedReport& a, const SavedReport& b);

}  // namespace brass::report
