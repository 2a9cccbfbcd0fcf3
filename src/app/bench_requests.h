// Requests that a user logged, and where they sit.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/bench_report.h"

namespace brass::app {

// JSON lines, each an object with the tokens of a prompt and its reply: prompt_tokens and completion_tokens, by
// themselves or inside "usage" (as servers log them), or "prompt" and "reply" as numbers. Errors name the line.
Result<std::vector<report::Workload>> read_requests(const std::string& path);
Result<report::Workload> parse_request(std::string_view line);

report::LoggedRequests sum_requests(const std::string& path, const std::vector<report::Workload>& requests,
                                    const report::Speed& speed);

}  // namespace brass::app
