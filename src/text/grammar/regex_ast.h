// A pattern as it is written, before assertions are resolved.
//
// Owns: the tree that the parser makes, its translation to a language. Invariants: nesting is bounded by the parser.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/grammar/regex_impl.h"

namespace brass::grammar {

struct PatternNode {
  enum class Kind : uint8_t {
    kEmpty,
    kSet,
    kConcat,
    kOr,
    kRepeat,
    kStart,
    kEnd,
    kBoundary,
    kInside,
    kAhead,
    kNotAhead
  };
  Kind kind = Kind::kEmpty;
  CodePoints points;               // kSet
  std::vector<PatternNode> parts;  // kConcat, kOr; one: kRepeat, kAhead, kNotAhead
  int min = 0, max = 0;            // kRepeat; max -1: no bound
  size_t place = 0;                // offset in the pattern
  bool asserts = false;            // holds an assertion
};

Result<PatternNode> parse_pattern(std::string_view pattern);
Result<RegexId> translate_pattern(RegexArena::Impl& arena, const PatternNode& root, RegexSyntax syntax);

const CodePoints& digit_points();
const CodePoints& word_points();
const CodePoints& space_points();
// What \p{name} stands for; nothing if the name is not known.
const CodePoints* property_points(std::string_view name);

}  // namespace brass::grammar
