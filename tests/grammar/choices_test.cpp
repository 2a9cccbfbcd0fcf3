#include "text/grammar/choices.h"

#include <random>
#include <set>

#include "notation_support.h"
#include "sanitized.h"

namespace brass::grammar {
namespace {

TEST(Choices, ExactlyTheTexts) {
  const std::vector<std::string> choices = {
      "yes", "no", "yes, please", "\u00e9", "\u00e8", "\xF0\x9F\x98\x80", "yes"};
  const auto grammar = grammar_from_choices(choices);
  ASSERT_TRUE(grammar) << grammar.error().message;
  for (const std::string& text : choices) EXPECT_TRUE(accepts(*grammar, text)) << text;
  for (const std::string_view text :
       {"", "y", "yes,", "yes, pleasE", "nono", "\xc3", "\u00ea", "\xF0\x9F\x98\x81"})
    EXPECT_FALSE(accepts(*grammar, text)) << text;
}

// Random sets over few letters, so that many are beginnings of others.
TEST(Choices, RandomSetsAgainstASet) {
  std::mt19937 random(3);
  const std::vector<std::string> letters = {"a", "b", "\u00e9", "\u00e8", "\u6f22"};
  const auto text = [&](size_t longest) {
    std::string t = letters[random() % letters.size()];
    for (size_t i = random() % longest; i > 0; --i) t += letters[random() % letters.size()];
    return t;
  };
  for (int round = 0; round < 50; ++round) {
    std::set<std::string> chosen;
    for (size_t i = 1 + random() % 30; i > 0; --i) chosen.insert(text(5));
    const auto grammar = grammar_from_choices(std::vector<std::string>(chosen.begin(), chosen.end()));
    ASSERT_TRUE(grammar) << grammar.error().message;
    for (const std::string& t : chosen) EXPECT_TRUE(accepts(*grammar, t)) << t;
    for (int i = 0; i < 50; ++i) {
      const std::string t = text(6);
      EXPECT_EQ(accepts(*grammar, t), chosen.contains(t)) << t;
    }
  }
}

TEST(Choices, WhatCanNotBeIsNamed) {
  const auto message = [](const std::vector<std::string>& choices) {
    const auto grammar = grammar_from_choices(choices);
    return grammar                     ? std::string("accepted")
           : grammar.error().wrong_use ? grammar.error().message
                                       : "not wrong use";
  };
  EXPECT_EQ(message({}), "choices: there are none");
  EXPECT_EQ(message({"a", ""}), "choices[1]: an empty text");
  EXPECT_EQ(message({"a", "b", "\xff"}), "choices[2]: not UTF-8");
  EXPECT_NE(message(std::vector<std::string>(100'001, "a")).find("100001"), std::string::npos);
  EXPECT_NE(message({std::string((1 << 20) + 1, 'a')}).find("choices[0]"), std::string::npos);
}

TEST(Choices, ManyAndLongOnesAreQuick) {
  std::vector<std::string> many, stairs;
  for (int i = 0; i < 100'000; ++i) many.push_back(fmt::format("{:x}", i * 7919));
  for (size_t i = 1; i < 1400; ++i) stairs.emplace_back(i, 'a');
  expect_soon(
      [&] {
        const auto grammar = grammar_from_choices(many);
        ASSERT_TRUE(grammar) << grammar.error().message;
        EXPECT_TRUE(accepts(*grammar, many[77'777]));
        EXPECT_FALSE(accepts(*grammar, many[77'777] + "0"));
      },
      kSanitized ? 30 : 3);
  expect_soon(
      [&] {
        const auto grammar = grammar_from_choices(stairs);
        ASSERT_TRUE(grammar) << grammar.error().message;
        EXPECT_TRUE(accepts(*grammar, stairs.back()));
        EXPECT_FALSE(accepts(*grammar, stairs.back() + "a"));
      },
      kSanitized ? 30 : 3);
}

TEST(WholeRegex, MatchesTheWholeText) {
  const auto grammar = grammar_from_regex("[a-c]{2,3}|x");
  ASSERT_TRUE(grammar) << grammar.error().message;
  for (const std::string_view text : {"ab", "cab", "x"}) EXPECT_TRUE(accepts(*grammar, text)) << text;
  for (const std::string_view text : {"", "a", "abca", "xx", "yab"})
    EXPECT_FALSE(accepts(*grammar, text)) << text;
}

TEST(WholeRegex, WhatIsNotSupportedIsRefused) {
  for (const std::string_view pattern : {"(a)\\1", "a(?=b)c", "(", "a{2,1}", "[z-a]"}) {
    const auto grammar = grammar_from_regex(pattern);
    ASSERT_FALSE(grammar) << pattern;
    EXPECT_TRUE(grammar.error().wrong_use);
    EXPECT_TRUE(grammar.error().message.starts_with("regular expression: ")) << grammar.error().message;
  }
  // Without a text there is nothing to say.
  EXPECT_FALSE(grammar_from_regex("[^\\s\\S]"));
}

}  // namespace
}  // namespace brass::grammar
