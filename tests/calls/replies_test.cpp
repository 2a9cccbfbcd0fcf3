// Replies as models of each family write them: what templates do not show, what goes wrong, what only looks like a call.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "calls/streamed.h"
#include "text/calls/parser.h"

namespace brass::calls {
namespace {

using nlohmann::json;

struct Reply {
  const char *family, *text;
  const char *content, *reasoning,
      *calls;  // calls: a JSON array of [name, arguments] or [name, arguments, id]
  bool in_reasoning = false;
};

CallFormat format_of(std::string_view family) {
  if (family == hermes().family) return hermes();
  for (const Row& row : table())
    if (row.format.family == family) return row.format;
  ADD_FAILURE() << "no family " << family;
  return {};
}

CallFormat with_fence(std::string_view family) {
  CallFormat format = format_of(family);
  format.reasoning = {"<think>", "</think>"};
  if (family == "command r7b") format.reasoning = {"<|START_THINKING|>", "<|END_THINKING|>"};
  if (family == "gemma 4") format.reasoning = {"<|channel>thought", "<channel|>"};
  if (family == "mistral") format.reasoning = {"[THINK]", "[/THINK]"};
  format.turn_ends = {"<|im_end|>"};
  return format;
}

ToolSet tools() {
  return ToolSet(nlohmann::ordered_json::parse(R"([
    {"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {
      "city": {"type": "string"}, "n": {"type": "integer"}, "on": {"type": "boolean"},
      "any": {}, "either": {"type": ["string", "null"]}, "list": {"type": "array"},
      "ref": {"$ref": "#/$defs/text"}, "pick": {"enum": [8, "7", "x"]}},
      "$defs": {"text": {"type": "string"}}}}},
    {"name": "put", "parameters": {"type": "object"}}])"));
}

void check(const Reply& reply) {
  const CallFormat format = with_fence(reply.family);
  const std::string_view text = reply.text;
  const ParserOptions options{reply.in_reasoning, 0};
  const ParsedMessage got = parse_reply(format, tools(), options, text);
  EXPECT_EQ(got.content, reply.content) << reply.family << ": " << text;
  EXPECT_EQ(got.reasoning, reply.reasoning) << reply.family << ": " << text;
  const json wanted = json::parse(reply.calls);
  EXPECT_EQ(got.calls.size(), wanted.size()) << reply.family << ": " << text << "\n" << text_of(got);
  for (size_t i = 0; i < got.calls.size() && i < wanted.size(); i++) {
    EXPECT_EQ(got.calls[i].name, wanted[i][0].get<std::string>()) << text;
    EXPECT_EQ(json::parse(got.calls[i].arguments, nullptr, false), wanted[i][1]) << text << "\n"
                                                                                 << text_of(got);
    if (wanted[i].size() > 2) {
      EXPECT_EQ(got.calls[i].id, wanted[i][2].get<std::string>()) << text;
    }
  }
  std::vector<size_t> all;
  for (size_t i = 1; i < text.size(); i++) {
    EXPECT_EQ(text_of(stream(format, tools(), options, text, {i})), text_of(got)) << text << " cut at " << i;
    all.push_back(i);
  }
  EXPECT_EQ(text_of(stream(format, tools(), options, text, all)), text_of(got)) << text;
}

TEST(Replies, Objects) {
  for (const Reply& reply : std::initializer_list<Reply>{
           {"hermes", "Just text with {\"name\": \"get\", \"arguments\": {}} in it.\n",
            "Just text with {\"name\": \"get\", \"arguments\": {}} in it.\n", "", "[]"},
           {"hermes",
            "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": "
            "\"Paris\"}}\n</tool_call><|im_end|>\n",
            "", "", R"([["get", {"city": "Paris"}]])"},
           {"hermes", "<tool_call>{\"arguments\": {\"n\": 1}, \"name\": \"get\"}</tool_call>", "", "",
            R"([["get", {"n": 1}]])"},
           {"hermes", "<tool_call>{\"name\": \"get\", \"arguments\": \"{\\\"n\\\": 1}\"}</tool_call>", "", "",
            R"([["get", {"n": 1}]])"},
           {"hermes", "<tool_call>{\"name\": \"get\"}</tool_call>", "", "", R"([["get", {}]])"},
           {"hermes",
            "<tool_call>{\"type\": \"function\", \"function\": {\"name\": \"get\", \"arguments\": "
            "{}}}</tool_call>",
            "", "", R"([["get", {}]])"},
           {"hermes",
            "<tool_call>[{\"name\": \"get\", \"arguments\": {}}, {\"name\": \"put\", \"arguments\": "
            "{}}]</tool_call>",
            "", "", R"([["get", {}], ["put", {}]])"},
           {"hermes", "<tool_call>{'name': 'get', 'arguments': {'on': True, 'city': 'it\\'s'}}</tool_call>",
            "", "", R"([["get", {"on": true, "city": "it's"}]])"},
           {"hermes", "A.\n<tool_call>{\"name\": \"get\", \"arguments\": {}}</tool_call>\nB.", "A.\nB.", "",
            R"([["get", {}]])"},
           {"hermes", "Use <tool_call> tags: <tool_call>{\"name\": \"get\", \"arguments\": {}}</tool_call>",
            "Use <tool_call> tags:", "", R"([["get", {}]])"},
           {"hermes", "<tool_call>{\"name\": \"get\", \"arguments\": {\"a\": 1}} and so on</tool_call>",
            "<tool_call>{\"name\": \"get\", \"arguments\": {\"a\": 1}} and so on</tool_call>", "", "[]"},
           {"hermes", "<tool_call>{\"name\": \"get\", \"arguments\": {\"a\": \"<tool_call>{",
            "<tool_call>{\"name\": \"get\", \"arguments\": {\"a\": \"<tool_call>{", "", "[]"},
           {"hermes", "<tool_call>{\"name\": \"get\", \"arguments\": [1]}</tool_call>",
            "<tool_call>{\"name\": \"get\", \"arguments\": [1]}</tool_call>", "", "[]"},
           {"hermes",
            "<tool_call>{\"name\": \"get\", \"arguments\": {\"a\": \"l1\nl2\\d\\ud800\"}}</tool_call>", "",
            "", R"([["get", {"a": "l1\nl2\\d\ufffd"}]])"},
           {"hermes", "a < b <tool", "a < b <tool", "", "[]"},
           {"command r7b",
            "<|START_THINKING|>Plan.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"3\", "
            "\"tool_name\": \"get\", \"parameters\": {\"n\": 2}},\n    {\"tool_call_id\": \"4\", "
            "\"tool_name\": "
            "\"put\", \"parameters\": {}}\n]<|END_ACTION|>",
            "", "Plan.", R"([["get", {"n": 2}, "3"], ["put", {}, "4"]])"},
           {"command r7b", "<|START_RESPONSE|>Hello.<|END_RESPONSE|>", "Hello.", "", "[]"},
           {"llama 4",
            "<|python_start|>Let me look.<|python_end|>{\"name\": \"get\", \"parameters\": {\"n\": 1}}"
            "{\"name\": \"put\", \"parameters\": {}}<|im_end|>",
            "Let me look.", "", R"([["get", {"n": 1}], ["put", {}]])"},
           {"llama 4", "<|python_start|>{\"name\": \"get\", \"parameters\": {\"n\": 1}}<|python_end|>", "",
            "", R"([["get", {"n": 1}]])"},
           {"llama 4", "{\"name\": \"Bob\", \"parameters\": {}} is no call.",
            "{\"name\": \"Bob\", \"parameters\": {}} is no call.", "", "[]"},
           {"command r",
            "Action: ```json\n[\n    {\n        \"tool_name\": \"get\",\n        \"parameters\": {\"n\": "
            "1}\n    }\n]```",
            "", "", R"([["get", {"n": 1}]])"},
           {"apertus", "<|tools_prefix|>[{\"get\": {\"n\": 1}}, {\"put\": {}}]<|tools_suffix|>", "", "",
            R"([["get", {"n": 1}], ["put", {}]])"},
           {"granite 3", "<|tool_call|>[{\"name\": \"get\", \"arguments\": {\"n\": 1}}]", "", "",
            R"([["get", {"n": 1}]])"},
           {"granite 3", "<|tool_call|>[{\"name\": \"get\", \"arguments\": {}}]<|/tool_call|>", "", "",
            R"([["get", {}]])"},
           {"nemotron", "<TOOLCALL>[{\"name\": \"get\", \"arguments\": {\"n\": 1}}]</TOOLCALL>", "", "",
            R"([["get", {"n": 1}]])"},
       })
    check(reply);
}

TEST(Replies, Reasoning) {
  for (const Reply& reply : std::initializer_list<Reply>{
           {"hermes", "<think>\nA thought.\n</think>\n\nAn answer.", "An answer.", "A thought.", "[]"},
           {"hermes", "A thought.\n</think>\n\nAn answer.\n", "An answer.\n", "A thought.", "[]", true},
           {"hermes", "<think>\nA thought.</think>An answer.", "An answer.", "A thought.", "[]", true},
           {"hermes", "<think></think>  indented", "  indented", "", "[]"},
           {"hermes", "A thought that was cut", "", "A thought that was cut", "[]", true},
           {"hermes", "I think <think> is a tag </think>.", "I think <think> is a tag </think>.", "", "[]"},
           {"hermes", "Hm. <tool_call>{\"name\": \"get\", \"arguments\": {}}</tool_call> More.</think>Done.",
            "Done.", "Hm. More.", R"([["get", {}]])", true},
           {"hermes",
            "<think>Never closed.\n<tool_call>\n{\"name\": \"get\", \"arguments\": {}}\n</tool_call>", "",
            "Never closed.", R"([["get", {}]])"},
           {"hermes", "<think>I could write <tool_call> here", "", "I could write <tool_call> here", "[]"},
           {"gemma 4",
            "<|channel>thought\nHm.\n<channel|><|tool_call>call:get{city:<|\"|>a <|\"|> "
            "b<|\"|>,n:1}<tool_call|>",
            "", "Hm.", R"([["get", {"city": "a <|\"|> b", "n": 1}]])"},
           {"mistral", "[THINK]Hm.[/THINK]Well.[TOOL_CALLS]get[ARGS]{\"n\": 1}", "Well.", "Hm.",
            R"([["get", {"n": 1}]])"},
       })
    check(reply);
}

TEST(Replies, Headers) {
  for (const Reply& reply : std::initializer_list<Reply>{
           {"mistral", "[TOOL_CALLS][{\"name\": \"get\", \"arguments\": {\"n\": 1}, \"id\": \"abcdefgh1\"}]",
            "", "", R"([["get", {"n": 1}, "abcdefgh1"]])"},
           {"mistral", "[TOOL_CALLS]get[CALL_ID]abcdefgh1[ARGS]{\"n\": 1}[TOOL_CALLS]put[ARGS]{}", "", "",
            R"([["get", {"n": 1}, "abcdefgh1"], ["put", {}]])"},
           {"mistral", "[TOOL_CALLS]get{\"n\": 1}", "", "", R"([["get", {"n": 1}]])"},
           {"mistral", "An [TOOL_CALLS] mark", "An [TOOL_CALLS] mark", "", "[]"},
           {"kimi k2",
            "Hi<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>{"
            "\"n\": 1}"
            "<|tool_call_end|><|tool_call_begin|>functions.put:1<|tool_call_argument_begin|>{}<|tool_call_"
            "end|>"
            "<|tool_calls_section_end|>",
            "Hi", "", R"([["get", {"n": 1}, "functions.get:0"], ["put", {}, "functions.put:1"]])"},
           {"deepseek v3",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get\n```json\n{\"n\": 1}\n```"
            "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>put\n```json\n{}\n```<"
            "｜tool▁call▁end｜>"
            "<｜tool▁calls▁end｜>",
            "", "", R"([["get", {"n": 1}], ["put", {}]])"},
           {"deepseek v3.1",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get<｜tool▁sep｜>{\"n\": 1}<｜tool▁call▁end｜>"
            "<｜tool▁calls▁end｜>",
            "", "", R"([["get", {"n": 1}]])"},
           {"functionary v3.1", "<function=get>{\"n\": 1}</function><function=put>{}</function>", "", "",
            R"([["get", {"n": 1}], ["put", {}]])"},
           {"functionary v3.2", "all\nHello.>>>get\n{\"n\": 1}", "Hello.", "", R"([["get", {"n": 1}]])"},
           {"functionary v3.2", "get\n{\"n\": 1}>>>put\n{}", "", "", R"([["get", {"n": 1}], ["put", {}]])"},
           {"functionary v3.2", "all\n1 >>> 0 and >>>x", "1 >>> 0 and >>>x", "", "[]"},
           {"functionary v3.2", "Plain text.", "Plain text.", "", "[]"},
           {"glm 4", "get\n{\"n\": 1}", "", "", R"([["get", {"n": 1}]])"},
           {"glm 4", "get\nsome rest", "get\nsome rest", "", "[]"},
           {"functiongemma", "<start_function_call>call:get{city:<escape>Paris<escape>}<end_function_call>",
            "", "", R"([["get", {"city": "Paris"}]])"},
       })
    check(reply);
}

TEST(Replies, Parameters) {
  for (const Reply& reply : std::initializer_list<Reply>{
           {"qwen 3 coder",
            "<tool_call>\n<function=get>\n<parameter=city>\n42\n</parameter>\n<parameter=n>\n42\n</"
            "parameter>\n"
            "<parameter=on>\nTrue\n</parameter>\n<parameter=any>\n{'a': None}\n</parameter>\n"
            "<parameter=either>\nNone\n</parameter>\n<parameter=ref>\ntrue\n</parameter>\n"
            "<parameter=pick>\n7\n</parameter>\n<parameter=other>\nfree text\n</parameter>\n"
            "</function>\n</tool_call>",
            "", "",
            R"([["get", {"city": "42", "n": 42, "on": true, "any": {"a": null}, "either": null, "ref": "true",
                 "pick": "7", "other": "free text"}]])"},
           {"qwen 3 coder", "<function=get>\n<parameter=n>\n1\n</parameter>\n</function>", "", "",
            R"([["get", {"n": 1}]])"},
           {"qwen 3 coder", "<tool_call>\n<function=get>\n</function>\n</tool_call>", "", "",
            R"([["get", {}]])"},
           {"qwen 3 coder",
            "<tool_call>\n<function=get>\n<parameter=city>\n<tool_call>\n<function=put>\n</function>\n</"
            "tool_call>",
            "<tool_call>\n<function=get>\n<parameter=city>\n<tool_call>\n<function=put>\n</function>\n</"
            "tool_call>",
            "", "[]"},
           {"qwen 3 coder",
            "<tool_call>\n<function=get>\n<parameter=n>\nnot a "
            "number\n</parameter>\n</function>\n</tool_call>",
            "", "", R"([["get", {"n": "not a number"}]])"},
           {"minimax m2",
            "<minimax:tool_call>\n<invoke name=\"get\">\n<parameter name=\"city\">a</parameter></parameter>\n"
            "<parameter name=\"list\">[1, 2]</parameter>\n</invoke>\n<invoke name=\"put\">\n</invoke>\n"
            "</minimax:tool_call>",
            "", "", R"([["get", {"city": "a</parameter>", "list": [1, 2]}], ["put", {}]])"},
           {"glm 4.5",
            "<tool_call>get\n<arg_key>city</arg_key>\n<arg_value>42</arg_value>\n<arg_key>n</"
            "arg_key>\n<arg_value>42"
            "</arg_value>\n</tool_call>",
            "", "", R"([["get", {"city": "42", "n": 42}]])"},
           {"glm 4.5",
            "<tool_call>get<arg_key>n</arg_key><arg_value>42</arg_value></tool_call><tool_call>put</"
            "tool_call>",
            "", "", R"([["get", {"n": 42}], ["put", {}]])"},
           {"deepseek v3.2",
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get\">\n<｜DSML｜parameter name=\"city\" "
            "string=\"true\">"
            "42</｜DSML｜parameter>\n<｜DSML｜parameter name=\"n\" string=\"false\">42</｜DSML｜parameter>\n"
            "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            "", "", R"([["get", {"city": "42", "n": 42}]])"},
           {"kimi k3",
            "<|open|>response<|sep|>Hi.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool=\"get\" "
            "index=\"1\"<|sep|><|open|>argument key=\"city\" type=\"string\"<|sep|>42<|close|>argument<|sep|>"
            "<|open|>argument key=\"n\" type=\"number\"<|sep|>42<|close|>argument<|sep|><|close|>call<|sep|>"
            "<|open|>call tool=\"put\" index=\"2\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
            "Hi.", "", R"([["get", {"city": "42", "n": 42}], ["put", {}]])"},
           {"seed-oss",
            "<seed:tool_call>\n<function=get>\n<parameter=city>\n a "
            "\n</parameter>\n</function>\n</seed:tool_call>",
            "", "", R"([["get", {"city": "\n a \n"}]])"},
       })
    check(reply);
}

TEST(Replies, Python) {
  for (
      const Reply& reply : std::initializer_list<Reply>{
          {"lfm2",
           "<|tool_call_start|>[get(city=\"Paris\", n=-1, list=[1, 'a', (True, None)], any={\"k\": 1.5}), "
           "put()]"
           "<|tool_call_end|>Now I wait.",
           "Now I wait.", "",
           R"([["get", {"city": "Paris", "n": -1, "list": [1, "a", [true, null]], "any": {"k": 1.5}}], ["put", {}]])"},
          {"lfm2", "<|tool_call_start|>[get('Oslo', 3)]<|tool_call_end|>", "", "",
           R"([["get", {"city": "Oslo", "n": 3}]])"},
          {"lfm2", "<|tool_call_start|>[get(city='''a\n'b' \\x41\\u00e9''')]<|tool_call_end|>", "", "",
           R"([["get", {"city": "a\n'b' Aé"}]])"},
          {"lfm2", "<|tool_call_start|>[{\"name\": \"get\", \"arguments\": {\"n\": 1}}]<|tool_call_end|>", "",
           "", R"([["get", {"n": 1}]])"},
          {"lfm2", "<|tool_call_start|>[get(city='it's \"so\"', n=1), put(k=\"a \"b\" c\")]<|tool_call_end|>",
           "", "", R"([["get", {"city": "it's \"so\"", "n": 1}], ["put", {"k": "a \"b\" c"}]])"},
          {"lfm2", "<|tool_call_start|>[get(n=x)]<|tool_call_end|>",
           "<|tool_call_start|>[get(n=x)]<|tool_call_end|>", "", "[]"},
          {"olmo 3", "<function_calls>\nget(city=\"a\")\nput()\n</function_calls>", "", "",
           R"([["get", {"city": "a"}], ["put", {}]])"},
          {"llama python", "[get(n=1), put()]", "", "", R"([["get", {"n": 1}], ["put", {}]])"},
          {"llama python", "[see this](there)", "[see this](there)", "", "[]"},
          {"llama 3", "<|python_tag|>get.call(city=\"a \\\"b\\\"\", n=1)", "", "",
           R"([["get", {"city": "a \"b\"", "n": 1}]])"},
          {"llama 3", "{\"name\": \"get\", \"parameters\": {\"n\": 1}}", "", "", R"([["get", {"n": 1}]])"},
          {"llama 3",
           "{\"name\": \"get\", \"parameters\": {\"n\": 1}}; {\"name\": \"put\", \"parameters\": {}}", "", "",
           R"([["get", {"n": 1}], ["put", {}]])"},
          {"llama 3", "{\"name\": \"Bob\", \"parameters\": {\"n\": 1}}",
           "{\"name\": \"Bob\", \"parameters\": {\"n\": 1}}", "", "[]"},
          {"llama 3", "{\"name\": \"put\", \"parameters\": {}}; then?", "; then?", "", R"([["put", {}]])"},
          {"llama 3", "{\"name\": \"get\", \"age\": 3}", "{\"name\": \"get\", \"age\": 3}", "", "[]"},
          {"llama 3", "An object: {\"name\": \"get\", \"parameters\": {}}",
           "An object: {\"name\": \"get\", \"parameters\": {}}", "", "[]"},
      })
    check(reply);
}

TEST(Replies, Harmony) {
  const char* const kCall = R"([["get", {"n": 1}]])";
  for (
      const Reply& reply : std::initializer_list<Reply>{
          {"harmony",
           "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|"
           "return|>",
           "Hello.", "Hm.", "[]"},
          {"harmony", " to=functions.get<|channel|>commentary json<|message|>{\"n\": 1}<|call|>", "", "",
           kCall},
          {"harmony", "<|channel|>commentary to=functions.get <|constrain|>json<|message|>{\"n\": 1}<|call|>",
           "", "", kCall},
          {"harmony", "<|channel|>commentary to=functions.get<|message|>{\"n\": 1}", "", "", kCall},
          {"harmony",
           "<|start|>assistant to=functions.get<|channel|>commentary <|constrain|>json<|message|>{\"n\": "
           "1}<|call|>",
           "", "", kCall},
          {"harmony", "<|channel|>analysis to=functions.get code<|message|>{\"n\": 1}<|call|>", "", "",
           kCall},
          {"harmony",
           "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>I "
           "look.<|end|>"
           "<|start|>assistant<|channel|>commentary to=functions.get <|constrain|>json<|message|>{\"n\": "
           "1}<|call|>",
           "I look.", "Hm.", kCall},
          {"harmony", "<|channel|>final<|message|>The mark <|end|> is text.<|end|>",
           "The mark <|end|> is text.", "", "[]"},
          {"harmony", "<|channel|>commentary to=functions.get <|constrain|>json<|message|>{\"n\": ",
           "{\"n\": ", "", "[]"},
          {"harmony",
           "<|channel|>commentary to=functions.get <|constrain|>json<|message|>{\"n\": \"<|call|>\"}<|call|>",
           "", "", R"([["get", {"n": "<|call|>"}]])"},
          {"harmony", " Plain text.\n", " Plain text.\n", "", "[]"},
          {"harmony", "<|channel|>analysis<|message|>cut off he", "", "cut off he", "[]"},
      })
    check(reply);
}

TEST(Replies, FencedValues) {
  for (const Reply& reply : std::initializer_list<Reply>{
           {"minicpm 5",
            "<function name=\"get\"><param name=\"city\">Oslo</param><param name=\"n\">2</param></function>",
            "", "", R"([["get", {"city": "Oslo", "n": 2}]])"},
           {"minicpm 5",
            "Look:<function name=\"get\"><param name=\"city\"><![CDATA[a < b\n</param></function> & "
            "c]]></param></function>\n"
            "<function name=\"put\"></function>",
            "Look:", "", R"([["get", {"city": "a < b\n</param></function> & c"}], ["put", {}]])"},
           {"minicpm 5", "<function name=\"get\"><param name=\"city\"><![CD</param></function>", "", "",
            R"([["get", {"city": "<![CD"}]])"},
       })
    check(reply);
}

// Results are told apart by the ids of their calls, so no two calls have the same.
TEST(Replies, CallsNeverShareAnId) {
  const std::string call = "{\"name\": \"get\", \"arguments\": {\"n\": 1}, \"id\": \"abcdefgh1\"}";
  const ParsedMessage got =
      parse_reply(with_fence("mistral"), tools(), {}, "[TOOL_CALLS][" + call + ", " + call + "]");
  ASSERT_EQ(got.calls.size(), 2u);
  EXPECT_EQ(got.calls[0].id, "abcdefgh1");
  EXPECT_NE(got.calls[1].id, got.calls[0].id);
  EXPECT_FALSE(got.calls[1].id.empty());
}

}  // namespace
}  // namespace brass::calls
