// What the tests of the notations share.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <source_location>

#include "sanitized.h"
#include "text/grammar/matcher.h"

namespace brass::grammar {

using GrammarResult = Result<std::shared_ptr<const Grammar>>;

inline bool accepts(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  Matcher matcher(compile(grammar, nullptr));
  return matcher.accept_bytes(text) && matcher.can_end();
}

// Grammars read by `read`, and what they say.
class Notation {
 public:
  explicit Notation(GrammarResult (*read)(std::string_view)) : read_(read) {}

  void expect(std::string_view source, std::initializer_list<std::string_view> yes,
              std::initializer_list<std::string_view> no) const {
    SCOPED_TRACE(source);
    const GrammarResult grammar = read_(source);
    ASSERT_TRUE(grammar) << grammar.error().message;
    for (const std::string_view text : yes) EXPECT_TRUE(accepts(*grammar, text)) << "'" << text << "'";
    for (const std::string_view text : no) EXPECT_FALSE(accepts(*grammar, text)) << "'" << text << "'";
  }

  // The error is wrong use and holds every part.
  void refuse(std::string_view source, std::initializer_list<std::string_view> parts) const {
    SCOPED_TRACE(source);
    const GrammarResult grammar = read_(source);
    ASSERT_FALSE(grammar);
    EXPECT_TRUE(grammar.error().wrong_use);
    for (const std::string_view part : parts)
      EXPECT_NE(grammar.error().message.find(part), std::string::npos) << grammar.error().message;
  }

 private:
  GrammarResult (*read_)(std::string_view);
};

// Hostile input: an answer of either kind, soon.
template <class Work>
void expect_soon(Work work, double seconds = 2, std::source_location here = std::source_location::current()) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!kSanitized) {
    EXPECT_LT(took, 4 * seconds) << "line " << here.line();
  }
}

inline std::string repeated(std::string_view text, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i) result += text;
  return result;
}

}  // namespace brass::grammar
