// Grammars that need no notation: one of some literal texts, a regular expression for the whole text.
//
// Must not know: where the texts come from. Invariants: the literals become one expression that shares their
// beginnings, so a step costs what branches there, however many there are.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "text/grammar/grammar.h"

namespace brass::grammar {

inline constexpr size_t kMaxChoices = 100'000;
inline constexpr size_t kMaxChoiceBytes = 1 << 20;  // of all together

// The expression of any of the texts; they are UTF-8.
RegexId any_literal(RegexArena& regexes, std::span<const std::string> texts);

// Refuses no choices, too many, empty ones and what is not UTF-8, by index.
Result<std::shared_ptr<const Grammar>> grammar_from_choices(std::span<const std::string> choices);

// `pattern`: ECMA-262 as in RegexArena::parse; the whole text must match.
Result<std::shared_ptr<const Grammar>> grammar_from_regex(std::string_view pattern);

}  // namespace brass::grammar
