// Reads a reply as it comes: content, reasoning, tool calls.
//
// Owns: CallParser. Must not know: templates, tokens, HTTP.
// Invariants: the message is the same for every cut of the text into pieces; nothing of the text is lost but marks,
// blanks around them, and what a format says is not meant for the reader; what is no call in the format is text. Text
// that ends inside a call never makes it complete: it is text. No text is an error. What is held back is what may
// belong to a mark, and blanks before it. Work is linear in the text (texts that fail again and again are bounded).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/calls/format.h"
#include "text/calls/message.h"
#include "text/calls/tools.h"

namespace brass::calls {

struct ParserOptions {
  bool in_reasoning = false;  // the prompt ends inside a fence of reasoning
  uint64_t id_seed = 0;       // for calls whose format writes no ids
};

class CallParser {
 public:
  CallParser(CallFormat format, ToolSet tools, const ParserOptions& options = {});
  ~CallParser();
  CallParser(CallParser&&) noexcept;
  CallParser& operator=(CallParser&&) noexcept;

  std::vector<Delta> feed(std::string_view text);
  std::vector<Delta> finish();  // once, at the end of the text
  const ParsedMessage& message() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

ParsedMessage parse_reply(const CallFormat& format, const ToolSet& tools, const ParserOptions& options,
                          std::string_view text);

}  // namespace brass::calls
