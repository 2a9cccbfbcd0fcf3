// Sets of strings: lists of values, and regular languages.
//
// Owns: StringSets, closed under and, or, not. Must not know: schemas, grammars. Invariants: a list stays a list where
// it can; equal lists have equal ids, and there is one empty set, so emptiness is exact unless the arena is exhausted().
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "text/grammar/regex.h"

namespace brass::grammar::schema {

using StringId = int32_t;

class StringSets {
 public:
  explicit StringSets(RegexArena& arena);

  StringId none() const { return none_; }
  StringId all() const { return all_; }
  StringId values(std::vector<std::string> values);
  StringId language(RegexId regex);

  StringId both(StringId a, StringId b);
  StringId either(std::span<const StringId> parts);
  StringId outside(StringId a);

  const std::vector<std::string>* finite(StringId id) const;
  RegexId regex(StringId id);
  bool is_none(StringId id) const { return id == none_; }
  bool contains(StringId id, std::string_view text);
  bool matches(RegexId regex, std::string_view text);

 private:
  RegexId any_literal(const std::vector<std::string>& values);

  struct Set {
    bool finite = false;
    std::vector<std::string> values;  // sorted
    RegexId regex = -1;
  };

  RegexArena& arena_;
  std::deque<Set> sets_;  // what was handed out by reference stays where it is
  std::map<std::vector<std::string>, StringId> by_values_;
  std::map<RegexId, StringId> by_regex_;
  StringId none_ = 0, all_ = 0;
};

}  // namespace brass::grammar::schema
