// What a user does with a model: a prompt of so many tokens, a reply of so many.
//
// Owns: the five named workloads, how a workload is written ("16k/1k"; k = 1024 tokens).
// Must not know: models, clocks.
// Invariants: prompt >= 1 and reply >= 1 token.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace brass::report {

struct Workload {
  std::string name;
  uint32_t prompt = 1, reply = 1;  // tokens
  uint32_t positions() const { return prompt + reply; }
};

// short-chat 256/512, chat-turn 2k/2k, code-review 16k/1k, rag-answer 32k/512, doc-summary 32k/256.
std::span<const Workload> named_workloads();

// "16k/1k", "300/40", or a name of the five. The error lists the names.
Result<Workload> parse_workload(std::string_view text);
// "256", "16k": whole multiples of 1024 are written with a k.
std::string format_tokens(uint32_t tokens);
std::string format_shape(const Workload& workload);  // "16k/1k"

}  // namespace brass::report
