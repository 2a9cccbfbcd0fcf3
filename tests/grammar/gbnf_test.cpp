// GBNF: its notation, its errors, hostile grammars. That whole grammars have the right texts: notations_test.cpp.
#include "text/grammar/gbnf.h"

#include "notation_support.h"
#include "sanitized.h"

namespace brass::grammar {
namespace {

const Notation gbnf(grammar_from_gbnf);

TEST(Gbnf, LiteralsAndEscapes) {
  gbnf.expect(R"(root ::= "a\"\\\n\t\r\[\]\x41\u00e9\U0001F600")", {"a\"\\\n\t\r[]A\u00e9\U0001F600"},
              {"a", ""});
  gbnf.expect(R"(root ::= "")", {""}, {"a"});
  gbnf.expect("root ::= \"\u6f22\xF0\x9D\x84\x9E\"", {"\u6f22\xF0\x9D\x84\x9E"}, {"\u6f22"});
}

TEST(Gbnf, Classes) {
  gbnf.expect("root ::= [a-cx]", {"a", "c", "x"}, {"d", "", "ab"});
  gbnf.expect("root ::= [^a-c\\n]", {"d", "\u00e9", "\xF0\x9F\x98\x80"}, {"a", "\n", ""});
  gbnf.expect("root ::= [-x] [x-] [\\-y]", {"-x-", "x-y"}, {"a--"});
  gbnf.expect("root ::= [\\]^] [\\^]", {"]^", "^^"}, {"a^"});
  gbnf.expect("root ::= [\\x30-\\x39\u3041-\u309f]+", {"059", "\u3042\u30423"}, {"a", "\u30a1"});
  gbnf.expect("root ::= . .", {"ab", "\n\xF0\x9F\x98\x80"}, {"a", "abc", "\xff\xff"});
}

TEST(Gbnf, Repetitions) {
  gbnf.expect("root ::= \"a\"*", {"", "aaa"}, {"b"});
  gbnf.expect("root ::= \"ab\"+", {"ab", "abab"}, {"", "aba"});
  gbnf.expect("root ::= \"a\"? \"b\"", {"b", "ab"}, {"aab"});
  gbnf.expect("root ::= [a]{2}", {"aa"}, {"a", "aaa"});
  gbnf.expect("root ::= [a]{ 2 , }", {"aa", "aaaaa"}, {"a"});
  gbnf.expect("root ::= (\"a\" [0-9]){1,2}", {"a1", "a1a2"}, {"", "a1a2a3"});
  gbnf.expect("root ::= \"a\"{0} \"b\"", {"b"}, {"ab"});
  gbnf.expect("root ::= \"a\"{2}{2}", {"aaaa"}, {"aa", "aaa"});
  gbnf.expect("root ::= \"a\"{1000,1002}", {std::string(1000, 'a'), std::string(1002, 'a')},
              {std::string(999, 'a'), std::string(1003, 'a')});
}

TEST(Gbnf, LinesAndComments) {
  gbnf.expect("# first\n\nroot ::= # here\n  \"a\" b # there\n# between\n\nb::=\"b\"", {"ab"}, {"a"});
  gbnf.expect("root ::= \"a\" |\n\n  # comment\n \"b\"\r\nx ::= \"x\"\r\n", {"a", "b"}, {"x"});
  gbnf.expect("root ::= (\n \"a\"\n |\n \"b\"\n)\n", {"a", "b"}, {"ab"});
  gbnf.expect("root ::= \"a\"\n  | \"b\"\n\n  # comment\n  | \"c\"\nd ::= \"d\"", {"a", "b", "c"}, {"d"});
  gbnf.expect("root ::= | \"a\"", {"", "a"}, {"aa"});
  gbnf.expect("root ::= (| \"a\" |) \"b\"", {"b", "ab"}, {"a"});
  gbnf.expect("root ::= check-mate rule_1 UP\ncheck-mate ::= \"#\"\nrule_1 ::= \"1\"\nUP ::= \"U\"", {"#1U"},
              {"#"});
}

TEST(Gbnf, RulesThatReferToThemselves) {
  gbnf.expect("root ::= \"(\" root \")\" | \"\"", {"", "(())"}, {"(()", "())"});
  gbnf.expect("root ::= root \"a\" | \"b\"", {"b", "baa"}, {"", "a", "ab"});
  gbnf.expect("root ::= \"a\" root | \"b\"", {"b", "aab"}, {"", "a", "ba"});
  gbnf.expect("root ::= root root | \"a\" | \"b\"", {"a", "abba"}, {"", "c"});
  gbnf.expect("root ::= root | \"a\"", {"a"}, {"", "aa"});
  gbnf.expect("root ::= e\ne ::= e [+*] e | \"-\" e | e \"!\" | \"(\" e \")\" | [0-9]",
              {"1", "1+2*3!", "-(1+-2)!!*3", "--1"}, {"", "1+", "!1", "1-2", "()", "(1"});
  // The base may be empty.
  gbnf.expect("root ::= \"a\" root \"b\" | root \"c\" |", {"", "ab", "aabbcc", "acbc"}, {"a", "cab"});
}

TEST(Gbnf, WhatIsWrongIsSaidWithItsPlace) {
  gbnf.refuse("", {"'root'"});
  gbnf.refuse("a ::= \"b\"", {"'root'"});
  gbnf.refuse("root ::= a\n\nb ::= \"x\" missing", {"line 1, column 10", "'a'"});
  gbnf.refuse("root ::= \"a\"\nroot ::= \"b\"", {"line 2, column 1", "'root'", "line 1"});
  gbnf.refuse("root ::= \"ab", {"line 1, column 10", "no end"});
  gbnf.refuse("root ::= [ab", {"line 1, column 10", "no end"});
  gbnf.refuse("root ::= [a-", {"line 1, column 10", "no end"});
  gbnf.refuse("root ::= (\"a\"\n \"b\"", {"')'", "line 1, column 10"});
  gbnf.refuse("root ::= \"a\")", {"line 1, column 13", "')'"});
  gbnf.refuse("root ::= \"\\q\"", {"line 1, column 11", "'q'"});
  gbnf.refuse("root ::= \"\\x4\"", {"line 1, column 13", "2 hexadecimal"});
  gbnf.refuse("root ::= \"\\uD800\"", {"surrogate"});
  gbnf.refuse("root ::= \"\\U00110000\"", {"U+10FFFF"});
  gbnf.refuse("root ::= []", {"line 1, column 10", "empty class"});
  gbnf.refuse("root ::= [^]", {"empty class"});
  gbnf.refuse("root ::= [z-a]", {"line 1, column 11", "range"});
  gbnf.refuse("root ::= *", {"line 1, column 10", "'*'"});
  gbnf.refuse("root ::= \"a\" | +", {"line 1, column 16", "'+'"});
  gbnf.refuse("root ::= \"a\"{,3}", {"line 1, column 14", "','"});
  gbnf.refuse("root ::= \"a\"{3,2}", {"line 1, column 13", "order"});
  gbnf.refuse("root ::= \"a\"{3", {"'}'"});
  gbnf.refuse("root ::= \"a\"{99999999999}", {"count"});
  gbnf.refuse("root ::= \"a\"*?+{2}", {"repetitions of one item"});
  gbnf.refuse("root = \"a\"", {"line 1, column 6", "'::='"});
  gbnf.refuse("root ::= \"\u00e9\" $", {"line 1, column 14", "'$'"});
  gbnf.refuse("root ::= \"a\" \u6f22", {"\u6f22"});
  gbnf.refuse("root ::= \"a\"\n  \"b\"", {"line 2, column 3", "name of a rule"});
  gbnf.refuse("root ::= \"\xff\"", {"line 1, column 11", "UTF-8"});
  gbnf.refuse(std::string_view("root ::= \"\0\"", 12), {"zero byte"});
}

TEST(Gbnf, TokensAreRefusedByName) {
  gbnf.refuse("root ::= <think> .*", {"line 1, column 10", "tokens"});
  gbnf.refuse("root ::= <[1000]>", {"tokens"});
  gbnf.refuse("root ::= \"a\" !<think>*", {"line 1, column 14", "tokens"});
}

TEST(Gbnf, RulesWithoutATextAreNamed) {
  gbnf.refuse("root ::= loop\nloop ::= \"a\" loop", {"loop"});
  gbnf.refuse("root ::= loop\nloop ::= loop \"a\"", {"loop"});
  gbnf.refuse("root ::= a\na ::= b\nb ::= a", {});
}

TEST(Gbnf, DeepBracketsAreRefusedAndUsualOnesAreNot) {
  const auto nested = [](size_t depth) {
    return "root ::= " + repeated("(", depth) + "[x]" + repeated(")?", depth);
  };
  gbnf.expect(nested(200), {"", "x"}, {"xx"});
  gbnf.refuse(nested(257), {"nested", "line 1"});
  expect_soon([&] { gbnf.refuse(nested(1'000'000), {"nested"}); });
  // llama.cpp's older converter wrote {0,n} so.
  std::string steps = "root ::= ";
  for (int i = 0; i < 200; i++) steps += "(\"ab\" ";
  gbnf.expect(steps + repeated(")?", 200), {"", repeated("ab", 200)}, {repeated("ab", 201), "aba"});
}

TEST(Gbnf, HostileGrammarsAreBounded) {
  const double limit = kSanitized ? 30 : 3;
  expect_soon([] { (void)grammar_from_gbnf(std::string(9 << 20, ' ')); }, limit);
  // A chain of rules, rules side by side, and a choice of many literals.
  std::string chain = "root ::= r0\n", wide = "root ::= ", words = "root ::= ";
  for (int i = 0; i < 100'000; i++) {
    chain += fmt::format("r{} ::= \"x\" r{} | r{}\n", i, i + 1, i + 1);
    wide += fmt::format("{}r{}", i == 0 ? "" : " | ", i);
    words += fmt::format("{}\"word{}\"", i == 0 ? "" : " | ", i);
  }
  wide += "\n";
  for (int i = 0; i < 100'000; i++) wide += fmt::format("r{} ::= \"{}\" [a-z]*\n", i, i);
  expect_soon([&] { (void)grammar_from_gbnf(chain + "r100000 ::= \"end\""); }, limit);
  expect_soon([&] { (void)grammar_from_gbnf(wide); }, limit);
  expect_soon([&] { gbnf.expect(words, {"word0", "word99999"}, {"word", "word100000"}); }, limit);
  // Each rule twice the one below it; each rule optional twice.
  std::string twice = "root ::= r0\n", maybe = "root ::= r0\n";
  for (int i = 0; i < 60; i++) {
    twice += fmt::format("r{} ::= r{} r{}\n", i, i + 1, i + 1);
    maybe += fmt::format("r{} ::= r{}? r{}?\n", i, i + 1, i + 1);
  }
  expect_soon([&] { (void)grammar_from_gbnf(twice + "r60 ::= \"x\""); }, limit);
  expect_soon([&] { (void)grammar_from_gbnf(maybe + "r60 ::= \"x\""); }, limit);
  expect_soon([&] { (void)grammar_from_gbnf("root ::= (((\"a\"?){1000000}){1000000}){1000000}"); }, limit);
}

}  // namespace
}  // namespace brass::grammar
