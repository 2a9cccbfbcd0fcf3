// Templates made to do harm: each ends in an error, soon and within its memory.
#include <gtest/gtest.h>

#include <ctime>

#include "text/jinja_support.h"

namespace brass::jinja {
namespace {

std::string repeated(std::string_view part, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; i++) out += part;
  return out;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void expect_error(const std::string& source, std::string_view words, const RenderOptions& options = {}) {
  const double start = cpu_seconds();
  const auto result = render(source, "{}", options);
  ASSERT_FALSE(result) << source.substr(0, 80);
  EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
  EXPECT_LT(cpu_seconds() - start, 20.0) << source.substr(0, 80);
}

// Budgets that a test meets sooner.
RenderOptions small() { return {.max_steps = 2'000'000, .max_memory = 32 << 20, .max_output = 4 << 20}; }

TEST(JinjaBombs, DeepNesting) {
  constexpr size_t kDeep = 100'000;
  expect_error("{{ " + repeated("(", kDeep) + "1" + repeated(")", kDeep) + " }}", "nested deeper");
  expect_error("{{ " + repeated("[", kDeep) + repeated("]", kDeep) + " }}", "nested deeper");
  expect_error("{{ " + repeated("{1:", kDeep) + "1" + repeated("}", kDeep) + " }}", "nested deeper");
  expect_error("{{ " + repeated("-", kDeep) + "1 }}", "nested deeper");
  expect_error("{{ " + repeated("not ", kDeep) + "1 }}", "nested deeper");
  expect_error("{{ 1" + repeated("+1", kDeep) + " }}", "nested deeper");
  expect_error("{{ 1" + repeated("|abs", kDeep) + " }}", "nested deeper");
  expect_error("{{ x" + repeated(".y", kDeep) + " }}", "nested deeper");
  expect_error("{{ x" + repeated("()", kDeep) + " }}", "nested deeper");
  expect_error("{{ 1" + repeated(" if 1 else 1", kDeep) + " }}", "nested deeper");
  expect_error("{{ f(" + repeated("a(", kDeep) + repeated(")", kDeep) + ") }}", "nested deeper");
  expect_error(repeated("{% if 1 %}", kDeep) + repeated("{% endif %}", kDeep), "nested deeper");
  expect_error(repeated("{% for i in [1] %}", kDeep), "nested deeper");
}

TEST(JinjaBombs, FlatIsNotDeep) {
  EXPECT_EQ(text_of("{{ " + repeated("'a' ~ ", 5000) + "'b' }}").size(), 5001u);
  EXPECT_EQ(text_of("{% if 0 %}" + repeated("{% elif 0 %}", 5000) + "{% else %}x{% endif %}"), "x");
}

TEST(JinjaBombs, Endless) {
  expect_error("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "deeper");
  expect_error(
      "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{{ a() }}{% endmacro %}{{ a() }}",
      "deeper");
  expect_error("{% for x in [[]] recursive %}{{ loop([x]) }}{% endfor %}", "deeper");
  expect_error("{% macro a(n) %}{% if n %}{{ a(n - 1) }}{{ a(n - 1) }}{% endif %}{% endmacro %}{{ a(100) }}",
               "steps", small());
  const std::string loops = repeated("{% for i in range(99999) %}", 8) + repeated("{% endfor %}", 8);
  expect_error(loops, "steps", small());
  expect_error("{% set l = [1] %}{% for x in l %}{% set _ = l.append(1) %}{% endfor %}", "", small());
  expect_error(
      "{{ range(99999)|map('string')|map('length')|map('string')|list|tojson|length }}"
      "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
      "", small());
}

TEST(JinjaBombs, Filters) {
  expect_error("{{ ('a' * 9999999)|list|pprint }}", "", small());
  expect_error("{{ ('a-' * 999999)|wordwrap(1) }}", "", small());
  expect_error("{% for i in range(9999) %}{{ ('a' * 9999)|urlize }}{% endfor %}", "", small());
  expect_error("{% for i in range(9999) %}{{ ('%s' % ('(' * 9999))|urlize }}{% endfor %}", "", small());
  expect_error("{{ ('a' * 99999).translate({97: 'b' * 99999}) }}", "memory", small());
  expect_error("{% for i in range(9999) %}{{ range(9999)|list|sort|join }}{% endfor %}", "", small());
}

// What went wrong says where.
TEST(JinjaBombs, ErrorsNameTheirPlace) {
  for (const char* source : {"\n {{ 1 / 0 }}", "\n {{ missing.x }}", "\n {% if %}", "\n {{ 'a' + 1 }}",
                             "\n {{ x|nothing }}", "\n {{ [1]|random }}", "\n {{ raise_exception('no') }}",
                             "\n {% for %}", "\n {{ 'a", "\n {{ range(10**9) }}",
                             "\n {% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "\n {% include 'x' %}"}) {
    const auto result = render(source);
    ASSERT_FALSE(result) << source;
    EXPECT_EQ(result.error().message.find("template line 2, column "), 0u) << result.error().message;
  }
}

TEST(JinjaBombs, Large) {
  expect_error("{{ range(10**9) }}", "range is too big");
  expect_error("{{ 'x' * 10**9 }}", "too large");
  expect_error("{{ 'x' * 10**30 }}", "too large");
  expect_error("{{ [0] * 10**9 }}", "too large");
  expect_error("{{ 10**100 }}", "too large");
  expect_error("{{ 'x'.center(10**9) }}", "");
  expect_error("{{ 'x'|center(10**9) }}", "");
  expect_error("{{ '%999999999d' % 1 }}", "too large");
  expect_error("{{ '{:999999999}'.format(1) }}", "too large");
  expect_error("{{ ('x' * 9999)|replace('x', 'y' * 999999) }}", "memory");
  expect_error("{{ ('x' * 9999).join(('y' * 99999)|list) }}", "memory");
  expect_error("{{ 'a\n' * 99999|indent(99999) }}", "");
  expect_error("{{ ('a\n' * 99999)|indent(99999) }}", "memory");
  expect_error("{{ [1]|batch(10**12, 'x')|list }}", "too large");
  expect_error(
      "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
      "memory");
  expect_error("{% for i in range(99999) %}{{ 'x' * 99999 }}{% endfor %}", "writes more");
  expect_error(
      "{% set ns = namespace(l=[]) %}{% for i in range(40) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}"
      "{{ ns.l }}",
      "", small());
}

// Values nested 100,000 deep: printing them is an error, letting go of them is not a stack overflow.
TEST(JinjaBombs, DeepValues) {
  const std::string nest =
      "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}";
  EXPECT_EQ(text_of(nest), "");
  expect_error(nest + "{{ ns.l }}", "");
  expect_error(nest + "{{ ns.l|tojson }}", "");
  expect_error(nest + "{{ ns.l == [ns.l] }}", "");
  EXPECT_EQ(text_of("{% set l = [] %}{% set _ = l.append(l) %}{{ l }}"), "[[...]]");
  EXPECT_EQ(text_of("{% set d = {} %}{% set _ = d.update({'d': d}) %}{{ d }}"), "{'d': {...}}");
  EXPECT_EQ(text_of("{% set ns = namespace() %}{% set ns.x = ns %}x"), "x");
  expect_error("{% set l = [] %}{% set _ = l.append(l) %}{{ l|tojson }}", "");
  expect_error(
      "{% set ns = namespace(t=()) %}{% for i in range(999) %}{% set ns.t = (ns.t,) %}{% endfor %}{{ {ns.t: "
      "1} }}",
      "dict key");
}

TEST(JinjaBombs, Json) {
  EXPECT_FALSE(parse_json(repeated("[", 100'000)));
  EXPECT_FALSE(parse_json(repeated("{\"a\":", 100'000) + "1" + repeated("}", 100'000)));
  EXPECT_FALSE(parse_json("\"\xff\""));
  EXPECT_FALSE(parse_json("\"\\ud800\""));
  EXPECT_FALSE(parse_json(""));
  EXPECT_TRUE(parse_json("{\"a\": \"[[[[\"}"));
  const auto error = parse_json("{\"a\": 1,\n \"b\": }");
  ASSERT_FALSE(error);
  EXPECT_NE(error.error().message.find("JSON line 2, column 7"), std::string::npos) << error.error().message;
}

}  // namespace
}  // namespace brass::jinja
