// The template language, one behaviour a line; expectations are Jinja2's.
#include <gtest/gtest.h>

#include "text/jinja_support.h"

namespace brass::jinja {
namespace {

struct Case {
  const char* source;
  const char* expected;
};

void check(std::initializer_list<Case> cases, const char* context = "{}") {
  for (const Case& c : cases) EXPECT_EQ(text_of(c.source, context), c.expected) << c.source;
}

TEST(JinjaLanguage, PrintsValuesAsPythonDoes) {
  check({
      {"{{ none }} {{ true }} {{ 1.0 }} {{ 4/2 }} {{ 1e16 }} {{ 1e-7 }}", "None True 1.0 2.0 1e+16 1e-07"},
      {"{{ [1, 'a', \"it's\", none, 2.5] }}", "[1, 'a', \"it's\", None, 2.5]"},
      {"{{ {'a': [1], 2: (3,)} }} {{ () }}", "{'a': [1], 2: (3,)} ()"},
      {"{{ range(3) }} {{ 'a' ~ none ~ 1.0 }}", "range(0, 3) aNone1.0"},
      {"{{ ['\\n\\t\\\\', 'é', '\\x07', '\\u200b'] }}", "['\\n\\t\\\\', 'é', '\\x07', '\\u200b']"},
      {"{{ missing }}|{{ [missing] }}", "|[Undefined]"},
      // What holds an address is printed with one, as long as CPython's.
      {"{{ [1]|select|string|length }} {{ [1]|map('int')|string|length }}", "53 48"},
      {"{{ [1]|reverse|wordcount }} {{ ([1]|reverse|string)[:24] }}", "4 <list_reverseiterator ob"},
  });
}

TEST(JinjaLanguage, Arithmetic) {
  check({
      {"{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 // -2 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }}", "-4 2 -4 3.0 0.5"},
      {"{{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }}", "1024 0.5 64 4"},
      {"{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 == true }}", "True False True"},
      {"{{ 1.5.real }} {{ 2['imag'] }} {{ true.numerator }} {{ (7).denominator }} {{ 2.5.imag }} {{ "
       "2.5.numerator }}",
       "1.5 0 1 1 0.0 "},
      {"{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 5|round }}", "2.0 4.0 2.67 5"},
      {"{{ [1] * 2 + [3] }} {{ 'ab' * 2 }} {{ 1_000 + 0x1f }}", "[1, 1, 3] abab 1031"},
      {"{{ 'b' in 'abc' }} {{ 2 not in [1, 2] }} {{ 'a' in {'a': 1} }}", "True False True"},
  });
}

TEST(JinjaLanguage, WhitespaceControl) {
  check({
      {"a\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\nb\nc"},
      {"a {%- if true -%} b {%- endif -%} c", "abc"},
      {"  {%+ if true %}x{% endif +%}\n", "  x"},
      {"{{ 1 }}\n{{ 2 -}}\n 3", "1\n23"},
      {"{# c #}\nx{#- y -#}\n z", "xz"},
      {"{% raw %}{{ x }}{% endraw %}\ny", "{{ x }}y"},
      {"a\r\nb\rc\n\n", "a\nb\nc\n"},
      {"a{#", "a"},
      {"a{#-\n", "a"},
      {"a{% raw %}\n", "a"},
  });
}

TEST(JinjaLanguage, Loops) {
  check({
      {"{% for x in [5, 6] %}{{ loop }}{% endfor %}", "<LoopContext 1/2><LoopContext 2/2>"},
      {"{% for x in 'abc' %}{{ loop.index }}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}",
       "1a,2b,3c"},
      {"{% for a, b in {'x': 1}.items() %}{{ a }}={{ b }}{% endfor %}", "x=1"},
      {"{% for x in [] %}{% else %}none{% endfor %}", "none"},
      {"{% for x in range(9) if x % 2 %}{{ x }}/{{ loop.length }} {% endfor %}", "1/4 3/4 5/4 7/4 "},
      {"{% for x in range(9) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif "
       "%}{{ x }}"
       "{% endfor %}",
       "013"},
      {"{% for n in [1, [2, [3]]] recursive %}{% if n is iterable %}<{{ loop(n) }}>{% else %}{{ n }}{{ "
       "loop.depth }}"
       "{% endif %}{% endfor %}",
       "11<22<33>>"},
      {"{% for x in 'aabc' %}{% if loop.changed(x) %}{{ x }}{% endif %}{{ loop.cycle('-', '+') }}{% endfor "
       "%}",
       "a-+b-c+"},
      {"{% for x in 'abc' %}{{ loop.previtem }}{{ x }}{{ loop.nextitem }} {% endfor %}", "ab abc bc "},
      {"{% for x in [1] %}{% break %}{% else %}else{% endfor %}", "else"},
      {"{% set l = [1] %}{% for x in [1, 2] if x in l recursive %}{{ x }}{% endfor %}", "1"},
  });
}

TEST(JinjaLanguage, Scopes) {
  check(
      {
          {"{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}", "21"},
          {"{% set ns = namespace(x=1) %}{% for i in [1] %}{% set ns.x = 2 %}{% endfor %}{{ ns.x }}", "2"},
          {"{% if true %}{% set x = 3 %}{% endif %}{{ x }}", "3"},
          {"{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}", "3"},
          {"{% set x %}a{{ 1 }}b{% endset %}{{ x|upper }}", "A1B"},
          {"{% set a, b = 1, 2 %}{{ b }}{{ a }}", "21"},
          {"{% macro m() %}{{ later }}{% endmacro %}{% set later = 5 %}{{ m() }}", "5"},
          {"{% for i in [1, 2] %}{% if i == 1 %}{% set v = 7 %}{% endif %}[{{ v }}]{% endfor %}", "[7][ctx]"},
      },
      R"({"v": "ctx"})");
}

TEST(JinjaLanguage, Macros) {
  check({
      {"{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, c=3) }}", "121 123"},
      {"{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, x=2) }}", "(1,){'x': 2}"},
      {"{% macro m() %}<{{ caller(1) }}>{% endmacro %}{% call(x) m() %}{{ x }}!{% endcall %}", "<1!>"},
      {"{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "3210"},
      {"{% filter upper %}a{{ 1 }}b{% endfilter %}", "A1B"},
      {"{% generation %}x{% endgeneration %}", "x"},
  });
}

TEST(JinjaLanguage, Undefined) {
  check({
      {"{{ x is defined }}{{ x|default(1) }}{{ 1 if x }}{% for a in x %}{% endfor %}{{ x == y }}",
       "False1True"},
      {"{{ x.y }}", "error: template line 1, column 5: 'x' is undefined"},
      {"{{ {}.y.z }}", "error: template line 1, column 8: 'y' is undefined"},
      {"{{ x + 1 }}", "error: template line 1, column 6: 'x' is undefined"},
      {"\n{{ raise_exception('no') }}", "error: template line 2, column 19: no"},
  });
}

TEST(JinjaLanguage, Strings) {
  check({
      {"{{ 'straße'|length }} {{ 'ß'.upper() }} {{ 'ΑΣ'.lower() }} {{ 'ŉ'|upper }}", "6 SS ας ʼN"},
      {"{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a-b-c'.rsplit('-', 1) }}",
       "['a', 'b', '', 'c'] ['a', 'b'] ['a-b', 'c']"},
      {"{{ 'añb'[1] }}{{ 'añb'[::-1] }}{{ 'añb'[-2:] }}", "ñbñañb"},
      {"{{ 'aXbX'.replace('X', '-', 1) }} {{ 'aaa'|replace('a', 'b', 2) }}", "a-bX bba"},
      {"{{ '%s|%05.1f|%-4d|%x' % ('a', 2.25, 3, 255) }}", "a|002.2|3   |ff"},
      {"{{ '{} {1}'.format(1) }}",
       "error: template line 1, column 19: the format mixes automatic and given numbers"},
      {"{{ '{0:>5}|{x:.2f}|{0!r:^7}'.format('a', x=1.005) }}", "    a|1.00|  'a'  "},
      {"{{ '<a>'|safe + '<b>' }} {{ '<a>'|e }}", "<a>&lt;b&gt; &lt;a&gt;"},
      {"{{ 'hello world'|title }} {{ \"they're\".title() }} {{ 'aBC'|capitalize }}",
       "Hello World They'Re Abc"},
  });
}

TEST(JinjaLanguage, FiltersAndTests) {
  check({
      {"{{ [3, 1, 2]|sort|join(',') }} {{ ['b', 'A']|sort }}", "1,2,3 ['A', 'b']"},
      {"{{ [{'a': 1}, {'a': 2}]|map(attribute='a')|sum }} {{ ['x']|map('upper')|list }}", "3 ['X']"},
      {"{{ [1, 2, 3]|select('odd')|list }} {{ [1, 2]|reject('==', 1)|list }}", "[1, 3] [2]"},
      {"{% for k, g in [{'t': 'b'}, {'t': 'a'}, {'t': 'b'}]|groupby('t') %}{{ k }}{{ g|length }}{% endfor %}",
       "a1b2"},
      {"{{ 10 is divisibleby 5 }} {{ 3 is odd }} {{ none is none }} {{ 'a' is in 'abc' }}",
       "True True True True"},
      {"{{ {'b': 1, 'a': 2}|dictsort }} {{ 'x'|indent }} {{ 'a\nb'|indent(2) }}",
       "[('a', 2), ('b', 1)] x a\n  b"},
      {"{{ {'a': [1, 1.0, none, 'é\"<']}|tojson }}", "{\"a\": [1, 1.0, null, \"é\\\"<\"]}"},
      {"{{ [1, {}]|tojson(indent=2) }}", "[\n  1,\n  {}\n]"},
      {"{{ '\\x7f~\\x80é'|tojson(ensure_ascii=true) }}{{ '\\x7f'|tojson }}",
       "\"\\u007f~\\u0080\\u00e9\"\"\x7f\""},
      {"{{ 1|frobnicate }}", "error: template line 1, column 6: no filter named 'frobnicate'"},
      {"{% if true %}{% for a in [] if a|frobnicate %}{% endfor %}{% endif %}",
       "error: template line 1, column 34: no filter named 'frobnicate'"},
      {"{% if false %}{{ 1|frobnicate }}{% endif %}", ""},
      {"{{ [1, 2, 1].index(1, 1) }} {{ (1, 2, 1).index(1, -2) }} {{ ['a'].index('a', -9, 5) }}", "2 2 0"},
      {"{{ [1, 2, 1].index(1, 1, 2) }}", "error: template line 1, column 19: the value is not in the list"},
      {"{{ '42.9'|int }} {{ 'x'|int(7) }} {{ 'ff'|int(0, 16) }} {{ '1e3'|float }}", "42 7 255 1000.0"},
  });
}

TEST(JinjaLanguage, ChangesOnlyWhatItMade) {
  check({{"{% set l = [1] %}{% set _ = l.append(2) %}{{ l }}", "[1, 2]"},
         {"{{ given.append(2) }}",
          "error: template line 1, column 16: a template cannot change its input (list)"}},
        R"({"given": [1]})");
}

TEST(JinjaLanguage, Clock) {
  RenderOptions options;
  options.clock = 1234567890;
  EXPECT_EQ(text_of("{{ strftime_now('%d %b %Y %H:%M') }}", "{}", options), "13 Feb 2009 23:31");
}

TEST(JinjaLanguage, SyntaxErrorsHavePlaces) {
  check({
      {"a\n{% if x %}",
       "error: template line 2, column 11: unexpected end of template; expected 'endif' to close 'if'"},
      {"{{ 1 + }}", "error: template line 1, column 8: unexpected end of print statement"},
      {"{% include 'x' %}", "error: template line 1, column 4: 'include' is not supported in chat templates"},
      {"{% set 1 = 2 %}", "error: template line 1, column 8: can't assign to this expression"},
      {"{{ (1 }}", "error: template line 1, column 7: unexpected '}', expected ')'"},
      {"{% macro m(a, b, a=1) %}{% endmacro %}",
       "error: template line 1, column 18: two parameters have this name"},
  });
}

TEST(JinjaLanguage, Prose) {
  check({
      {"{{ 'the quick brown-fox jumps'|wordwrap(7) }}", "the\nquick\nbrown-\nfox\njumps"},
      {"{{ 'abcdefghij kl'|wordwrap(4, false) }}|{{ 'abcdefghij'|wordwrap(4) }}",
       "abcdefghij\nkl|abcd\nefgh\nij"},
      {"{{ 'a http://x.org/y). b@c.de <'|urlize }}",
       "a <a href=\"http://x.org/y\" rel=\"noopener\">http://x.org/y</a>). <a "
       "href=\"mailto:b@c.de\">b@c.de</a> &lt;"},
      {"{{ 'www.example.com/long'|urlize(8, true, target='_top') }}",
       "<a href=\"https://www.example.com/long\" rel=\"nofollow noopener\" target=\"_top\">www.exam...</a>"},
      {"{{ {'b': 1, 'a': [1, 'x']}|pprint }}", "{'a': [1, 'x'], 'b': 1}"},
      {"{{ ('word ' * 20)|pprint }}",
       "('word word word word word word word word word word word word word word word '\n 'word word word "
       "word word ')"},
      {"{% if false %}{{ [1]|random }}{% endif %}x", "x"},
      {"{{ 'abc'.translate('abc'.maketrans('ab', 'xy')) }}", "xyc"},
      {"{{ 'é'.encode() }} {{ 'é'.encode().decode() }} {{ (5).bit_length() }}", "b'\\xc3\\xa9' é 3"},
  });
}

// Jinja computes what is constant by other rules.
TEST(JinjaLanguage, Constants) {
  check({
      {"[{{ 'abc'[{}:1] }}]", "[]"},
      {"{% if false and x|nothing %}a{% else %}b{% endif %}", "b"},
      {"{{ false and x|nothing }}", "False"},
      {"{{ 1 > 2 > x['a':] }}", "False"},
  });
}

}  // namespace
}  // namespace brass::jinja
