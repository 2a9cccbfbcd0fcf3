// The formats made by hand: where a template does not show its calls, or a model writes more than its template.
#include <vector>

#include "text/calls/format.h"
#include "text/calls/marks.h"

namespace brass::calls {

namespace {

CallFormat object_format(std::string family, std::string begin, std::string end) {
  CallFormat format;
  format.family = std::move(family);
  format.shape = Shape::kObject;
  format.call_begin = std::move(begin);
  format.call_end = std::move(end);
  format.separator = "\n";
  return format;
}

// A list of objects between two marks.
CallFormat list_format(std::string family, std::string begin, std::string end) {
  CallFormat format = object_format(std::move(family), "", "");
  format.section_begin = std::move(begin);
  format.section_end = std::move(end);
  format.list = true;
  format.separator = ", ";
  return format;
}

CallFormat header_format(std::string family, std::string begin, std::string name_end, std::string end) {
  CallFormat format;
  format.family = std::move(family);
  format.shape = Shape::kHeader;
  format.call_begin = std::move(begin);
  format.name_end = std::move(name_end);
  format.call_end = std::move(end);
  return format;
}

CallFormat python_format(std::string family, std::string begin, std::string end, bool list) {
  CallFormat format;
  format.family = std::move(family);
  format.shape = Shape::kPython;
  format.section_begin = std::move(begin);
  format.section_end = std::move(end);
  format.list = list;
  format.separator = list ? ", " : "\n";
  return format;
}

CallFormat harmony() {
  CallFormat format = header_format("harmony", "", "", "<|call|>");
  format.channels = Channels::kHarmony;
  format.name_prefix = "functions.";
  return format;
}

CallFormat functionary_3_2() {
  CallFormat format = header_format("functionary v3.2", ">>>", "", "");
  format.content_name = "all";
  format.starts_named = true;
  return format;
}

CallFormat mistral() {
  CallFormat format = header_format("mistral", "[TOOL_CALLS]", "[ARGS]", "");
  format.id_begin = "[CALL_ID]";
  format.id_key = "id";
  format.id_last = true;
  format.objects_too = true;
  return format;
}

CallFormat llama_3() {
  CallFormat format = object_format("llama 3", "<|python_tag|>", "");
  format.arguments_key = "parameters";
  format.name_suffix = ".call";
  format.bare = true;
  format.separator = "; ";
  return format;
}

CallFormat llama_python() {
  CallFormat format = python_format("llama python", "<|python_start|>", "<|python_end|>", true);
  format.bare = true;
  return format;
}

// Objects without marks, behind text between two.
CallFormat llama_4() {
  CallFormat format = object_format("llama 4", "", "");
  format.arguments_key = "parameters";
  format.bare = true;
  format.dropped = {"<|python_start|>", "<|python_end|>"};
  return format;
}

CallFormat deepseek(bool fenced) {
  CallFormat format = header_format(fenced ? "deepseek v3" : "deepseek v3.1", "<｜tool▁call▁begin｜>",
                                    fenced ? "```json" : "<｜tool▁sep｜>", "<｜tool▁call▁end｜>");
  format.section_begin = "<｜tool▁calls▁begin｜>";
  format.section_end = "<｜tool▁calls▁end｜>";
  if (fenced) {
    format.name_begin = "function<｜tool▁sep｜>";
    format.arguments_end = "```";
  }
  return format;
}

CallFormat kimi() {
  CallFormat format =
      header_format("kimi k2", "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>");
  format.section_begin = "<|tool_calls_section_begin|>";
  format.section_end = "<|tool_calls_section_end|>";
  format.name_prefix = "functions.";
  format.numbered = true;
  return format;
}

// <function=NAME><parameter=KEY>VALUE</parameter></function>, inside a mark of its own.
CallFormat function_tags(std::string family, std::string begin, std::string end, bool own_lines) {
  CallFormat format = header_format(std::move(family), std::move(begin), ">", std::move(end));
  format.name_begin = "<function=";
  format.arguments_end = "</function>";
  format.coding = Coding::kParameters;
  format.parameter = {"<parameter=", ">", "</parameter>", own_lines, "", ""};
  format.separator = "\n";
  return format;
}

CallFormat invoke_tags(std::string family, const std::string& prefix, std::string begin, std::string end) {
  CallFormat format =
      header_format(std::move(family), "<" + prefix + "invoke name=\"", "\">", "</" + prefix + "invoke>");
  format.section_begin = std::move(begin);
  format.section_end = std::move(end);
  format.coding = Coding::kParameters;
  format.parameter = {"<" + prefix + "parameter name=\"", "\">", "</" + prefix + "parameter>", false, "", ""};
  format.separator = "\n";
  return format;
}

CallFormat minicpm_5() {
  CallFormat format = header_format("minicpm 5", "<function name=\"", "\">", "</function>");
  format.coding = Coding::kParameters;
  format.parameter = {"<param name=\"", "\">", "</param>", false, "", "", true};
  format.separator = "\n";
  return format;
}

CallFormat deepseek_3_2() {
  CallFormat format =
      invoke_tags("deepseek v3.2", "｜DSML｜", "<｜DSML｜function_calls>", "</｜DSML｜function_calls>");
  format.parameter.name_end = "";
  format.parameter.string_name_end = "\" string=\"true\">";
  format.parameter.value_name_end = "\" string=\"false\">";
  return format;
}

CallFormat kimi_k3() {
  const std::string open = "<|open|>", close = "<|close|>", sep = "<|sep|>", any(1, kAnyWord);
  CallFormat format =
      header_format("kimi k3", open + "call tool=\"", "\" index=\"" + any + "\"" + sep, close + "call" + sep);
  format.section_begin = open + "tools" + sep;
  format.section_end = close + "tools" + sep;
  format.coding = Coding::kParameters;
  format.parameter = {open + "argument key=\"",   "",
                      close + "argument" + sep,   false,
                      "\" type=\"string\"" + sep, "\" type=\"" + any + "\"" + sep};
  format.reasoning = {open + "think" + sep, close + "think" + sep};
  format.dropped = {open + "response" + sep, close + "response" + sep};
  return format;
}

CallFormat glm() {
  CallFormat format = header_format("glm 4.5", "<tool_call>", "", "</tool_call>");
  format.coding = Coding::kParameters;
  format.parameter = {"<arg_key>", "</arg_key> <arg_value>", "</arg_value>", false, "", ""};
  format.separator = "\n";
  return format;
}

CallFormat glm_4() {
  CallFormat format = header_format("glm 4", "", "", "");
  format.starts_named = true;
  return format;
}

CallFormat gemma(std::string family, std::string begin, std::string end, std::string quote) {
  CallFormat format = header_format(std::move(family), std::move(begin), "", std::move(end));
  format.name_begin = "call:";
  format.quote = std::move(quote);
  return format;
}

CallFormat command_r7b() {
  CallFormat format = list_format("command r7b", "<|START_ACTION|>", "<|END_ACTION|>");
  format.name_key = "tool_name";
  format.arguments_key = "parameters";
  format.id_key = "tool_call_id";
  format.dropped = {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"};
  return format;
}

CallFormat command_r() {
  CallFormat format = list_format("command r", "Action: ```json", "```");
  format.name_key = "tool_name";
  format.arguments_key = "parameters";
  return format;
}

CallFormat apertus() {
  CallFormat format = list_format("apertus", "<|tools_prefix|>", "<|tools_suffix|>");
  format.name_is_key = true;
  return format;
}

CallFormat dropping(CallFormat format, std::vector<std::string> marks) {
  format.dropped = std::move(marks);
  return format;
}

std::vector<Row> make_table() {
  return {
      {harmony(), {"<|start|>assistant"}},
      {functionary_3_2(), {">>>all", "'>>>'", "\">>>\""}},
      {header_format("functionary v3.1", "<function=", ">", "</function>"),
       {"<function=example_function_name>{", "{start_tag}={function_name}"}},
      {mistral(), {"[TOOL_CALLS]"}},
      {llama_python(), {"<|python_start|>"}},
      {llama_4(), {"<|python_end|>"}},
      {llama_3(), {"<|python_tag|>", "Respond in the format {\"name\": function name"}},
      {python_format("lfm2", "<|tool_call_start|>", "<|tool_call_end|>", true),
       {"<|tool_call_start|>", "<|tool_list_start|>"}},
      {python_format("olmo 3", "<function_calls>", "</function_calls>", false), {"<function_calls>"}},
      {deepseek_3_2(), {"｜DSML｜"}},
      {deepseek(true), {"<｜tool▁sep｜>"}},
      {deepseek(false), {"<｜tool▁sep｜>"}},
      {kimi_k3(), {"<|open|>"}},
      {kimi(), {"<|tool_calls_section_begin|>"}},
      {invoke_tags("minimax m2", "", "<minimax:tool_call>", "</minimax:tool_call>"), {"<minimax:tool_call>"}},
      {function_tags("seed-oss", "<seed:tool_call>", "</seed:tool_call>", false), {"<seed:tool_call>"}},
      {glm(), {"<arg_key>"}},
      {minicpm_5(), {"<function name=\""}},
      {gemma("gemma 4", "<|tool_call>", "<tool_call|>", "<|\"|>"), {"<|tool_call>call:"}},
      {gemma("functiongemma", "<start_function_call>", "<end_function_call>", "<escape>"),
       {"<start_function_call>"}},
      {function_tags("qwen 3 coder", "<tool_call>", "</tool_call>", true), {"<function="}},
      {hermes(), {"<tool_call>"}},
      {command_r7b(), {"<|START_ACTION|>"}},
      {command_r(), {"Action:```json", "Action: ```json"}},
      {apertus(), {"<|tools_prefix|>"}},
      {dropping(list_format("granite 3", "<|tool_call|>", ""),
                {"<|/tool_call|>", "<response>", "</response>"}),
       {"<|tool_call|>", "<|/tool|>"}},
      {list_format("nemotron", "<TOOLCALL>", "</TOOLCALL>"), {"<TOOLCALL>"}},
      {list_format("tool calls", "<tool_calls>", "</tool_calls>"), {"<tool_calls>"}},
      {list_format("functools", "functools", ""), {"functools["}},
      {object_format("internlm", "<|action_start|><|plugin|>", "<|action_end|>"), {"<|plugin|>"}},
      {glm_4(), {"<|observation|>"}},
  };
}

}  // namespace

const CallFormat& hermes() {
  static const CallFormat kFormat = object_format("hermes", "<tool_call>", "</tool_call>");
  return kFormat;
}

std::span<const Row> table() {
  static const std::vector<Row> kTable = make_table();
  return kTable;
}

std::span<const Fence> known_fences() {
  static const std::vector<Fence> kFences = {
      {"<seed:think>", "</seed:think>"},
      {"<|START_THINKING|>", "<|END_THINKING|>"},
      {"<|channel>thought", "<channel|>"},
      {"<|inner_prefix|>", "<|inner_suffix|>"},
      {"[THINK]", "[/THINK]"},
      {"◁think▷", "◁/think▷"},
      {"<|begin_of_thought|>", "<|end_of_thought|>"},
      {"<think>", "</think>"},
      {"<thinking>", "</thinking>"},
      {"<reasoning>", "</reasoning>"},
      {"<thought>", "</thought>"},
      {"Here is my thought process:", "Here is my response:"},
  };
  return kFences;
}

}  // namespace brass::calls
