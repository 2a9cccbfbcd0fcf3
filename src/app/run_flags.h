// The flags of brass run, and the settings that /set changes during a conversation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/grammar_flags.h"
#include "app/session.h"
#include "app/tool_flags.h"
#include "runtime/generation.h"

namespace brass::app {

struct RunFlags {
  ModelFlags model;
  std::optional<std::string> prompt;
  std::string system, ids;
  bool raw = false, greedy = false, json = false, stats = false;
  uint32_t max_tokens = 0;  // 0: until the model ends, or the context is full
  SamplingParams sampling;
  std::optional<uint64_t> seed;
  std::vector<std::string> stops, logit_bias, dry_breakers;
  GrammarFlags grammar;
  ToolFlags tools;
};

void declare_run_flags(Arguments& arguments, RunFlags& flags);
// Values that can be judged without a model. Errors name the flag and are wrong use.
Result<> check_run_flags(const RunFlags& flags);
// `tokenizer` may be null. Needs the model for ids of biases and breakers.
Result<GenerationOptions> generation_options(const RunFlags& flags, const Tokenizer* tokenizer,
                                             uint32_t vocabulary);

// A setting by name ("temperature", "top-k", …) to a new value, as text; the error lists the names.
Result<> set_by_name(RunFlags& flags, const std::string& name, const std::string& value);
std::string list_settings(const RunFlags& flags);

}  // namespace brass::app
