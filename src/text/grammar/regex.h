// Regular languages of strings of Unicode code points, closed under and, or, not.
//
// Owns: the expressions (shared and simplified, so that equal ones have equal ids), their derivatives, the parser of
// patterns. Must not know: grammars, JSON, tokens. Invariants: an id stays valid as long as its arena; nothing is
// evaluated until a derivative is asked for, so an expression with a large count or an intersection costs nothing
// until it is used.
//
// Theory: Brzozowski, Derivatives of regular expressions (1964); Owens, Reppy, Turon, Regular-expression derivatives
// re-examined (2009).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace brass::grammar {

using RegexId = int32_t;

// Sorted, disjoint, inclusive ranges of code points (0 … 0x10FFFF without surrogates).
using CodePoints = std::vector<std::pair<char32_t, char32_t>>;

enum class RegexSyntax : uint8_t {
  kEcma,  // JSON Schema's `pattern`: ECMA-262 with the u flag; matches anywhere in the text unless anchored
  kFull,  // the same, but the whole text must match (a grammar's /…/)
};

class RegexArena {
 public:
  RegexArena();
  ~RegexArena();

  RegexId nothing();  // the empty set
  RegexId empty();    // the empty string only
  RegexId all();      // every string
  RegexId literal(std::string_view utf8);
  RegexId set(CodePoints points);
  RegexId concat(std::span<const RegexId> parts);
  RegexId any_of(std::span<const RegexId> parts);
  RegexId all_of(std::span<const RegexId> parts);
  RegexId without(RegexId language, RegexId removed);
  RegexId negate(RegexId language);
  RegexId repeat(RegexId body, int min, int max);  // max -1: no bound

  // Errors name what is not supported (back-references, look-around that is not an anchor, unknown classes, counts
  // that are out of order) and where. Bounded in nesting and size.
  Result<RegexId> parse(std::string_view pattern, RegexSyntax syntax);

  bool matches_empty(RegexId id) const;
  bool is_nothing(
      RegexId id) const;  // exact after simplification or not, but never true for a language with a string
  RegexId derivative(RegexId id, char32_t point);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace brass::grammar
