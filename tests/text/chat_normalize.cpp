// Shapes of messages, mended for templates that take only some.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/chat.h"
#include "text/json_guard.h"

namespace brass {
namespace {

struct Outcome {
  std::string text;
  std::vector<std::string> warnings;
};

Outcome chat(std::string_view source, std::string_view messages, std::string_view tools = "null") {
  Outcome out;
  ChatOptions options;
  options.warnings = &out.warnings;
  const auto loaded = ChatTemplate::load(source);
  if (!loaded) return {"error: " + loaded.error().message, {}};
  const auto given = parse_json_exact(messages), offered = parse_json_exact(tools);
  const auto rendered = (*loaded)->render(*given, *offered, options);
  out.text = rendered ? rendered->text : "error: " + rendered.error().message;
  return out;
}

constexpr const char* kChatml =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<a>{% "
    "endif %}";
constexpr const char* kAlternating =
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ "
    "raise_exception('alternate') }}"
    "{% endif %}[{{ m.role }}:{{ m.content|trim }}]{% endfor %}";

TEST(ChatNormalize, ChatmlShapes) {
  EXPECT_EQ(chat(kChatml, R"([{"role":"developer","content":"d"},{"role":"system","content":"s"},
                             {"role":"user","content":"u"}])")
                .text,
            "<system>d\n\ns<user>u<a>");
  EXPECT_EQ(
      chat(kChatml, R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])")
          .text,
      "<user>a\nb<a>");
  EXPECT_EQ(chat(kChatml, R"([{"role":"user","content":"u"},{"role":"assistant","content":null}])").text,
            "<user>u<assistant><a>");
}

TEST(ChatNormalize, AlternationIsRestored) {
  EXPECT_EQ(chat(kAlternating, R"([{"role":"system","content":"s"},{"role":"user","content":"a"},
                                  {"role":"user","content":"b"},{"role":"assistant","content":"c"}])")
                .text,
            "[user:s\n\na\n\nb][assistant:c]");
  EXPECT_EQ(chat(kAlternating, R"([{"role":"assistant","content":"hi"},{"role":"user","content":"a"}])").text,
            "[user:][assistant:hi][user:a]");
}

TEST(ChatNormalize, CallsBecomeTextWhereTheyHaveNoPlace) {
  const auto out = chat(kAlternating, R"([{"role":"user","content":"q"},{"role":"assistant","content":"",
      "tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}}]},
      {"role":"tool","tool_call_id":"1","content":"r"}])");
  EXPECT_EQ(out.text,
            "[user:q][assistant:<tool_call>\n{\"name\":\"f\",\"arguments\":{\"x\":1}}\n</tool_call>]"
            "[user:<tool_response>\nr\n</tool_response>]");
}

TEST(ChatNormalize, ArgumentsTakeTheFormThatTheTemplatePrints) {
  const char* conversation = R"([{"role":"user","content":"q"},{"role":"assistant","content":"",
      "tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}}]}])";
  const std::string loop =
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }} ";
  EXPECT_EQ(chat(loop + "{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}", conversation).text,
            "qf {\"x\": 1}");
  EXPECT_EQ(chat(loop + "{{ '' + c.function.arguments }}{% endfor %}{% endfor %}", conversation).text,
            "qf {\"x\": 1}");
  EXPECT_EQ(chat(loop + "{{ c.function.arguments }}{% endfor %}{% endfor %}", conversation).text,
            "qf {\"x\": 1}");
}

// Integers of more than 64 bits, however the arguments are given and printed.
TEST(ChatNormalize, LongIntegersInArgumentsStay) {
  const std::string number = "123456789012345678901234567890", longer = "-1" + std::string(50, '0');
  const std::string arguments = "{\"id\": " + number + ", \"ids\": [1.5, " + longer + "]}";
  std::string as_text = arguments;
  for (size_t at = 0; (at = as_text.find('"', at)) != std::string::npos; at += 2) as_text.insert(at, "\\");
  const auto messages = [](const std::string& given) {
    return R"([{"role":"user","content":"u"},{"role":"assistant","tool_calls":[{"id":"1","type":"function",
        "function":{"name":"f","arguments":)" +
           given + "}}]}]";
  };
  const std::string loop =
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }} ";
  const std::string as_object = loop + "{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}",
                    as_string = loop + "{{ '' + c.function.arguments }}{% endfor %}{% endfor %}";
  EXPECT_EQ(chat(as_object, messages(arguments)).text, "uf " + arguments);
  EXPECT_EQ(chat(as_object, messages("\"" + as_text + "\"")).text, "uf " + arguments);
  const std::string text = chat(as_string, messages(arguments)).text;
  EXPECT_NE(text.find(number), std::string::npos) << text;
  EXPECT_NE(text.find(longer), std::string::npos) << text;
  EXPECT_NE(chat(kChatml, messages(arguments)).text.find(number), std::string::npos);
}

TEST(ChatNormalize, IdsForMistral) {
  const std::string source =
      "{% for m in messages %}{% for c in m.tool_calls or [] %}{% if c.id|length != 9 %}{{ "
      "raise_exception('id') }}"
      "{% endif %}{{ c.id }}{{ c.function.name }}{{ c.function.arguments|tojson }}{% endfor %}"
      "{% if m.role == 'tool' %}{{ m.tool_call_id }}{% endif %}{{ m.content }}{% endfor %}";
  const auto out = chat(source, R"([{"role":"user","content":"q"},{"role":"assistant","content":"",
      "tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":{}}}]},
      {"role":"tool","tool_call_id":"call_1","content":"r"}])");
  ASSERT_EQ(out.text.size(), 1 + 9 + 3 + 9 + 1u) << out.text;
  EXPECT_EQ(out.text.substr(1, 9), out.text.substr(13, 9));
}

// Kimi's templates write the id of a call alone, which names the function.
TEST(ChatNormalize, IdsThatNameFunctions) {
  const std::string source =
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}<{{ c.id }}>{{ "
      "c.function.arguments|tojson }}{% endfor %}{% if m.role == 'tool' %} of {{ m.tool_call_id }}{% endif "
      "%}{% endfor %}";
  const auto out =
      chat(source, R"([{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[
      {"id":"call_1","type":"function","function":{"name":"f","arguments":{}}},
      {"id":"functions.g:7","type":"function","function":{"name":"g","arguments":{}}}]},
      {"role":"tool","tool_call_id":"functions.g:7","content":"r"},{"role":"tool","tool_call_id":"call_1","content":"s"}])");
  EXPECT_EQ(out.text, "q<functions.f:0>{}<functions.g:7>{}r of functions.g:7s of functions.f:0");
}

// What clients wrote before there were lists of calls.
TEST(ChatNormalize, OneFunctionCallIsACall) {
  const std::string source =
      "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% for c in m.tool_calls or [] %}<{{ c.id }}{{ "
      "c.function.name }}{{ c.function.arguments|tojson }}>{% endfor %}{% if m.role == 'tool' %} of {{ "
      "m.tool_call_id }}{% endif %}{% endfor %}";
  const auto out = chat(source, R"([{"role":"user","content":"q"},{"role":"assistant","content":null,
      "function_call":{"name":"f","arguments":"{\"x\": 1}"}},{"role":"function","name":"f","content":"r"},
      {"role":"assistant","content":"a","function_call":null}])");
  EXPECT_EQ(out.text, "[user]q[assistant]<call_1f{\"x\": 1}>[tool]r of call_1[assistant]a");
}

TEST(ChatNormalize, PartsThatAreTextsAloneAreShown) {
  const std::string source =
      "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
      "{% if p.type == 'text' %}({{ p.text }}){% endif %}{% endfor %}{% endif %}{% endfor %}";
  EXPECT_EQ(chat(source, R"([{"role":"user","content":["a",{"type":"text","text":"b"}]}])").text, "(a)(b)");
}

TEST(ChatNormalize, MessagesThatAreJoinedKeepTheirReasoning) {
  const std::string source =
      "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ "
      "raise_exception('alternate') }}{% endif %}[{{ m.role }}]{{ m.content }}{{ m.reasoning_content }}"
      "{% endfor %}";
  EXPECT_EQ(chat(source, R"([{"role":"user","content":"q"},{"role":"assistant","content":"a"},
      {"role":"assistant","content":"b","reasoning_content":"r"},
      {"role":"assistant","content":"c","reasoning_content":"s"}])")
                .text,
            "[user]q[assistant]a\n\nb\n\ncr\n\ns");
}

// Templates that refuse a kind of part, show the first part alone, or look into a list that is empty.
TEST(ChatNormalize, ContentsBecomePlainWhereTheirPartsAreRefused) {
  const std::string refusing =
      "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
      "{% if p.type != 'text' %}{{ raise_exception('kind') }}{% endif %}{{ p.text }}{% endfor %}{% endif "
      "%}|{% endfor %}";
  const auto image =
      chat(refusing, R"([{"role":"user","content":[{"type":"image_url"},{"type":"text","text":"t"}]}])");
  EXPECT_EQ(image.text, "t|");
  ASSERT_EQ(image.warnings.size(), 1u);
  EXPECT_NE(image.warnings[0].find("'image_url'"), std::string::npos);
  const std::string first =
      "{% for m in messages %}{{ m.content[0].text if m.content is not string else m.content }}|{% endfor %}";
  EXPECT_EQ(
      chat(first, R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])")
          .text,
      "a\nb|");
  EXPECT_EQ(chat("{% for m in messages %}{{ m.content[0].type }}{{ m.content[0].text }}|{% endfor %}",
                 R"([{"role":"user","content":[]},{"role":"user","content":"x"}])")
                .text,
            "text|textx|");
}

TEST(ChatNormalize, WhatCannotBeHelpedIsSaid) {
  const auto tools =
      chat(kChatml, R"([{"role":"user","content":"u"}])", R"([{"type":"function","function":{"name":"f"}}])");
  ASSERT_EQ(tools.warnings.size(), 1u);
  EXPECT_NE(tools.warnings[0].find("does not show tools"), std::string::npos);
  const auto image =
      chat(kChatml, R"([{"role":"user","content":[{"type":"image_url"},{"type":"text","text":"t"}]}])");
  ASSERT_EQ(image.warnings.size(), 1u);
  EXPECT_NE(image.warnings[0].find("'image_url'"), std::string::npos);
}

// That its words stand somewhere else does not make a text shown.
TEST(ChatNormalize, TextsThatStandElsewhereAreStillMissed) {
  constexpr const char* kUsersOnly =
      "{% for m in messages %}<{{ m.role }}>{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}";
  const auto lost = chat(kUsersOnly, R"([{"role":"user","content":"the assistant user"},
                                        {"role":"assistant","content":"user"},{"role":"user","content":"b"}])");
  ASSERT_EQ(lost.warnings.size(), 1u);
  EXPECT_EQ(lost.warnings[0], "the template does not show the content of message 1 (assistant)");
}

// A text that is written in another way is shown: no warning, no repair.
TEST(ChatNormalize, TextsInOtherWordsAreShown) {
  constexpr const char* kWrapped =
      "{% for m in messages %}[{{ m.content.split()|join('_') }}|{{ m.content|replace('a', '') }}]{% endfor "
      "%}";
  const auto shown =
      chat(kWrapped, R"([{"role":"user","content":"a a"},{"role":"assistant","content":"b a"}])");
  EXPECT_EQ(shown.text, "[a_a| ][b_a|b ]");
  EXPECT_TRUE(shown.warnings.empty());
}

// As Hermes 3's, which goes round for ever over a type that it does not know.
TEST(ChatNormalize, TypesOfNullAreLeftOutWhereTheTemplateFailsOnThem) {
  const std::string source =
      "{% for t in tools or [] %}{{ t.function.name }} {{ t.function.description }}{% for k, p in "
      "t.function.parameters.properties.items() %}{% if p.type == "
      "'null' or "
      "'null' in p.type %}{{ raise_exception('null') }}{% endif %}{{ k }}:{{ p.type }}{{ p.enum }} {% endfor "
      "%}"
      "{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}";
  const auto out =
      chat(source, R"([{"role":"user","content":"q"}])",
           R"([{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{
      "a":{"type":["string","null"],"enum":["x",null]},"b":{"type":["null","integer","string"]},"c":{"type":"null"}}}}}])");
  EXPECT_EQ(out.text, "f a:string['x', None] b:['integer', 'string'] c: q");
  ASSERT_EQ(out.warnings.size(), 1u);
  EXPECT_NE(out.warnings[0].find("types of null"), std::string::npos);
}

// As SmolLM3's template calls them.
TEST(ChatNormalize, ToolsUnderAnotherName) {
  const auto out =
      chat("{% for t in xml_tools or [] %}<{{ t.function.name }}>{% endfor %}{{ messages[0].content }}",
           R"([{"role":"user","content":"q"}])", R"([{"type":"function","function":{"name":"f"}}])");
  EXPECT_EQ(out.text, "<f>q");
  EXPECT_TRUE(out.warnings.empty());
}

TEST(ChatNormalize, WrongInputNamesItsField) {
  EXPECT_NE(chat(kChatml, "{}").text.find("messages must be a list"), std::string::npos);
  EXPECT_NE(chat(kChatml, R"([{"content":"x"}])").text.find("messages[0].role"), std::string::npos);
  EXPECT_NE(chat(kChatml, R"([{"role":"user","content":5}])").text.find("messages[0].content"),
            std::string::npos);
  EXPECT_NE(chat(kChatml, R"([{"role":"assistant","tool_calls":[5]}])").text.find("messages[0].tool_calls"),
            std::string::npos);
  EXPECT_NE(chat(kChatml, "[]", "{}").text.find("tools must be a list"), std::string::npos);
  EXPECT_NE(chat(kChatml, "[]", R"([{},"x"])").text.find("tools[1] must be an object"), std::string::npos);
}

}  // namespace
}  // namespace brass
