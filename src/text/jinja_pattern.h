// Regular expressions that filters are defined by.
//
// Owns: Pattern: a compiled expression over UTF-8, with Unicode's classes. Must not know: values, filters.
// Invariants: work is bounded: a match that takes too many tries is an error. Patterns are ours, never a
// template's.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace brass::jinja {

class Pattern {
 public:
  // `source` in PCRE2's extended syntax: white space in it means nothing.
  explicit Pattern(std::string_view source, bool ignore_case = false);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // The first match at or after byte `from`, as [begin, end).
  Result<std::optional<std::pair<size_t, size_t>>> find(std::string_view subject, size_t from) const;
  Result<bool> matches(std::string_view subject) const { return TRY(find(subject, 0)).has_value(); }

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace brass::jinja
