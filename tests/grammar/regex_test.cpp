#include "text/grammar/regex.h"

#include <chrono>

#include "grammar_support.h"
#include "sanitized.h"

namespace brass::grammar {
namespace {

bool matches(std::string_view pattern, const std::u32string& text, RegexSyntax syntax = RegexSyntax::kEcma) {
  RegexArena arena;
  return in_language(arena, parsed(arena, pattern, syntax), text);
}

TEST(Regex, EqualLanguagesAreOneExpression) {
  RegexArena arena;
  const auto same = [&](std::string_view a, std::string_view b) {
    EXPECT_EQ(parsed(arena, a), parsed(arena, b)) << a << " " << b;
  };
  same("(a+)+", "a+");
  same("((a*)*)*", "a*");
  same("a|b|c", "[a-c]");
  same("ab|ac", "a[bc]");
  same("a?a?a?", "a{0,3}");
  same("(|a)+", "a*");
  same("a{2,3}|a{3,7}", "a{2,7}");
  same("(?:x|y)z", "[xy]z");
}

TEST(Regex, PatternsAreSearchedUnlessAnchored) {
  EXPECT_TRUE(matches("b", U"abc"));
  EXPECT_FALSE(matches("^b", U"abc"));
  EXPECT_FALSE(matches("b$", U"abc"));
  EXPECT_TRUE(matches("^abc$", U"abc"));
  EXPECT_TRUE(matches("^a|c$", U"xyc"));
  EXPECT_TRUE(matches("(^|,)x(,|$)", U"a,x"));
  EXPECT_FALSE(matches("(^|,)x(,|$)", U"a,xb"));
  EXPECT_TRUE(matches("^$", U""));
  EXPECT_TRUE(matches("$^", U""));
  EXPECT_FALSE(matches("a^b", U"ab"));
  EXPECT_FALSE(matches("b", U"abc", RegexSyntax::kFull));
  EXPECT_TRUE(matches("^a.c$", U"abc", RegexSyntax::kFull));
}

TEST(Regex, AssertionsBecomePartOfTheLanguage) {
  const std::string_view password = "^(?=.*\\d)(?=.*[a-z]).{4,8}$";
  EXPECT_TRUE(matches(password, U"abc1"));
  EXPECT_FALSE(matches(password, U"abcd"));
  EXPECT_FALSE(matches(password, U"a1"));
  EXPECT_TRUE(matches("^(?!foo).*$", U"fob"));
  EXPECT_FALSE(matches("^(?!foo).*$", U"food"));
  EXPECT_TRUE(matches("^a(?!b)", U"ac"));
  EXPECT_FALSE(matches("^a(?!b)", U"ab"));
  EXPECT_TRUE(matches("\\bcat\\b", U"the cat sat"));
  EXPECT_FALSE(matches("\\bcat\\b", U"concat cats"));
  EXPECT_TRUE(matches("\\Bcat", U"concat"));
  EXPECT_FALSE(matches("\\Bcat", U"cat"));
}

TEST(Regex, EscapesAndClasses) {
  EXPECT_TRUE(matches("^\\u{1F600}\\uD83D\\uDE00\\x41\\cJ$", U"😀😀A\n"));
  EXPECT_TRUE(matches("^[\\w-.]+$", U"a-b.c"));
  EXPECT_TRUE(matches("^[^\\d\\s]+$", U"é!"));
  EXPECT_FALSE(matches("^[^\\d\\s]+$", U"a1"));
  EXPECT_TRUE(matches("^\\p{Lu}\\p{Letter}+\\P{L}$", U"Éa!"));
  EXPECT_FALSE(matches("^\\d$", U"٣"));
  EXPECT_TRUE(matches("^\\s$", U"\uFEFF"));
  EXPECT_FALSE(matches("^.$", U"\u2028"));
  EXPECT_TRUE(matches("^{a}$", U"{a}"));
  EXPECT_TRUE(matches("^[]a-]$", U"") == false);
  EXPECT_TRUE(matches("^[^]$", U"\n"));
  EXPECT_TRUE(matches("^a{,2}$", U"a{,2}"));
  EXPECT_TRUE(matches("^(?<year>\\d{4})-(?:x)$", U"2024-x"));
  EXPECT_TRUE(matches("^a+?b*?$", U"aab"));
}

TEST(Regex, ErrorsNameWhatAndWhere) {
  RegexArena arena;
  const auto error = [&](std::string_view pattern, std::string_view part) {
    const auto made = arena.parse(pattern, RegexSyntax::kEcma);
    ASSERT_FALSE(made.has_value()) << pattern;
    EXPECT_TRUE(made.error().wrong_use);
    EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
  };
  error("^a{5,2}$", "at byte 2: the counts {5,2} are out of order");
  error("(a)\\1", "at byte 3: back-references");
  error("(?<=a)b", "look-behind");
  error("(?i)a", "(?i");
  error("(a", "at byte 0: the group is not closed");
  error("a)", "')'");
  error("[a", "class is not closed");
  error("[b-a]", "out of order");
  error("*a", "nothing to repeat");
  error("a**", "quantifier follows");
  error("\\p{Foo}", "\\p{Foo}");
  error("\\uD83D", "surrogate");
  error("\\Z", "\\Z");
  error("(^a)*", "assertion inside a repetition");
  error("a\\", "backslash");
  error(std::string(100'000, 'a'), "too many");
  error(std::string(300, '(') + std::string(300, ')'), "nested");
}

TEST(Regex, LivenessIsExact) {
  RegexArena arena;
  const auto both = [&](std::string_view a, std::string_view b) {
    const RegexId parts[] = {parsed(arena, a), parsed(arena, b)};
    return arena.all_of(parts);
  };
  EXPECT_FALSE(arena.is_live(both("a.*", "b.*")));
  EXPECT_FALSE(arena.is_live(both("(ab)+", "(ba)+")));
  EXPECT_TRUE(arena.is_live(both("(ab)+", "(aba|b)+")));
  EXPECT_FALSE(arena.is_live(both("[a-z]{5}", "[a-z]{7}")));
  EXPECT_TRUE(arena.is_live(both(".*foo.*", ".{3}")));
  EXPECT_FALSE(arena.is_live(both(".*foo.*", ".{2}")));
  EXPECT_FALSE(arena.is_live(arena.without(parsed(arena, "a{3,5}"), parsed(arena, "a+"))));
  EXPECT_TRUE(arena.is_live(arena.without(parsed(arena, "a{3,5}"), parsed(arena, "a{3,4}"))));
  EXPECT_EQ(arena.count_strings(parsed(arena, "[ab]{2}|c"), 100), 5);
  EXPECT_EQ(arena.count_strings(parsed(arena, "a*"), 100), 100);
  EXPECT_FALSE(arena.exhausted());
}

TEST(Regex, CountsCostNothingUntilTheyAreUsed) {
  const auto begin = std::chrono::steady_clock::now();
  RegexArena arena;
  RegexId id = parsed(arena, "^(.{0,1000000}x){0,1000000}$");
  for (int i = 0; i < 1000; ++i) id = arena.derivative(id, U'a');
  EXPECT_TRUE(arena.is_live(id));
  EXPECT_FALSE(arena.matches_empty(id));
  EXPECT_TRUE(arena.matches_empty(arena.derivative(id, U'x')));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (!kSanitized) {
    EXPECT_LT(seconds.count(), 8.0);
  }
}

TEST(Regex, HostilePatternsAreCheap) {
  const auto begin = std::chrono::steady_clock::now();
  RegexArena arena;
  RegexId id = parsed(arena, "(a+)+$", RegexSyntax::kEcma);
  for (int i = 0; i < 10'000; ++i) id = arena.derivative(id, U'a');
  EXPECT_TRUE(arena.matches_empty(id));
  id = parsed(arena, "(a|aa|aaa)*b(a?){50}a{50}", RegexSyntax::kEcma);
  for (int i = 0; i < 500; ++i) id = arena.derivative(id, U'a');
  std::string optional;
  for (int i = 0; i < 2000; ++i) optional += "a?b?";
  id = parsed(arena, optional);
  for (int i = 0; i < 20; ++i) id = arena.derivative(id, i % 2 == 0 ? U'a' : U'b');
  EXPECT_TRUE(arena.matches_empty(id));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (!kSanitized) {
    EXPECT_LT(seconds.count(), 20.0);
  }
}

TEST(Regex, ManyLiterals) {
  RegexArena arena;
  std::vector<std::string> texts;
  for (int i = 0; i < 100'000; ++i) texts.push_back("w" + std::to_string(i * 7919 % 1'000'003));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const RegexId id = arena.any_literal(views);
  EXPECT_TRUE(in_language(arena, id, U"w7919"));
  EXPECT_FALSE(in_language(arena, id, U"w79190000"));
  EXPECT_FALSE(arena.exhausted());
}

}  // namespace
}  // namespace brass::grammar
