// Lark's notation: what it means, what is refused. That whole grammars have the right texts: notations_test.cpp.
#include "text/grammar/lark.h"

#include "notation_support.h"
#include "sanitized.h"
#include "text/grammar/lark_regex.h"

namespace brass::grammar {
namespace {

const Notation lark_notation(grammar_from_lark);

TEST(Lark, StringsRangesAndFlags) {
  lark_notation.expect("start: \"a\\\"b\" \"\\n\\x41\\u00e9\"", {"a\"b\nA\u00e9"}, {"a"});
  lark_notation.expect("start: \"select\"i", {"select", "SeLeCt"}, {"selec"});
  lark_notation.expect("start: \"stra\u00dfe \u00c4\"i", {"STRA\u00dfe \u00e4"}, {"strasse \u00c4"});
  lark_notation.expect("start: \"a\"..\"c\" \"0\" .. \"9\"", {"a0", "c9"}, {"d0", "a"});
  lark_notation.expect("start: \"a\" if\nif: \"x\"", {"ax"}, {"Ax"});  // no flag: a name begins with i
}

TEST(Lark, RegularExpressionsAreThoseOfPython) {
  lark_notation.expect("start: /a.c/", {"abc", "a\rc", "a\u2028c"}, {"a\nc"});
  lark_notation.expect("start: /a.c/s", {"a\nc"}, {"ac"});
  lark_notation.expect("start: /(.|\\n)*/", {"", "a\r\n\u2029b"}, {});
  lark_notation.expect("start: /[a-d]X/i", {"Bx", "dX"}, {"e"});
  lark_notation.expect("start: /[^a]/i", {"b"}, {"a", "A"});
  lark_notation.expect("start: /a b # c\n [ ] \\# /x", {"ab #"}, {"a b #"});
  lark_notation.expect("start: /(?s:.)./", {"\na"}, {"a\n"});
  lark_notation.expect("start: /(?i:a)b(?i)c/", {"Abc", "abC"}, {"aBc"});
  lark_notation.expect("start: /(?P<year>\\d{4})-(?:x|y)/", {"2026-x"}, {"2026-z"});
  lark_notation.expect("start: /\\/\\-\\\"\\ {a}{,2}]/", {"/-\" {a]", "/-\" {a}]", "/-\" {a}}]"},
                       {"/-\" {a"});
  lark_notation.expect("start: /[]x]+[^]]/", {"]xa"}, {"]]"});
  lark_notation.expect("start: /[\\d_\\-a-f]+/", {"0_-f"}, {"g"});
  lark_notation.expect("start: /\\u{1F600}\\U0001F601/", {"\xF0\x9F\x98\x80\xF0\x9F\x98\x81"}, {"a"});
}

TEST(Lark, TerminalsAreMadeOfTerminals) {
  lark_notation.expect("start: INT\nINT: \"-\"? UINT\nUINT: DIGIT+\nDIGIT: /[0-9]/", {"-12", "3"},
                       {"-", "1-"});
  lark_notation.expect("start: A\nA: /[a-z]+/ & ~/(?s:.*)ab(?s:.*)/", {"ba", "xyz"}, {"ab", "xaby", ""});
  lark_notation.expect("start: A\nA: \"x\" ~\"y\" | \"z\" ~ 2", {"x", "xz", "xyy", "zz"}, {"xy", "z"});
  lark_notation.expect("start: A\nA: [\"+\"|\"-\"] (\"0\"..\"9\") ~ 1..2", {"+1", "12"}, {"+", "123"});
  lark_notation.expect("start: _A __B\n_A: \"a\"\n__B: \"b\"", {"ab"}, {"a"});
}

TEST(Lark, Repetitions) {
  lark_notation.expect("start: \"a\" ~ 2..3 b{1,} c{,2} d{2}\nb: \"b\"\nc: \"c\"\nd: \"d\"",
                       {"aabdd", "aaabbccdd"}, {"abdd", "aabcccdd", "aabd"});
  lark_notation.expect("start: [\"a\" \"b\"] (\"c\")*", {"", "ab", "abcc"}, {"a"});
  lark_notation.expect("start: \"a\" ~ 1000 \"b\"", {std::string(1000, 'a') + "b"},
                       {std::string(999, 'a') + "b"});
}

TEST(Lark, WhatIsIgnoredStandsAroundTerminalsOfRules) {
  const std::string_view source =
      "start: A \"b\" c\nA: \"x\" \"y\"\nc: /z+/\n%ignore \" \"\n%ignore /#[^\\n]*\\n/";
  lark_notation.expect(source, {"xybz", " xy  b z ", "#c\nxy#d\nbzz # e\n"}, {"x ybz", "xybz\n", "xy#b"});
  // In a terminal that a rule spells out, too.
  lark_notation.expect("start: \"ab\" (\"c\" | D)*\nD: \"d\"\n%import common.WS\n%ignore WS",
                       {"ab\n c d", "abdc\t"}, {"a b"});
}

TEST(Lark, LinesCommentsAndWhatShapesTrees) {
  lark_notation.expect("// c\n# c\n?start: \"a\" // c\n  | \"b\" -> name\n\n  | \"c\" # c\n!x: \"x\"\n",
                       {"a", "b", "c"}, {"x"});
  lark_notation.expect("start: (\"a\"\n  | \"b\"\n)\n", {"a", "b"}, {});
  lark_notation.expect("start: \"a\" |\n  \"b\"\nx: |\ny: \"y\"", {"a", "b"}, {""});
  lark_notation.expect("start: a \\\n  \"b\"\r\na: \"a\"\r\n", {"ab"}, {"a"});
  lark_notation.expect("start: | \"a\"", {"", "a"}, {"aa"});
  lark_notation.expect("start.2: \"a\"\nx.-1: \"b\"", {"a"}, {"b"});
  lark_notation.expect("start[capture=\"n\"]: x\nx[capture]: \"a\"", {"a"}, {"b"});
  lark_notation.expect("%llguidance {}\nstart: my-rule\nmy-rule: \"a\"", {"a"}, {"b"});
}

TEST(Lark, Imports) {
  lark_notation.expect("start: INT (\",\" NUM)*\n%import common.INT\n%import common.SIGNED_NUMBER -> NUM",
                       {"1", "1,-2.5e3,.5"}, {"-1"});
  lark_notation.expect("start: WORD WS NAME\n%import common (WORD, WS,\n CNAME)\nNAME: CNAME", {"ab _x1"},
                       {"ab 1x"});
  lark_notation.refuse("start: X\n%import common.XYZ", {"line 2", "common.XYZ"});
  lark_notation.refuse("start: X\n%import python.NAME", {"line 2", "python.NAME"});
  lark_notation.refuse("start: X\n%import .local.X", {"line 2", ".local.X"});
  lark_notation.refuse("start: a\n%import common.INT -> a", {"line 2", "'a'"});
}

TEST(Lark, LeftRecursion) {
  lark_notation.expect("start: many\nmany: many one | one\none: \"x\"", {"x", "xxx"}, {""});
  lark_notation.expect("start: e\ne: e \"+\" t | t\nt: t \"*\" f | f\nf: \"(\" e \")\" | /[0-9]+/",
                       {"1", "(1+2)*3+4"}, {"1+", "(1"});
  lark_notation.expect("start: v\nv: call | \"f\"\ncall: v \"(\" [v] \")\"", {"f", "f()", "f(f())()"},
                       {"f(", "()"});
}

TEST(Lark, WhatIsNotSupportedIsRefusedByName) {
  lark_notation.refuse("start: A\nA.2: \"a\"", {"line 2, column 2", "priorities of terminals", "'A'"});
  lark_notation.refuse("start: sep{\"a\", \",\"}\n", {"line 1, column 11", "templates"});
  lark_notation.refuse("sep{x, y}: x (y x)*\nstart: \"a\"", {"line 1, column 4", "templates"});
  lark_notation.refuse("start: \"a\"\n%declare X", {"line 2, column 1", "%declare"});
  lark_notation.refuse("start: \"a\"\n%override start: \"b\"", {"%override"});
  lark_notation.refuse("start: \"a\"\n%extend start: \"b\"", {"%extend"});
  lark_notation.refuse("start: A\nA: %regex {\"substring_chars\": \"ab\"}", {"line 2", "%regex"});
  lark_notation.refuse("%llguidance { \"no_forcing\": true }\nstart: \"a\"", {"%llguidance"});
  lark_notation.refuse("start: <|python_tag|>", {"line 1, column 8", "tokens"});
  lark_notation.refuse("start: @other", {"grammars"});
  lark_notation.refuse("start: head\nhead[lazy]: /.*x/", {"line 2, column 6", "lazy"});
  lark_notation.refuse("start: head\nhead[stop=\"x\"]: /.*/", {"'stop'"});
  lark_notation.refuse("start: a::5\na: \"a\"", {"':'"});
  lark_notation.refuse("start: a & b\na: \"a\"\nb: \"b\"", {"'&'"});
  lark_notation.refuse("start: ~a\na: \"a\"", {"'~'"});
}

TEST(Lark, RegularExpressionsWithoutAnEqualAreRefused) {
  lark_notation.refuse("start: /a*?b/", {"line 1, column 8", "as little as it can"});
  lark_notation.refuse("start: /a(?=b)/", {"look-ahead"});
  lark_notation.refuse("start: /(?<!a)b/", {"look-"});
  lark_notation.refuse("start: /(a)\\1/", {"line 1, column 8"});
  lark_notation.refuse("start: /a++/", {"gives nothing back"});
  lark_notation.refuse("start: /a/l", {"flag 'l'"});
  lark_notation.refuse("start: /^a$/m", {"flag m"});
  lark_notation.refuse("start: /[z-a]/", {"range"});
  lark_notation.refuse("start: /[[:alpha:]]/", {"[:"});
  lark_notation.refuse("start: /(a/", {"line 1, column 8"});
  lark_notation.refuse("start: /a)/", {"')'"});
  lark_notation.refuse("start: /\\Aa/", {"\\A"});
}

TEST(Lark, WhatIsWrongIsSaidWithItsPlace) {
  lark_notation.refuse("", {"'start'"});
  lark_notation.refuse("a: \"a\"", {"'start'"});
  lark_notation.refuse("start: a\n", {"line 1, column 8", "'a'"});
  lark_notation.refuse("start: \"x\" A\n", {"line 1, column 12", "'A'"});
  lark_notation.refuse("start: A\nA: b\nb: \"b\"", {"line 2, column 4", "rule 'b'"});
  lark_notation.refuse("start: A\nA: \"a\" B\nB: \"b\" A?", {"itself"});
  lark_notation.refuse("start: \"a\"\nstart: \"b\"", {"line 2", "'start'", "line 1"});
  lark_notation.refuse("start: A\nA: \"a\"\nA: \"b\"", {"line 3", "'A'", "line 2"});
  lark_notation.refuse("start: \"a", {"line 1, column 8", "no end"});
  lark_notation.refuse("start: /a", {"line 1, column 8", "no end"});
  lark_notation.refuse("start: /a\nb/", {"line 1, column 8"});
  lark_notation.refuse("start: \"\\q\"", {"line 1, column 9", "'q'"});
  lark_notation.refuse("start: (\"a\"", {"')'", "line 1, column 8"});
  lark_notation.refuse("start: \"a\" )", {"line 1, column 12", "')'"});
  lark_notation.refuse("start: \"ab\"..\"c\"", {"one character"});
  lark_notation.refuse("start: \"c\"..\"a\"", {"range"});
  lark_notation.refuse("start: \"a\" ~ 3..2", {"order"});
  lark_notation.refuse("start \"a\"", {"line 1, column 7", "':'"});
  lark_notation.refuse("start: \"a\" ->", {"alias"});
  lark_notation.refuse("start: \"a\" -> b c", {"line 1, column 17"});
}

TEST(Lark, HostileGrammarsAreBounded) {
  const double limit = kSanitized ? 30 : 3;
  std::string chain = "start: A0\n", rules = "start: r0\n", ring = "start: A0\n", words = "start: ";
  for (int i = 0; i < 100'000; i++) {
    chain += fmt::format("A{}: \"x\" A{}\n", i, i + 1);
    rules += fmt::format("r{}: \"x\" r{} | r{}\n", i, i + 1, i + 1);
    words += fmt::format("{}\"word{}\"", i == 0 ? "" : " | ", i);
  }
  expect_soon([&] { lark_notation.refuse(chain + "A100000: \"y\"", {"deep"}); }, limit);
  expect_soon([&] { (void)grammar_from_lark(rules + "r100000: \"y\""); }, limit);
  expect_soon([&] { lark_notation.expect(words, {"word0", "word99999"}, {"word"}); }, limit);
  expect_soon([&] { lark_notation.refuse("start: " + repeated("(", 1'000'000), {"nested"}); }, limit);
  expect_soon([&] { lark_notation.refuse("start: /" + repeated("(", 1'000'000) + "/", {"nested"}); }, limit);
  expect_soon([&] { lark_notation.refuse("start: A\nA: " + repeated("~", 1'000'000) + "\"a\"", {"nested"}); },
              limit);
  std::string twice = "start: A0\n";
  for (int i = 0; i < 60; i++) twice += fmt::format("A{}: A{} A{}\n", i, i + 1, i + 1);
  expect_soon([&] { (void)grammar_from_lark(twice + "A60: \"x\""); }, limit);
}

TEST(LarkRegex, Translates) {
  using lark::translate_pattern;
  EXPECT_EQ(translate_pattern("a.", "").value(), "a[^\\n]");
  EXPECT_EQ(translate_pattern("a.", "s").value(), "a[\\s\\S]");
  EXPECT_EQ(translate_pattern("k", "i").value(), "[Kk]");
  EXPECT_EQ(translate_pattern("\\d\\p{L}[\\w-]", "").value(), "\\d\\p{L}[\\u{2D}\\w]");
  EXPECT_EQ(translate_pattern("x{,3}", "").value(), "x{0,3}");
}

}  // namespace
}  // namespace brass::grammar
