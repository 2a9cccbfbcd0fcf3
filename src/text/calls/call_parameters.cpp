// Arguments that are written one by one, as parts of a grammar.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "text/calls/call_writer.h"
#include "text/calls/marks.h"
#include "text/grammar/code_points.h"

namespace brass::calls {

using grammar::AnyOrder;
using grammar::CodePoints;
using grammar::NodeId;
using grammar::RegexArena;
using grammar::RegexId;

namespace {

constexpr int kLongestKey = 64;  // of a parameter that the schema does not name

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

RegexId blanks(RegexArena& arena) {
  return arena.repeat(arena.set({{U'\t', U'\n'}, {U'\r', U'\r'}, {U' ', U' '}}), 0, -1);
}

// What a key's text ends at.
char stop_of(const ParameterMarks& marks) {
  return marks.name_end.empty() ? marks.string_name_end[0] : marks.name_end[0];
}

// Texts that ToolSet::read() takes for values that are no strings.
RegexId json_like(RegexArena& arena, const Types& types) {
  const bool any = !types.known();
  std::vector<RegexId> texts;
  const auto put = [&](bool possible, const char* pattern) {
    if (possible) texts.push_back(arena.parse(pattern, grammar::RegexSyntax::kFull).value());
  };
  put(any || types.null, "null|None");
  put(any || types.boolean, "true|True|false|False");
  put(any || types.number || types.integer, "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
  put(any || types.array, "[(\\[][\\s\\S]*");
  put(any || types.object, "\\{[\\s\\S]*");
  const RegexId around = blanks(arena);
  return arena.concat(std::array{around, arena.any_of(texts), around});
}

class Parameters : public grammar::MemberWriter {
 public:
  Parameters(grammar::Grammar& grammar, MarkNodes& marks, const CallFormat& format, const ToolSet& tools,
             const ParameterPlace& place)
      : grammar_(grammar),
        arena_(grammar.regexes()),
        marks_(marks),
        format_(format),
        tools_(tools),
        tool_(place.tool),
        ends_(ends_of_values(grammar, marks, format, place)) {}

  Result<NodeId> named(const std::string& key, const Value& value) override {
    const bool fits = !key.empty() && key.size() <= 2 * kLongestKey && trimmed(key) == key &&
                      key.find_first_of("<>\n") == std::string::npos &&
                      key.find(stop_of(format_.parameter)) == std::string::npos;
    if (!fits || (names_end() && key[0] == '/')) return -1;
    const std::string end = with_name(format_.parameter.end, key);
    return grammar_.sequence({marks_.mark(format_.parameter.begin), grammar_.text(key),
                              behind_key(marks_.mark(end), tools_.value(tool_, key), value)});
  }

  Result<std::optional<AnyOrder::Key>> unnamed(RegexId keys, const Value& value) override {
    // What would stand behind the value is its name once more.
    if (names_end()) return std::optional<AnyOrder::Key>();
    const RegexId letters = arena_.parse("[A-Za-z0-9_.-]", grammar::RegexSyntax::kFull).value();
    AnyOrder::Key key;
    key.regex = arena_.all_of(std::array{keys, arena_.repeat(letters, 1, kLongestKey)});
    if (!arena_.is_live(key.regex)) return std::optional<AnyOrder::Key>();
    key.before = marks_.mark(format_.parameter.begin);
    // What is read of a name that no schema can have is what is read of all that it does not name.
    key.behind = behind_key(marks_.mark(format_.parameter.end), tools_.value(tool_, "\n"), value);
    return key;
  }

  NodeId separator() override { return marks_.gap(); }

 private:
  bool names_end() const { return format_.parameter.end.find(kOwnName) != std::string::npos; }

  // Texts that are read as other values than strings.
  RegexId no_string(const Types& types) {
    const RegexId json = json_like(arena_, types);
    if (format_.parameter.item.empty()) return json;
    const RegexId parts =
        arena_.concat(std::array{blanks(arena_), arena_.literal(format_.parameter.begin), arena_.all()});
    return arena_.any_of(std::array{json, parts});
  }

  // Strings that are read as such whatever else they look like.
  RegexId listed(const ValueSchema& schema) {
    std::vector<RegexId> texts;
    for (const std::string& text : schema.listed_strings()) texts.push_back(arena_.literal(text));
    return arena_.any_of(texts);
  }

  NodeId behind_key(NodeId end, const ValueSchema& schema, const Value& value) {
    const ParameterMarks& marks = format_.parameter;
    const Types types = schema.types();
    const bool typed = marks.name_end.empty();
    std::vector<NodeId> ways;
    if (value.strings) {
      RegexId text = *value.strings;
      if (!typed && !types.only_string()) {
        const RegexId others = arena_.without(text, no_string(types));
        text = arena_.any_of(std::array{others, arena_.all_of(std::array{text, listed(schema)})});
      }
      const NodeId raw = grammar_.terminal(arena_.without(text, ends_));
      ways.push_back(typed ? grammar_.sequence({marks_.mark(marks.string_name_end), raw}) : raw);
    }
    if (value.no_strings >= 0 && (typed || !types.only_string())) {
      const NodeId word = grammar_.terminal(
          arena_.parse("number|integer|boolean|object|array|null", grammar::RegexSyntax::kFull).value());
      ways.push_back(typed ? grammar_.sequence({marks_.mark(marks.value_name_end, word), value.no_strings})
                           : value.no_strings);
    }
    const NodeId line = grammar_.text(marks.own_lines ? "\n" : "");
    const NodeId middle = typed ? grammar_.sequence({}) : marks_.mark(marks.name_end);
    const NodeId inside = grammar_.choice(std::move(ways));
    return grammar_.sequence({middle, line, inside, line, end});
  }

  grammar::Grammar& grammar_;
  RegexArena& arena_;
  MarkNodes& marks_;
  const CallFormat& format_;
  const ToolSet& tools_;
  std::string tool_;
  RegexId ends_;
};

class Python : public grammar::MemberWriter {
 public:
  Python(grammar::Grammar& grammar, MarkNodes& marks) : grammar_(grammar), marks_(marks) {}

  Result<NodeId> named(const std::string& key, const Value& value) override {
    const auto fits = [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
    if (key.empty() || key.size() > 2 * kLongestKey || !is_letter(key[0]) ||
        !std::all_of(key.begin(), key.end(), fits))
      return -1;
    return grammar_.sequence({grammar_.text(key + "="), value.any});
  }

  Result<std::optional<AnyOrder::Key>> unnamed(RegexId keys, const Value& value) override {
    RegexArena& arena = grammar_.regexes();
    const RegexId word = arena.parse("[A-Za-z_][A-Za-z0-9_]{0,63}", grammar::RegexSyntax::kFull).value();
    AnyOrder::Key key;
    key.regex = arena.all_of(std::array{keys, word});
    if (!arena.is_live(key.regex)) return std::optional<AnyOrder::Key>();
    key.behind = grammar_.sequence({grammar_.text("="), value.any});
    return key;
  }

  NodeId separator() override { return grammar_.sequence({grammar_.text(","), marks_.gap()}); }

 private:
  grammar::Grammar& grammar_;
  MarkNodes& marks_;
};

}  // namespace

// The end of a value counts where what follows it is another parameter or the end of the arguments. What begins like a
// fence around a value would be read as one.
RegexId ends_of_values(grammar::Grammar& grammar, MarkNodes& marks, const CallFormat& format,
                       const ParameterPlace& place) {
  RegexArena& arena = grammar.regexes();
  const ParameterMarks& parameter = format.parameter;
  CodePoints outside = {{U'\n', U'\n'}, {U'<', U'<'}, {U'>', U'>'}};
  if (const char stop = stop_of(parameter); stop > 0)
    outside.emplace_back(static_cast<char32_t>(stop), static_cast<char32_t>(stop));
  std::vector<RegexId> name_ends;
  for (const std::string& mark : {parameter.name_end, parameter.string_name_end, parameter.value_name_end})
    if (!mark.empty()) name_ends.push_back(marks.pattern(mark));
  const RegexId letter = arena.set(grammar::complement(grammar::normalized(std::move(outside))));
  const RegexId key = arena.repeat(letter, 0, -1);
  const RegexId name_end = arena.any_of(name_ends);
  const RegexId begin = marks.pattern(parameter.begin);
  std::vector<RegexId> follow = {arena.concat(std::array{begin, key, name_end})};
  for (const std::string& mark : behind_last_value(format, place.in_section, place.marked))
    follow.push_back(marks.pattern(mark));
  const RegexId end = marks.pattern(parameter.end);
  const RegexId behind = arena.any_of(follow);
  const RegexId ended = arena.concat(std::array{arena.all(), end, blanks(arena), behind, arena.all()});
  if (!parameter.cdata) return ended;
  const RegexId fenced = arena.concat(std::array{arena.literal("<![CDATA["), arena.all()});
  return arena.any_of(std::array{ended, fenced});
}

std::unique_ptr<grammar::MemberWriter> parameter_writer(grammar::Grammar& grammar, MarkNodes& marks,
                                                        const CallFormat& format, const ToolSet& tools,
                                                        const ParameterPlace& place) {
  return std::make_unique<Parameters>(grammar, marks, format, tools, place);
}

std::unique_ptr<grammar::MemberWriter> python_writer(grammar::Grammar& grammar, MarkNodes& marks) {
  return std::make_unique<Python>(grammar, marks);
}

}  // namespace brass::calls
