// Integers of more than 128 bits.
//
// Owns: LongInteger: an integer from outside that is carried, printed and compared as it is written. Must not know:
// arithmetic, which is an error with such a number (jinja_ops.h).
#pragma once

#include "text/jinja_runtime.h"

namespace brass::jinja {

class LongInteger final : public Opaque {
 public:
  explicit LongInteger(std::string text) : Opaque(nullptr), text_(std::move(text)) {}
  std::string_view type_name() const override { return "int"; }
  std::string repr() const override { return text_; }
  bool negative() const { return text_[0] == '-'; }

 private:
  std::string text_;  // digits, perhaps behind a minus; no zero leads
};

// An integer as JSON writes it.
Value integer_from_text(const std::string& text);

// Whether the value is an integer of any size, which is no truth value.
bool is_whole(const Value& value);

// As compare_numbers(), where one of them may be such an integer; nothing where one is no number.
std::optional<int> compare_any_numbers(const Value& a, const Value& b);

}  // namespace brass::jinja
