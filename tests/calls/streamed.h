// The message that a client makes of deltas, checked against OpenAI's rules on the way.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/calls/parser.h"

namespace brass::calls {

inline void add_deltas(const std::vector<Delta>& deltas, ParsedMessage& out,
                       std::map<int, ParsedCall>& begun) {
  for (const Delta& delta : deltas) {
    switch (delta.kind) {
      case Delta::Kind::kContent:
        out.content += delta.text;
        break;
      case Delta::Kind::kReasoning:
        out.reasoning += delta.text;
        break;
      case Delta::Kind::kCallBegin:
        EXPECT_FALSE(begun.contains(delta.index)) << "an index is used twice";
        EXPECT_FALSE(delta.id.empty() || delta.name.empty());
        begun[delta.index] = {delta.id, delta.name, ""};
        break;
      case Delta::Kind::kArguments:
        EXPECT_TRUE(begun.contains(delta.index));
        begun[delta.index].arguments += delta.text;
        break;
      case Delta::Kind::kCallEnd:
        EXPECT_TRUE(nlohmann::json::accept(begun[delta.index].arguments)) << begun[delta.index].arguments;
        out.calls.push_back(begun[delta.index]);
        break;
      case Delta::Kind::kCallDropped:
        begun[delta.index].name.clear();
        break;
    }
  }
}

// The text in pieces that end at `cuts` (sorted).
inline ParsedMessage stream(const CallFormat& format, const ToolSet& tools, const ParserOptions& options,
                            std::string_view text, const std::vector<size_t>& cuts) {
  CallParser parser(format, tools, options);
  ParsedMessage out;
  std::map<int, ParsedCall> begun;
  size_t at = 0;
  for (const size_t cut : cuts) {
    add_deltas(parser.feed(text.substr(at, cut - at)), out, begun);
    at = cut;
  }
  add_deltas(parser.feed(text.substr(at)), out, begun);
  add_deltas(parser.finish(), out, begun);
  return out;
}

inline std::string text_of(const ParsedMessage& message) {
  std::string out = "content: " + message.content + "\nreasoning: " + message.reasoning + "\n";
  for (const ParsedCall& call : message.calls) out += call.id + " " + call.name + " " + call.arguments + "\n";
  return out;
}

}  // namespace brass::calls
