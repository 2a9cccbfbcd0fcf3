// Blocks and `self`, autoescape, integers of any length: one behaviour a line, expectations are Jinja2's.
#include <gtest/gtest.h>

#include "text/jinja_support.h"

namespace brass::jinja {
namespace {

const char* const kContext =
    R"({"s": "<b>&", "yes": true, "no": false, "l": ["<", "&"], "n": 123456789012345678901234567890, "m": -1000000000000000000000000000000000000000000000, "o": {"id": 18446744073709551616, "ids": [-9223372036854775809, 170141183460469231731687303715884105728]}})";

struct Case {
  const char* source;
  const char* expected;  // null: an error
};

void check(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    const std::string text = text_of(c.source, kContext);
    if (c.expected == nullptr) {
      EXPECT_TRUE(text.starts_with("error: template line 1, column ")) << c.source << " gives " << text;
    } else {
      EXPECT_EQ(text, c.expected) << c.source;
    }
  }
}

TEST(JinjaBlocks, BlocksAndSelf) {
  check({
      {"{% block a %}x{% endblock %}{{ self.a() }}{{ self['a']()|upper }}", "xxX"},
      {"{{ self.a() }}|{% block a %}{{ 1 + 1 }}{% endblock %}", "2|2"},
      {"{{ self }}|{{ self.a }}|{{ self.a is defined }}|{{ self is iterable }}",
       "<TemplateReference None>||False|True"},
      {"{% block a %}{% endblock %}{{ self.a.name }}{{ self.a is callable }}{{ self.a.super }}", "aTrue"},
      {"{% block a %}{{ super }}|{{ self.b() }}{% endblock %}{% block b %}B{% endblock %}", "|BB"},
      {"{% block a %}{{ super() }}{% endblock %}", nullptr},
      {"{% block a %}x{% endblock %}{{ self.a(1) }}", nullptr},
      {"{% set x = 1 %}{% block a %}{{ x }}{% set x = 2 %}{{ x }}{% endblock %}{{ x }}{{ self.a() }}",
       "12112"},
      {"{% macro m() %}{{ self.a() }}{% endmacro %}{{ m() }}{% block a %}x{% endblock %}", "xx"},
      {"{% set self = 3 %}{{ self }}", "3"},
      {"{% for x in self %}{% endfor %}", nullptr},
  });
}

TEST(JinjaBlocks, ScopedBlocks) {
  check({
      {"{% for x in [1, 2] %}{% block a scoped %}{{ x }}{{ loop.index0 }}{% endblock %}{% endfor %}", "1021"},
      {"{% for x in [1, 2] %}{% block a %}{{ x }}{% endblock %}{% endfor %}", ""},
      {"{% with y = 5 %}{% block a scoped %}{{ y }}{% block b %}{{ y }}{% endblock %}{% endblock %}{% "
       "endwith %}{{ self.a() }}",
       "55"},
      {"{% set x = 1 %}{% with x = 2 %}{% block a scoped %}{{ x }}{{ self.b() }}{% endblock %}{% endwith "
       "%}{% block b %}{{ x }}{% endblock %}",
       "221"},
      {"{% macro m(p, q=2) %}{% block a scoped %}{{ p }}{{ q }}{% endblock %}{% endmacro %}{{ m(1) }}", "12"},
      {"{% block a required %} {% endblock %}", nullptr},
      {"{% if no %}{% block a scoped required %}\n{% endblock %}{% endif %}{{ '[' ~ self.a() ~ ']' }}", "[]"},
      {"{% block a required %}x{% endblock %}", nullptr},
      {"{% block a required scoped %}{% endblock %}", nullptr},
      {"{% block scoped %}x{% endblock scoped %}", "x"},
      {"{% for x in [] %}{% else %}{% block a scoped %}{{ x }}{% endblock %}{% endfor %}", ""},
  });
}

TEST(JinjaBlocks, Autoescape) {
  check({
      {"{% autoescape true %}<i>{{ s }}{{ '<' }}{{ 1 < 2 }}{{ s|safe }}{{ s|e }}{{ s|forceescape }}{% "
       "endautoescape %}{{ s }}",
       "<i>&lt;b&gt;&amp;&lt;True<b>&&lt;b&gt;&amp;&lt;b&gt;&amp;<b>&"},
      {"{% autoescape yes %}{{ s }}{{ '<' }}{{ '<' ~ s }}{% endautoescape %}",
       "&lt;b&gt;&amp;<&lt;&lt;b&gt;&amp;"},
      {"{% autoescape no %}{{ s }}{{ '<' }}{% endautoescape %}|{% autoescape nothing %}{{ s }}{% "
       "endautoescape %}",
       "<b>&<|<b>&"},
      {"{% autoescape true %}{{ s ~ '<i>'|safe }}|{{ '<' ~ '<i>'|safe }}|{{ s ~ 1 }}|{{ s + '<i>'|safe }}{% "
       "endautoescape %}",
       "&lt;b&gt;&amp;<i>|&lt;&lt;i&gt;|&lt;b&gt;&amp;1|&lt;b&gt;&amp;<i>"},
      {"{% autoescape true %}{% autoescape false %}{{ s }}{% endautoescape %}{{ s }}{% endautoescape %}",
       "<b>&&lt;b&gt;&amp;"},
      {"{% macro mac(x) %}<m>{{ x }}{% endmacro %}{{ mac(s) }}{% autoescape true %}{{ mac(s) }}{{ "
       "mac(s)|upper }}{{ mac(s) is escaped }}{% endautoescape %}",
       "<m><b>&<m><b>&<M><B>&True"},
      {"{% autoescape true %}{% macro mac(x) %}<m>{{ x }}{{ '<' }}{% endmacro %}{{ mac(s) }}{% endautoescape "
       "%}{{ mac(s) }}",
       nullptr},
      {"{% autoescape true %}{% set x %}<i>{{ s }}{% endset %}{{ x }}{{ x is escaped }}{% set y %}{{ 5 }}{% "
       "endset %}{{ [y] }}{% endautoescape %}",
       "<i>&lt;b&gt;&amp;True[Markup(&#39;5&#39;)]"},
      {"{% autoescape true %}{% set x | upper %}<i>{{ s }}{% endset %}{{ x }}{% endautoescape %}{{ [x] }}",
       "<I>&LT;B&GT;&AMP;[Undefined]"},
      {"{% autoescape true %}{% filter upper %}<i>{{ s }}{% endfilter %}{% filter replace('<', s) %}<i>{% "
       "endfilter %}{% endautoescape %}",
       "<I>&LT;B&GT;&AMP;&lt;b&gt;&amp;i>"},
      {"{% autoescape true %}{{ l|join(',') }}|{{ l|join('<') }}|{{ l|join('<i>'|safe) }}|{{ ['<', "
       "'<i>'|safe]|join('&') }}{% endautoescape %}",
       "&lt;,&amp;|&lt;&lt;&amp;|&lt;<i>&amp;|&lt;&amp;<i>"},
      {"{% autoescape true %}{{ s|replace('b', '<') }}|{{ s|replace('<', 'x'|safe) }}|{{ s|safe|replace('b', "
       "'<') }}|{{ s|replace('b'|safe, '<') }}{% endautoescape %}",
       "&lt;&lt;&gt;&amp;|&lt;b&gt;&amp;|<&lt;>&|&lt;&lt;&gt;&amp;"},
      {"{% autoescape true %}{{ {'a': s}|xmlattr }}|{{ 'www.python.org'|urlize }}|{{ l|tojson }}{% "
       "endautoescape %}",
       " a=\"&lt;b&gt;&amp;\"|<a href=\"https://www.python.org\" "
       "rel=\"noopener\">www.python.org</a>|[&#34;&lt;&#34;, &#34;&amp;&#34;]"},
      {"{% autoescape true %}{% block a %}{{ s }}{% endblock %}{{ self.a() }}{% endautoescape %}{{ "
       "[self.a()] }}",
       "<b>&<b>&['<b>&']"},
      {"{% for x in [1, 2] %}{% autoescape true %}{{ s }}{% if x == 1 %}{% continue %}{% endif %}{% "
       "endautoescape %}{% set y %}<{% endset %}{{ [y] }}{% endfor %}",
       "&lt;b&gt;&amp;&lt;b&gt;&amp;[Markup('<')]"},
      {"{% for n in [['<'], '&'] recursive %}{% autoescape true %}{{ loop(n) if n is not string else n }}{% "
       "endautoescape %}{% endfor %}",
       "&amp;lt;&amp;"},
      {"{% autoescape true %}{% for n in [['<'], '&'] recursive %}{{ loop(n) if n is not string else n }}{% "
       "endfor %}{% endautoescape %}",
       "&lt;&amp;"},
      {"{% autoescape %}{% endautoescape %}", nullptr},
      {"{% autoescape true %}{{ s }}", nullptr},
      {"{% set x = 1 %}{% autoescape true %}{% set x = 2 %}{{ x }}{% endautoescape %}{{ x }}", "21"},
      {"{% autoescape true %}{% call(x) mac() %}<{{ x }}{% endcall %}{% endautoescape %}{% macro mac() %}{{ "
       "caller(s) }}{% endmacro %}",
       nullptr},
      {"{% macro mac() %}{{ caller(s) }}{% endmacro %}{% autoescape true %}{% call(x) mac() %}<{{ x }}{% "
       "endcall %}{% endautoescape %}",
       "<&lt;b&gt;&amp;"},
  });
}

TEST(JinjaBlocks, LongIntegers) {
  check({
      {"{{ n }} {{ m }} {{ [n] }} {{ o }} {{ o|tojson }} {{ n|tojson }} {{ m|string }}",
       "123456789012345678901234567890 -1000000000000000000000000000000000000000000000 "
       "[123456789012345678901234567890] {'id': 18446744073709551616, 'ids': [-9223372036854775809, "
       "170141183460469231731687303715884105728]} {\"id\": 18446744073709551616, \"ids\": "
       "[-9223372036854775809, 170141183460469231731687303715884105728]} 123456789012345678901234567890 "
       "-1000000000000000000000000000000000000000000000"},
      {"{{ m is integer }}{{ m is number }}{{ m is float }}{{ m is string }}{{ m is boolean }} {{ m|int }}",
       "TrueTrueFalseFalseFalse -1000000000000000000000000000000000000000000000"},
      {"{{ m == m }}{{ m < 0 }}{{ m < 1.5 }}{{ m > -1e44 }}{{ m > -1e46 }}{{ n > 1e22 }}{{ o.ids[1] > "
       "o.ids[0] }}{{ o.ids[1] > n }}{{ m in [1, m] }}",
       "TrueTrueTrueFalseTrueTrueTrueTrueTrue"},
      {"{{ o.ids|sort }} {{ [n, m, 1.5]|max }} {{ '%s' % m }} {{ '{}'.format(m) }} {{ m ~ '' }}",
       "[-9223372036854775809, 170141183460469231731687303715884105728] 123456789012345678901234567890 "
       "-1000000000000000000000000000000000000000000000 -1000000000000000000000000000000000000000000000 "
       "-1000000000000000000000000000000000000000000000"},
      {"{{ 'no' if not m }}{{ {'a': m}|tojson(indent=1) }}",
       "{\n \"a\": -1000000000000000000000000000000000000000000000\n}"},
  });
}

TEST(JinjaBlocks, Escapes) {
  check({
      {"{{ '\\é' }}{{ '\\€' }}{{ '\\🙂' }}{{ '\\\\é' }}{{ '\\q' }}", "\\xe9\\u20ac\\U0001f642\\é\\q"},
  });
}

}  // namespace
}  // namespace brass::jinja
