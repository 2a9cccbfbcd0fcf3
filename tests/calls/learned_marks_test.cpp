// Marks around parameters that are learned from a template: parameters between their names, objects and lists in such marks,
// values that say what they are. Read back under every cut, and written by the grammar.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "calls/grammar_walk.h"
#include "calls/renders.h"
#include "calls/streamed.h"
#include "text/calls/call_grammar.h"
#include "text/calls/detect.h"
#include "text/calls/parser.h"

namespace brass::calls {
namespace {

using nlohmann::json;

// `mark`: in front of every tag.
std::string template_with(const std::string& mark, bool nested) {
  std::string source = R"({%- set m = 'MARK' -%}
{%- macro inside(v) -%}
{%- if v is mapping and NESTED -%}{%- for k, x in v.items() -%}{{ m }}<{{ k }}>{{ inside(x) }}{{ m }}</{{ k }}>{%- endfor -%}
{%- elif v is iterable and v is not string and NESTED -%}{%- for x in v -%}{{ m }}<entry>{{ inside(x) }}{{ m }}</entry>{%- endfor -%}
{%- elif v is string -%}{{ v }}
{%- else -%}{{ v | tojson }}
{%- endif -%}
{%- endmacro -%}
{%- if tools %}Tools: {{ tools | tojson }}{% endif -%}
{%- for message in messages -%}
{{ '<|' ~ message.role ~ '|>' }}{{ message.content or '' }}
{%- if message.tool_calls -%}
{{ m }}<calls>
{% for call in message.tool_calls -%}
{{ m }}<run name="{{ call.function.name }}">
{%- for k, x in call.function.arguments.items() -%}{{ m }}<{{ k }}>{{ inside(x) }}{{ m }}</{{ k }}>{%- endfor -%}
{{ m }}</run>
{% endfor -%}
{{ m }}</calls>
{%- endif -%}
{{ '<|end|>' }}
{%- endfor -%}
{%- if add_generation_prompt %}<|assistant|>{% endif %})";
  const auto put = [&](std::string_view name, std::string_view text) {
    for (size_t at = 0; (at = source.find(name, at)) != std::string::npos; at += text.size())
      source.replace(at, name.size(), text);
  };
  put("MARK", mark);
  put("NESTED", nested ? "true" : "false");
  return source;
}

void check_template(const std::string& source, const std::string& item) {
  const auto loaded = ChatTemplate::load(source);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const CallFormat format = find_format(**loaded, {}).format;
  EXPECT_EQ(format.family, "from the template");
  EXPECT_EQ(format.parameter.item, item);
  const ToolSet set(tools());
  const ordered_json before = ordered_json::array({{{"role", "user"}, {"content", "What is up?"}}});
  int checked = 0;
  for (const Case& given : cases()) {
    if (!given.reasoning.empty()) continue;
    const auto turn = render_turn(**loaded, before, message_of(given), tools(), {});
    ASSERT_TRUE(turn) << given.name;
    const ParsedMessage got = parse_reply(format, set, {}, *turn);
    ASSERT_EQ(got.calls.size(), given.calls.size()) << given.name << "\n" << *turn;
    EXPECT_EQ(got.content, given.content) << *turn;
    for (size_t i = 0; i < got.calls.size(); i++) {
      EXPECT_EQ(got.calls[i].name, given.calls[i].first);
      EXPECT_EQ(json::parse(got.calls[i].arguments, nullptr, false),
                json::parse(given.calls[i].second.dump()))
          << given.name << ": " << got.calls[i].arguments << "\n"
          << *turn;
    }
    for (size_t cut = 1; cut < turn->size(); cut++)
      ASSERT_EQ(text_of(stream(format, set, {}, *turn, {cut})), text_of(got)) << *turn << " cut at " << cut;
    checked++;
  }
  EXPECT_GE(checked, 25);
}

TEST(NameTags, AreLearned) {
  for (const char* mark : {"", "::", "]<]x[>["})
    for (const bool nested : {false, true})
      check_template(template_with(mark, nested), nested ? "entry" : "");
}

TEST(TypedMarks, AreLearned) {
  // Strings alone are marked; and each type by its name.
  for (const bool named : {false, true}) {
    std::string source = R"({%- if tools %}Tools: {{ tools | tojson }}{% endif -%}
{%- for message in messages -%}
{{ '<|' ~ message.role ~ '|>' }}{{ message.content or '' }}
{%- for call in message.tool_calls or [] -%}
<do this="{{ call.function.name }}">
{%- for k, x in call.function.arguments.items() -%}
<with key="{{ k }}" json="{{ 'no' if x is string else OTHER }}">{{ x if x is string else x | tojson }}</with>
{%- endfor -%}
</do>
{%- endfor -%}
{{ '<|end|>' }}
{%- endfor -%}
{%- if add_generation_prompt %}<|assistant|>{% endif %})";
    source.replace(source.find("OTHER"), 5, named ? "('number' if x is number else 'other')" : "'yes'");
    check_template(source, "");
  }
}

// Objects without any mark: one behind the other, or a list of them.
TEST(BareObjects, AreLearned) {
  for (const bool list : {false, true}) {
    std::string source = R"({%- if tools %}Tools: {{ tools | tojson }}{% endif -%}
{%- for message in messages -%}
{{ '<|' ~ message.role ~ '|>' }}{{ message.content ~ '\n' if message.content else '' }}
{%- for call in message.tool_calls or [] -%}
{{ OPEN if loop.first }}{{ {'name': call.function.name, 'input': call.function.arguments} | tojson }}
{{- CLOSE if loop.last else ', ' }}
{%- endfor -%}
{{ '<|end|>' }}
{%- endfor -%}
{%- if add_generation_prompt %}<|assistant|>{% endif %})";
    source.replace(source.find("OPEN"), 4, list ? "'['" : "''");
    source.replace(source.find("CLOSE"), 5, list ? "']'" : "''");
    check_template(source, "");
  }
}

// Reasoning between marks that nobody knows, which the prompt has begun.
TEST(Fences, AreLearnedWhereThePromptBeginsThem) {
  for (const bool closed : {false, true}) {
    const auto loaded = ChatTemplate::load(std::string(R"({%- for message in messages -%}
{{ '<|' ~ message.role ~ '|>' }}
{%- if message.role == 'assistant' %}<ponder:x>{{ message.reasoning_content or '' }}</ponder:x>{% endif -%}
{{ message.content or '' }}
{%- for call in message.tool_calls or [] -%}
<do>{{ {'name': call.function.name, 'arguments': call.function.arguments} | tojson }}</do>
{%- endfor -%}
{{ '<|end|>' }}
{%- endfor -%}
{%- if add_generation_prompt %}<|assistant|><ponder:x>)") +
                                           (closed ? "</ponder:x>{% endif %}" : "{% endif %}"));
    ASSERT_TRUE(loaded) << loaded.error().message;
    const ReplyForm form = find_format(**loaded, {});
    EXPECT_EQ(form.format.reasoning.begin, "<ponder:x>");
    EXPECT_EQ(form.format.reasoning.end, "</ponder:x>");
    EXPECT_EQ(form.in_reasoning, !closed);
    EXPECT_EQ(form.format.call_begin, "<do>");
    const ParsedMessage got = parse_reply(
        form.format, {}, {true, 0}, "Hm.</ponder:x>So.<do>{\"name\": \"f\", \"arguments\": {}}</do><|end|>");
    EXPECT_EQ(text_of(got).substr(0, 30), "content: So.\nreasoning: Hm.\nca");
  }
}

constexpr const char* kTools = R"([{"name": "put", "parameters": {"type": "object", "properties": {
    "text": {"type": "string"}, "n": {"type": "integer"}, "any": {},
    "point": {"$ref": "#/$defs/point"},
    "rows": {"type": "array", "items": {"type": "array", "items": {"type": ["string", "integer"]}}},
    "either": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/point"}]}},
    "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}, "label": {"type": "string"},
      "tags": {"type": "array", "items": {"type": "string"}}, "next": {"$ref": "#/$defs/point"}}}}}}])";

CallFormat nested_format() {
  const auto loaded = ChatTemplate::load(template_with("::", true));
  EXPECT_TRUE(loaded);
  return find_format(**loaded, {}).format;
}

// As models write them: types by the schema, to any depth, blanks between, JSON in the place of tags.
TEST(NameTags, AreReadByTheSchema) {
  const CallFormat format = nested_format();
  const ToolSet set(ordered_json::parse(kTools));
  const std::pair<const char*, const char*> kArguments[] = {
      {"::<point>::<x>1.5::</x>::<label>2::</label>::</point>", R"({"point": {"x": 1.5, "label": "2"}})"},
      {"::<point>\n::<x>1::</x>\n::</point>\n", R"({"point": {"x": 1}})"},
      {"::<point>::<next>::<next>::<x>3::</x>::</next>::</next>::</point>",
       R"({"point": {"next": {"next": {"x": 3}}}})"},
      {"::<point>::<tags>::<entry>1::</entry>::<entry>a::</entry>::</tags>::</point>",
       R"({"point": {"tags": ["1", "a"]}})"},
      {"::<point>::<tags>::</tags>::</point>", R"({"point": {"tags": []}})"},
      {"::<point>::</point>", R"({"point": {}})"},
      {"::<point>{\"x\": 2}::</point>", R"({"point": {"x": 2}})"},
      {"::<rows>::<entry>::<entry>1::</entry>::<entry>b::</entry>::</entry>::<entry>[2]::</entry>::</rows>",
       R"({"rows": [[1, "b"], [2]]})"},
      {"::<rows>::<row>[1]::</row>::</rows>", R"({"rows": [[1]]})"},
      {"::<any>::<a>1::</a>::<b>::<entry>x::</entry>::</b>::</any>", R"({"any": {"a": 1, "b": ["x"]}})"},
      {"::<any>::<entry>true::</entry>::</any>", R"({"any": [true]})"},
      {"::<either>::<x>1::</x>::</either>", R"({"either": {"x": 1}})"},
      {"::<either>null::</either>", R"({"either": null})"},
      {"::<text>::<b>not ::</b> tags::</text>", R"({"text": "::<b>not ::</b> tags"})"},
      {"::<text>::</n>::</text>::<n>4::</n>", R"({"text": "::</n>", "n": 4})"},
      {"::<more>7::</more>", R"({"more": 7})"},
      {"", "{}"},
  };
  for (const auto& [written, wanted] : kArguments) {
    const std::string text =
        std::string("Now.::<calls>\n::<run name=\"put\">") + written + "::</run>\n::</calls>";
    const ParsedMessage got = parse_reply(format, set, {}, text);
    ASSERT_EQ(got.calls.size(), 1u) << text;
    EXPECT_EQ(got.content, "Now.");
    EXPECT_EQ(json::parse(got.calls[0].arguments, nullptr, false), json::parse(wanted)) << text;
    for (size_t cut = 1; cut < text.size(); cut++)
      ASSERT_EQ(text_of(stream(format, set, {}, text, {cut})), text_of(got)) << text << " cut at " << cut;
  }
}

TEST(NameTags, WhatDoesNotCloseIsText) {
  const CallFormat format = nested_format();
  const ToolSet set(ordered_json::parse(kTools));
  for (const char* written : {"::<point>::<x>1::</y>::</point>::</run>", "::<point>::<x>1::</x>::</run>",
                              "::</x>::</run>", "::<>1::</>::</run>", "::<n>1::</n>"}) {
    const std::string text = std::string("::<calls>\n::<run name=\"put\">") + written + "\n::</calls>";
    const ParsedMessage got = parse_reply(format, set, {}, text);
    EXPECT_TRUE(got.calls.empty()) << text << "\n" << text_of(got);
    EXPECT_EQ(got.content, text);
  }
  std::string deep = "::<calls>\n::<run name=\"put\">";
  for (int i = 0; i < 100'000; i++) deep += "::<any>";
  EXPECT_EQ(parse_reply(format, set, {}, deep).content.size(), deep.size());
}

TEST(NameTags, TheGrammarIsRead) {
  const CallFormat format = nested_format();
  const ToolSet set(ordered_json::parse(kTools));
  CallGrammarOptions options;
  options.choice = ToolChoice::kRequired;
  const auto made = call_grammar(format, set, options);
  ASSERT_TRUE(made) << made.error().message;
  grammar::RandomWalk walk(*made->grammar);
  Rng rng(3);
  int calls = 0;
  for (int i = 0; i < 40; i++) {
    const auto text = walk.text(rng, 30 + static_cast<int>(rng.below(300)));
    if (!text) continue;
    const ParsedMessage got = parse_reply(format, set, {}, *text);
    EXPECT_FALSE(got.calls.empty()) << *text;
    EXPECT_EQ(got.content, "") << *text;
    for (const ParsedCall& call : got.calls) {
      const json arguments = json::parse(call.arguments, nullptr, false);
      ASSERT_TRUE(arguments.is_object()) << *text;
      if (arguments.contains("text")) {
        EXPECT_TRUE(arguments["text"].is_string()) << *text;
      }
      if (arguments.contains("n")) {
        EXPECT_TRUE(arguments["n"].is_number()) << *text;
      }
      calls++;
    }
  }
  EXPECT_GT(calls, 20);
}

}  // namespace
}  // namespace brass::calls
