// What the grammar tests share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "text/grammar/grammar.h"
#include "text/grammar/matcher.h"

namespace brass::grammar {

// Whether a string of code points is in a language, by derivatives.
inline bool in_language(RegexArena& arena, RegexId id, const std::u32string& text) {
  for (const char32_t point : text) id = arena.derivative(id, point);
  return arena.matches_empty(id);
}

inline RegexId parsed(RegexArena& arena, std::string_view pattern, RegexSyntax syntax = RegexSyntax::kFull) {
  auto made = arena.parse(pattern, syntax);
  EXPECT_TRUE(made.has_value()) << pattern << ": " << (made ? "" : made.error().message);
  return made ? *made : arena.nothing();
}

// A matcher without a vocabulary.
inline Matcher matcher_of(std::shared_ptr<Grammar> grammar, NodeId root) {
  const auto frozen = grammar->freeze(root);
  EXPECT_TRUE(frozen.has_value()) << (frozen ? "" : frozen.error().message);
  return Matcher(compile(std::move(grammar), nullptr));
}

inline bool accepts(const Matcher& matcher, std::string_view text) {
  Matcher copy = matcher;
  return copy.accept_bytes(text) && copy.can_end();
}

inline bool begins(const Matcher& matcher, std::string_view text) {
  Matcher copy = matcher;
  return copy.accept_bytes(text);
}

}  // namespace brass::grammar
