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
  RegexId any_literal(std::span<const std::string_view> utf8);  // one of these texts, however many
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
  // Whether the language has a string: exact. Where that takes more than the budget of states, exhausted() turns true
  // and the answer is no.
  bool is_live(RegexId id);
  bool is_nothing(
      RegexId id) const;  // exact after simplification or not, but never true for a language with a string
  // How many strings the language has, but no more than `limit`.
  int64_t count_strings(RegexId id, int64_t limit);
  RegexId derivative(RegexId id, char32_t point);

  // A state of the automaton: where each code point leads, in order, without what leads to no string. Made when it is
  // asked for; the span is valid as long as the arena.
  struct Edge {
    char32_t low, high;
    RegexId target;
  };
  std::span<const Edge> edges(RegexId id);

  // As `id` for whatever a string can begin with in `length` characters or fewer; the same for many: a count that so few
  // characters cannot exhaust becomes unbounded.
  RegexId relaxed(RegexId id, int length);

  // Where `id` is "up to `most` of `points`, then `rest`" (with a least number or not); most is 0 where it is not, and
  // INT32_MAX for no bound.
  struct Front {
    int32_t most = 0;
    const CodePoints* points = nullptr;  // valid until the arena is used again
    int32_t set = -1;                    // the number of these points in the arena
    RegexId rest = -1;
  };
  Front front(RegexId id) const;

  // A budget (of expressions, of work) was met: what was answered since may be too small a language or too large a one,
  // so whoever asks must refuse.
  bool exhausted() const;

  struct Impl;  // regex_impl.h

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace brass::grammar
