// Which bytes of a rendered text came from input.
#include <gtest/gtest.h>

#include "text/jinja_support.h"
#include "text/jinja_text.h"

namespace brass::jinja {
namespace {

TEST(JinjaText, KeepsRuns) {
  Text text("ab", true);
  text.append("cd", false);
  text.append("ef", false);
  text.append("g", true);
  EXPECT_EQ(text.segments(), (std::vector<Segment>{{0, 2, true}, {2, 6, false}, {6, 7, true}}));
  EXPECT_EQ(text.slice(1, 7).segments(), (std::vector<Segment>{{0, 1, true}, {1, 5, false}, {5, 6, true}}));
  EXPECT_EQ(text.slice(3, 5).segments(), (std::vector<Segment>{{0, 2, false}}));
  EXPECT_TRUE(text.slice(2, 2).segments().empty());
  Text empty;
  empty.append(text, 2, 3);
  EXPECT_FALSE(empty.trusted());
}

TEST(JinjaText, NumbersAreKeptWhereBytesAre) {
  Text text("ab", Origin{5});
  text.append("cd", Origin{6});
  text.append("ef", false);
  EXPECT_EQ(text.segments(), (std::vector<Segment>{{0, 6, false}}));
  EXPECT_EQ(text.origin_at(1).id, 5u);
  EXPECT_EQ(text.origin_at(2).id, 6u);
  EXPECT_EQ(text.slice(3, 5).origin_at(0).id, 6u);
  EXPECT_EQ(text.origin_at(6).id, 1u);
  EXPECT_TRUE(Text("x", true).origin_at(0).trusted());
}

// How many bytes of a numbered text come out, whatever the template does to it.
TEST(JinjaProvenance, NumberedTextsAreCounted) {
  const auto shown = [](const char* source) {
    const nlohmann::ordered_json context = {{"a", " one "}, {"b", "tw\"o"}};
    const Numbers numbers = {{&context["a"], kFirstNumbered}, {&context["b"], kFirstNumbered + 1}};
    std::vector<size_t> out(2, 0);
    RenderOptions options;
    options.shown = &out;
    const auto rendered = (*Template::parse(source))->render(from_json(context, &numbers), options);
    EXPECT_TRUE(rendered) << source;
    return out;
  };
  using Counts = std::vector<size_t>;
  EXPECT_EQ(shown("{{ a }}{{ b }}"), (Counts{5, 4}));
  EXPECT_EQ(shown("{{ b|upper ~ a|trim }}{{ a.strip() }}"), (Counts{6, 4}));
  EXPECT_EQ(shown("{{ b|tojson }}{{ [a] }}"), (Counts{5, 5}));
  EXPECT_EQ(shown("{% if a and 'one' in a %}one{% endif %}{{ b[:2] }}"), (Counts{0, 2}));
  EXPECT_EQ(shown("{% set x %}<{{ a }}>{% endset %}{{ x|replace('n', '') }}{{ '%s' % b }}"), (Counts{4, 4}));
}

TEST(JinjaProvenance, InputStaysMarked) {
  const char* context = R"({"u": " <b> ", "d": {"k": "v"}, "l": ["x", "y"], "bos_token": "<s>", "n": 5})";
  EXPECT_EQ(marked("{{ bos_token }}a{{ u }}c", context), "[<s>a] <b> [c]");
  EXPECT_EQ(marked("{{ '<' + u|trim + '>' }}", context), "[<]<b>[>]");
  EXPECT_EQ(marked("{{ ('a' ~ u)[1:4] }}", context), " <b");
  EXPECT_EQ(marked("{{ u.replace('b', 'X') }}", context), " <[X]> ");
  EXPECT_EQ(marked("{{ 'a-b'.replace('-', u) }}", context), "[a] <b> [b]");
  EXPECT_EQ(marked("{{ l|join(', ') }}", context), "x[, ]y");
  EXPECT_EQ(marked("{{ u|upper }}{{ 'a'|upper }}", context), " <B> [A]");
  EXPECT_EQ(marked("{{ d|tojson }}", context), "{\"k\": \"v\"}");
  EXPECT_EQ(marked("{{ {'a': l[0]}|tojson }}", context), "[{\"a\": ]\"x\"[}]");
  EXPECT_EQ(marked("{{ [u] }}", context), "[[]' <b> '[]]");
  EXPECT_EQ(marked("{{ '%s!' % u }}{{ '{}!'.format(u) }}", context), " <b> [!] <b> [!]");
  EXPECT_EQ(marked("{% set x %}a{{ u }}{% endset %}{{ x }}", context), "[a] <b> ");
  EXPECT_EQ(marked("{% macro m(v) %}<{{ v }}>{% endmacro %}{{ m(u) }}", context), "[<] <b> [>]");
  EXPECT_EQ(marked("{{ 'a,b'.split(',') | first }}{{ l|first }}", context), "[a]x");
  EXPECT_EQ(marked("{{ u|e }}{{ u|indent(1, true) }}", context), " &lt;b&gt; [ ] <b> ");
  EXPECT_EQ(marked("{{ u[::-1] }}{{ u * 2 }}{{ u|title }}{{ u|reverse }}", context),
            " >b<  <b>  <b>  <B>  >b< ");
  EXPECT_EQ(marked("{{ u ~ 'a' ~ n }}{{ u|center(7) }}", context), " <b> [a5 ] <b> [ ]");
  EXPECT_EQ(marked("{{ u|string|list|join }}{{ '-'.join(l) }}", context), " <b> x[-]y");
  EXPECT_EQ(marked("{{ u|wordwrap(2) }}{{ u|trim|urlize }}", context), " <[\n]b>&lt;b&gt;");
  EXPECT_EQ(marked("{{ u|pprint }}{{ d|pprint }}", context), "' <b> '{'k': 'v'}");
  EXPECT_EQ(marked("{{ 'ab'.translate({97: u, 98: 60}) }}", context), " <b> <");
  EXPECT_EQ(marked("{{ '%c' % 60 }}{{ '{:c}'.format(60) }}", context), "<<");
  EXPECT_EQ(marked("{{ [1]|tojson(indent=u) }}", context), "[[\n] <b> [1\n]]");
  EXPECT_EQ(marked("{{ f.format('a') }}{{ f.format(7) }}", R"({"f": "{:<>3}"})"), "<<[a]<<7");
  EXPECT_EQ(marked("{% macro m() %}{{ kwargs }}{% endmacro %}{{ m(**d) }}", context), "[{]'k'[: ]'v'[}]");
  EXPECT_EQ(marked("{% set ns = namespace(t='') %}{% for x in l %}{% set ns.t = ns.t + x + ';' %}{% endfor "
                   "%}{{ ns.t }}",
                   context),
            "x[;]y[;]");
  EXPECT_EQ(marked("{% for k in d %}{{ k }}={{ d[k] }}{% endfor %}", context), "k[=]v");
}

}  // namespace
}  // namespace brass::jinja
