// What a server gave to so many clients at once, as they saw it.
//
// Owns: the figures of one level of concurrency, their forms for people and programs. Must not know: sockets.
// Invariants: a time to the first token holds the network and the server's queue; a rate of prefill comes from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/workload.h"

namespace brass::report {

struct ServedLevel {
  Workload workload;
  uint32_t at_once = 1;
  std::vector<double> ttft, decode;  // seconds, one a request: to the first text, from there to the last
  std::vector<double> gaps;          // seconds between chunks of text
  std::vector<double> prefill_tps, decode_tps;  // one a request that has them
  std::vector<double> repeated_ttft;            // the same prompt again
  uint64_t prompt_tokens = 0, reply_tokens = 0;
  bool server_counts = true;  // else chunks were counted
  double seconds = 0;         // from the first request to the last byte, rounds added up
  std::vector<std::string> errors;
};

std::string served_text(const std::vector<ServedLevel>& levels);
// Cells of a table, the names first.
std::vector<std::vector<std::string>> served_table(const std::vector<ServedLevel>& levels);

}  // namespace brass::report
