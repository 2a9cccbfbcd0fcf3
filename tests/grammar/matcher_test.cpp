#include "text/grammar/matcher.h"

#include <chrono>

#include "grammar_support.h"
#include "sanitized.h"

namespace brass::grammar {
namespace {

TEST(Matcher, SequencesChoicesAndRecursion) {
  auto g = std::make_shared<Grammar>();
  const NodeId value = g->rule("value");
  const NodeId list = g->sequence({g->text("["), g->repeat(value, 0, -1, g->text(",")), g->text("]")});
  g->define(value, g->choice({g->terminal(parsed(g->regexes(), "[0-9]+")), list}));
  const Matcher m = matcher_of(g, value);
  EXPECT_TRUE(accepts(m, "12"));
  EXPECT_TRUE(accepts(m, "[1,[],[22,[3]]]"));
  EXPECT_FALSE(begins(m, "[,"));
  EXPECT_FALSE(begins(m, "[1]]"));
  EXPECT_TRUE(begins(m, "[1,"));
  EXPECT_FALSE(accepts(m, "[1,"));
  EXPECT_FALSE(begins(m, "[1,]"));
}

TEST(Matcher, AcceptsAllOrNothing) {
  auto g = std::make_shared<Grammar>();
  Matcher m = matcher_of(g, g->text("hello"));
  EXPECT_TRUE(m.accept_bytes("he"));
  EXPECT_FALSE(m.accept_bytes("lx"));
  EXPECT_TRUE(m.accept_bytes("l"));
  EXPECT_EQ(m.forced(), "lo");
  Matcher copy = m;
  EXPECT_TRUE(copy.accept_bytes("lo"));
  EXPECT_TRUE(copy.can_end());
  EXPECT_TRUE(copy.must_end());
  EXPECT_FALSE(m.can_end());
}

TEST(Matcher, RepetitionsCount) {
  const auto make = [](int min, int max, bool separated) {
    auto g = std::make_shared<Grammar>();
    const NodeId separator = separated ? g->text(",") : -1;
    const NodeId body = g->choice({g->text("a"), g->text("bb")});
    return matcher_of(g, g->sequence({g->repeat(body, min, max, separator), g->text(".")}));
  };
  for (const auto& [min, max] :
       std::vector<std::pair<int, int>>{{0, -1}, {2, -1}, {0, 3}, {2, 4}, {1, 1}, {3, 3}}) {
    for (const bool separated : {false, true}) {
      const Matcher m = make(min, max, separated);
      for (int n = 0; n < 7; ++n) {
        std::string text;
        for (int i = 0; i < n; ++i)
          text += std::string(i > 0 && separated ? "," : "") + (i % 2 == 0 ? "a" : "bb");
        EXPECT_EQ(accepts(m, text + "."), n >= min && (max < 0 || n <= max))
            << min << " " << max << " " << text;
        if (max >= 0 && n > 0) {
          EXPECT_EQ(begins(m, text), n <= max) << text;
        }
      }
    }
  }
  auto g = std::make_shared<Grammar>();
  Matcher many = matcher_of(g, g->repeat(g->text("ab"), 0, 1'000'000));
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(many.accept_bytes("ab"));
  EXPECT_TRUE(many.can_end());
}

TEST(Matcher, TurnsThatReadNothingEnd) {
  auto g = std::make_shared<Grammar>();
  const NodeId maybe = g->terminal(parsed(g->regexes(), "a*"));
  const NodeId inner = g->repeat(maybe, 3, -1);
  const Matcher m = matcher_of(g, g->sequence({g->repeat(inner, 2, 1000), g->text("b")}));
  EXPECT_TRUE(accepts(m, "b"));
  EXPECT_TRUE(accepts(m, "aaaab"));
  auto h = std::make_shared<Grammar>();
  const NodeId item = h->choice({h->text("x"), h->text("")});
  const Matcher n = matcher_of(h, h->repeat(item, 3, 4, h->text(",")));
  EXPECT_TRUE(accepts(n, ",,"));
  EXPECT_TRUE(accepts(n, "x,,x,"));
  EXPECT_FALSE(accepts(n, ","));
  EXPECT_FALSE(begins(n, ",,,,"));
}

TEST(Matcher, JsonStringsInAnySpelling) {
  auto g = std::make_shared<Grammar>();
  const NodeId inside = g->terminal(parsed(g->regexes(), "[a-z😀é\\n]{2}"), Spelling::kJsonString);
  const Matcher m = matcher_of(g, g->sequence({g->text("\""), inside, g->text("\"")}));
  for (const char* const text : {"\"ab\"", "\"a\\u0062\"", "\"\\uD83D\\uDE00é\"", "\"\\ud83d\\ude00\\u00E9\"",
                                 "\"😀\\n\"", "\"\\u000az\""}) {
    EXPECT_TRUE(accepts(m, text)) << text;
  }
  for (const char* const text : {"\"abc", "\"A", "\"a\n", "\"\\uD83Dx", "\"\\uD83E", "\"\\uDE00", "\"\\t",
                                 "\"\\u0041", "\"\xC3\"", "\"\xF0\x9F\x99", "\"\xC0"}) {
    EXPECT_FALSE(begins(m, text)) << text;
  }
  EXPECT_TRUE(begins(m, "\"\\uD8"));
  EXPECT_TRUE(begins(m, "\"\xF0\x9F"));
}

TEST(Matcher, AmbiguityCostsNoMoreThanPlaces) {
  auto g = std::make_shared<Grammar>();
  const NodeId e = g->rule("e");
  g->define(e, g->choice({g->sequence({g->text("a"), e, g->text("b")}),
                          g->sequence({g->text("a"), e, g->text("c")}), g->text("")}));
  const Matcher m = matcher_of(g, e);
  const auto begin = std::chrono::steady_clock::now();
  std::string text(1000, 'a');
  for (int i = 0; i < 1000; ++i) text += i % 3 == 0 ? 'b' : 'c';
  EXPECT_TRUE(accepts(m, text));
  EXPECT_FALSE(begins(m, text + "b"));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (!kSanitized) {
    EXPECT_LT(seconds.count(), 8.0);
  }
}

struct ObjectCase {
  bool ordered = false;
  int min = 0, max = -1;
  bool additional = true;
};

Matcher object_matcher(const ObjectCase& c) {
  auto g = std::make_shared<Grammar>();
  const NodeId number = g->terminal(parsed(g->regexes(), "[0-9]+"));
  Members members;
  members.named = {{"a", number, true}, {"ab", number, false}, {"é", number, false}, {"z", number, true}};
  members.min = c.min, members.max = c.max, members.ordered = c.ordered;
  members.space = g->terminal(parsed(g->regexes(), " ?"));
  if (c.additional)
    members.patterns = {
        {g->regexes().without(parsed(g->regexes(), "[a-z]*"), parsed(g->regexes(), "a|ab|é|z")),
         g->text("true")}};
  return matcher_of(g, g->object(std::move(members)));
}

TEST(Matcher, ObjectsInAnyOrder) {
  const Matcher m = object_matcher({});
  EXPECT_TRUE(accepts(m, R"({"a":1,"z":2})"));
  EXPECT_TRUE(accepts(m, R"({ "z" : 2 , "a" : 1 })"));
  EXPECT_TRUE(accepts(m, R"({"z":2,"\u0061\u0062":3,"q":true,"\u00e9":5,"a":1,"":true})"));
  EXPECT_FALSE(begins(m, R"({"z":2})"));
  EXPECT_FALSE(begins(m, R"({})"));
  EXPECT_FALSE(begins(m, R"({"a":1,"a")"));
  EXPECT_FALSE(begins(m, R"({"ab":true)"));
  EXPECT_FALSE(begins(m, R"({"q":1)"));
  EXPECT_FALSE(begins(m, R"({"a":1,})"));
  EXPECT_FALSE(begins(m, R"({,)"));
  EXPECT_FALSE(begins(m, R"({"A)"));
}

TEST(Matcher, ObjectsInOrder) {
  const Matcher m = object_matcher({.ordered = true, .additional = false});
  EXPECT_TRUE(accepts(m, R"({"a":1,"z":2})"));
  EXPECT_TRUE(accepts(m, R"({"a":1,"é":3,"z":2})"));
  EXPECT_FALSE(begins(m, R"({"z)"));
  EXPECT_FALSE(begins(m, R"({"ab)"));
  EXPECT_FALSE(begins(m, R"({"a":1,"é":3,"ab)"));
  EXPECT_FALSE(begins(m, R"({"a":1,"z":2,)"));
}

TEST(Matcher, ObjectBoundsPruneDeadEnds) {
  const Matcher two = object_matcher({.max = 2});
  EXPECT_FALSE(begins(two, R"({"ab)")) << "both required members must still fit";
  EXPECT_FALSE(begins(two, R"({"q)"));
  EXPECT_TRUE(accepts(two, R"({"z":1,"a":2})"));
  EXPECT_FALSE(begins(two, R"({"z":1,"a":2,)"));
  const Matcher four = object_matcher({.min = 4, .additional = false});
  EXPECT_FALSE(begins(four, R"({"a":1,"z":2,"ab":3})"));
  EXPECT_TRUE(accepts(four, R"({"a":1,"z":2,"ab":3,"é":1})"));
  const Matcher skip = object_matcher({.ordered = true, .min = 4, .additional = false});
  EXPECT_FALSE(begins(skip, R"({"a":1,"é")")) << "passing over one leaves too few";
  const Matcher three = object_matcher({.min = 4});
  EXPECT_FALSE(begins(three, R"({"a":1,"z":2,"q":true})"));
  EXPECT_FALSE(begins(three, R"({"a":1,"z":2,"q":true,"q")")) << "an equal key is no fourth member";
  EXPECT_TRUE(accepts(three, R"({"a":1,"z":2,"q":true,"qq":true})"));
}

TEST(Matcher, DeadTerminalsAreNeverEntered) {
  auto g = std::make_shared<Grammar>();
  RegexArena& r = g->regexes();
  const RegexId parts[] = {parsed(r, "x.*y"), parsed(r, ".{3}")};
  const NodeId three = g->terminal(r.all_of(parts));
  const RegexId none[] = {parsed(r, "x+y"), parsed(r, ".*z")};
  const NodeId nothing = g->sequence({g->text("("), g->terminal(r.all_of(none))});
  const Matcher m = matcher_of(g, g->choice({three, nothing}));
  EXPECT_TRUE(accepts(m, "xay"));
  EXPECT_FALSE(begins(m, "xab"));
  EXPECT_FALSE(begins(m, "(")) << "what stands behind it cannot be written";
}

TEST(Matcher, DeepNestingIsRefusedNotFatal) {
  auto g = std::make_shared<Grammar>();
  const NodeId v = g->rule("v");
  g->define(v, g->choice({g->sequence({g->text("["), v, g->text("]")}), g->text("x")}));
  const Matcher m = matcher_of(g, v);
  EXPECT_TRUE(accepts(m, std::string(1000, '[') + "x" + std::string(1000, ']')));
  EXPECT_FALSE(begins(m, std::string(100'000, '[')));
}

}  // namespace
}  // namespace brass::grammar
