// How values are written: str(), repr() and JSON.
//
// Owns: Python's str and repr of every value, the shortest form of floats, json.dumps as `tojson` calls it,
// HTML escapes. Must not know: syntax trees, filters. Invariants: provenance is kept: text of strings is as
// trusted as the string; punctuation, numbers and names are as trusted as the value that holds them (input is
// not).
#pragma once

#include "text/jinja_runtime.h"

namespace brass::jinja {

std::string float_repr(double value);  // repr(float): shortest that reads back, exponent as Python's
std::string int_repr(Int value);

Result<> append_str(Runtime& rt, Text& out, const Value& value);
Result<> append_repr(Runtime& rt, Text& out, const Value& value);
Result<Text> to_text(Runtime& rt, const Value& value);  // str()

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<Text> indent;  // one level; absent: all on one line
  Text item_separator = Text(", ", true);
  Text key_separator = Text(": ", true);
};
Result<> append_json(Runtime& rt, Text& out, const Value& value, const JsonStyle& style);

// & < > ' " as HTML entities.
Text escape_html(const Text& text);
// The value as HTML: Markup as it is, all else escaped.
Result<Text> to_html(Runtime& rt, const Value& value);

}  // namespace brass::jinja
