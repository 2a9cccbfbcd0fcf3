// Values as models write them, turned into JSON text as they come.
//
// Owns: read_value() and what is built of it: strings, keys, the arguments of a Python call.
// Must not know: calls, formats beyond a mark for quotes.
// Invariants: what is written is JSON (valid UTF-8 aside), or the routine returns false and what was written is
// void; JSON comes out as it went in, character by character, unless it needs mending. Taken besides JSON: Python's
// literals (True, None, '…', tuples, triple quotes, its escapes), bare keys and marks for quotes (Gemma), raw line
// breaks in strings, commas before a closing bracket. Some templates write a string between quotes as it is: a single
// quote, and any quote in the arguments of a Python call, ends a string only where a value can end. Nesting is bounded
// by kMaxJsonDepth.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/calls/routine.h"

namespace brass::calls {

struct Dialect {
  std::string quote;  // a mark that stands for quotes; keys are bare then
};

class ValueReader {
 public:
  ValueReader(Source& source, Dialect dialect) : source_(source), dialect_(std::move(dialect)) {}

  // One value, from its first byte (no blanks before it) to its last; numbers end before what is not theirs.
  Routine<bool> value(std::string& out, int depth = 0);
  // A string with its quotes, as JSON.
  Routine<bool> string(std::string& out);
  // key=value, … up to ')', which is taken. `names`: what values without a name are called, in order.
  Routine<bool> python_arguments(std::string& out, const std::vector<std::string>& names);
  Routine<bool> blanks(std::string* out = nullptr);

 private:
  Routine<bool> container(std::string& out, int depth);
  Routine<bool> key(std::string& out);
  Routine<bool> bare_key(std::string& out);
  Routine<bool> word(std::string& out);
  Routine<bool> number(std::string& out);
  Routine<std::string> identifier();
  Routine<bool> one_argument(std::string& out, const std::vector<std::string>& names, size_t index);
  // value_strings.cpp
  Routine<bool> quoted(std::string& out, char quote);
  Routine<bool> ends_here(std::string& inside, char quote, bool* ends);
  Routine<bool> marked(std::string& out);
  Routine<bool> escape(std::string& out);
  Routine<bool> unicode_escape(std::string& out);
  Routine<int32_t> hex(int digits);

  Source& source_;
  Dialect dialect_;
  bool in_python_ = false;
};

// Appends one byte of a JSON string's inside.
void put_escaped(std::string& out, char c);
std::string quoted_json(std::string_view text);

// The whole text as one value (blanks around it aside), if it is one.
std::optional<std::string> to_json(std::string_view text, const Dialect& dialect = {});
// How long the value is with which `text` begins; nothing where it is none or not complete.
std::optional<size_t> value_length(std::string_view text, const Dialect& dialect = {});

}  // namespace brass::calls
