// Replies from any bytes, in every format of the table: the same message for every cut, complete calls with JSON for
// arguments, never a crash. The first byte chooses the format, the second how the text is cut.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "text/calls/parser.h"

namespace {

using namespace brass::calls;

bool same(const ParsedMessage& a, const ParsedMessage& b) {
  if (a.content != b.content || a.reasoning != b.reasoning || a.calls.size() != b.calls.size()) return false;
  for (size_t i = 0; i < a.calls.size(); i++)
    if (a.calls[i].name != b.calls[i].name || a.calls[i].arguments != b.calls[i].arguments) return false;
  return true;
}

ToolSet tools() {
  return ToolSet(nlohmann::ordered_json::parse(
      R"([{"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}}])"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  static const ToolSet kTools = tools();
  const auto rows = table();
  CallFormat format = rows[data[0] % rows.size()].format;
  format.reasoning = {"<think>", "</think>"};
  const ParserOptions options{(data[1] & 1) != 0, 0};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const ParsedMessage whole = parse_reply(format, kTools, options, text);
  const size_t step = 1 + (data[1] >> 1) % 7;
  CallParser parser(format, kTools, options);
  for (size_t at = 0; at < text.size(); at += step) parser.feed(text.substr(at, step));
  parser.finish();
  if (!same(whole, parser.message())) std::abort();
  for (const ParsedCall& call : whole.calls) {
    // Bytes that are no UTF-8 come out as they went in.
    const auto parsed = nlohmann::json::parse(call.arguments, nullptr, false);
    bool ascii = true;
    for (const char c : call.arguments) ascii = ascii && (c & 0x80) == 0;
    if (ascii && !parsed.is_object()) std::abort();
  }
  return 0;
}
