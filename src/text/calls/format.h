// How a model writes reasoning and tool calls, as data.
//
// Owns: CallFormat, the one description that the parser (parser.h), the grammar (call_grammar.h) and the check of a
// template's renders (detect.h) are driven by; the table of formats made by hand.
// Must not know: any text or template.
// Invariants: marks are written without blanks at their ends. A blank inside a mark stands for any run of blanks,
// also none (not in what begins a call: that is found as it is), kAnyWord for any letters and digits, kOwnName in
// parameter.end for the parameter's name (marks.h); blanks between the parts of a call mean nothing, except in values.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace brass::calls {

// What stands around reasoning. Both empty: the format has none.
struct Fence {
  std::string begin, end;
};

enum class Shape {
  kNone,    // no calls
  kObject,  // {"name": …, "arguments": {…}}: the name is inside
  kHeader,  // a name, then arguments
  kPython,  // name(key=value, …)
};

enum class Coding {
  kValue,       // one object: JSON, Python's repr, or bare keys with marks for quotes
  kParameters,  // name and value of each between marks; values without types
};

// Marks around a parameter: <parameter=NAME>VALUE</parameter>, or <NAME>VALUE</NAME>.
struct ParameterMarks {
  std::string begin, name_end, end;
  // The value stands on lines of its own: one newline at each end is not part of it.
  bool own_lines = false;
  // Where not empty: instead of name_end, what says that the value is a string, and what says that it is JSON.
  std::string string_name_end, value_name_end;
  bool cdata = false;  // a value may stand in <![CDATA[ ]]>
  // Where not empty: objects and lists are written in such marks, too; this is the name around what is in a list.
  std::string item;
};

// How messages themselves are fenced, where it is not one text with calls in it.
enum class Channels {
  kNone,
  kHarmony,  // <|start|>assistant<|channel|>NAME to=RECIPIENT<|message|>…<|end|>, in any order of the header
};

struct CallFormat {
  std::string family;
  Fence reasoning;
  Channels channels = Channels::kNone;

  // Around all calls of a run of calls; either may be empty.
  std::string section_begin, section_end;
  bool list = false;  // the calls of a section are a list: [a, b]
  // Around each call.
  std::string call_begin, call_end;
  std::string
      separator;  // between two calls as templates write it, for the grammar; the parser takes any blanks

  Shape shape = Shape::kNone;

  // kObject. The parser takes the usual names of keys besides these.
  std::string name_key = "name", arguments_key = "arguments", id_key;
  bool name_is_key = false;  // {"NAME": {arguments}}
  bool id_last = false;      // the id comes after the arguments

  // kHeader, kPython: call_begin name_begin NAME [id_begin ID] name_end ARGUMENTS arguments_end call_end.
  std::string name_begin, name_end, arguments_end, id_begin;
  bool id_first = false;  // id_begin ID comes before name_begin
  std::string name_prefix,
      name_suffix;        // parts of the written name that are not the function's: "functions."
  bool numbered = false;  // the written name ends in ":N", and is the id of the call
  Coding coding = Coding::kValue;
  ParameterMarks parameter;
  std::string quote;  // a mark in the place of quotes, with bare keys

  bool bare = false;          // a call (or a list of them) may begin without any mark, at the start of a line
  bool objects_too = false;   // kHeader: a list of objects may stand in the place of a name and arguments
  bool starts_named = false;  // the prompt ends in call_begin: the reply starts with a name
  std::string content_name;   // the name that stands for text to the user: "all"

  std::vector<std::string> dropped;    // marks around text to the user: not part of it
  std::vector<std::string> turn_ends;  // what may end a reply: not part of it
};

// A format of the table, and what tells that a template speaks it.
struct Row {
  CallFormat format;
  // Texts of which one must be in the template's source.
  std::vector<std::string> hints;
};

// In the order in which they are tried.
std::span<const Row> table();
// Fences of reasoning that templates mention and do not always render.
std::span<const Fence> known_fences();
const CallFormat&
hermes();  // what templates that know of no calls are given (chat_normalize.h writes it, too)

// What must follow the end of a parameter's value for it to be the end, where no other parameter does: one of these
// marks. `marked`: the call began with call_begin.
std::vector<std::string> behind_last_value(const CallFormat& format, bool in_section, bool marked);

bool is_blank(char c);
std::string_view trimmed(std::string_view text);

}  // namespace brass::calls
