#include "text/calls/call_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/calls/value.h"

namespace brass::calls {

using grammar::NodeId;
using nlohmann::ordered_json;

namespace {

constexpr size_t kMaxName = 200;

std::string place_of(const std::string& tool) { return fmt::format("tool '{}': parameters", tool); }

}  // namespace

Result<NodeId> CallWriter::call(const std::string& tool, bool in_section, bool marked) {
  const auto key = std::tuple(tool, in_section, marked);
  if (const auto found = calls_.find(key); found != calls_.end()) return found->second;
  const auto made = [&]() -> Result<NodeId> {
    if (format_.shape == Shape::kObject) return object(tool);
    if (format_.shape == Shape::kPython) return python(tool);
    return header(tool, in_section, marked);
  };
  return calls_[key] = TRY(made());
}

// A tool without parameters takes none.
ordered_json CallWriter::schema_of(const std::string& tool) const {
  const ordered_json& function = tools_.all().find(tool)->second;
  const auto found = function.find("parameters");
  if (found == function.end() || found->is_null())
    return {{"type", "object"}, {"additionalProperties", false}};
  return *found;
}

Result<NodeId> CallWriter::arguments(const std::string& tool) {
  if (const auto found = arguments_.find(tool); found != arguments_.end()) return found->second;
  grammar::SchemaOptions options = options_.schema;
  if (!format_.quote.empty()) {
    options.space = grammar::JsonSpace::kCompact;
    options.dialect.quote = format_.quote;
    options.dialect.python = true;  // the words
    for (const std::string& control : options_.controls)
      options.dialect.quote_is_control |= control == format_.quote;
  }
  return arguments_[tool] =
             TRY(within(place_of(tool), schema_object_node(grammar_, schema_of(tool), options)));
}

NodeId CallWriter::quoted(const std::string& text) { return grammar_.text(quoted_json(text)); }

NodeId CallWriter::member(const std::string& key, NodeId value) {
  const NodeId space = json_space_node(grammar_, options_.schema.space);
  return grammar_.sequence({quoted(key), space, grammar_.text(":"), space, value});
}

NodeId CallWriter::id() {
  grammar::RegexArena& arena = grammar_.regexes();
  const grammar::RegexId letters = arena.set({{U'0', U'9'}, {U'A', U'Z'}, {U'a', U'z'}});
  constexpr int kLongestId = 24;
  const bool nine = options_.nine_character_ids;
  return grammar_.terminal(arena.repeat(letters, nine ? 9 : 1, nine ? 9 : kLongestId));
}

Result<NodeId> CallWriter::object(const std::string& tool) {
  const NodeId space = json_space_node(grammar_, options_.schema.space);
  const NodeId comma = grammar_.sequence({space, grammar_.text(","), space});
  const NodeId inside = TRY(arguments(tool));
  std::vector<NodeId> parts;
  if (format_.name_is_key) {
    parts = {member(tool, inside)};
  } else {
    const NodeId type = member("type", quoted("function"));
    const NodeId name = member(format_.name_key, quoted(tool));
    const NodeId given = member(format_.arguments_key, inside);
    const NodeId typed = grammar_.choice({grammar_.sequence({type, comma}), grammar_.sequence({})});
    if (format_.id_key.empty()) {
      parts = {typed, name, comma, given};
    } else {
      const NodeId quote = grammar_.text("\"");
      const NodeId id_member = member(format_.id_key, grammar_.sequence({quote, id(), quote}));
      const NodeId id_first = grammar_.sequence({id_member, comma, name, comma, given});
      const NodeId id_second = grammar_.sequence({name, comma, id_member, comma, given});
      const NodeId id_third = grammar_.sequence({name, comma, given, comma, id_member});
      parts = {typed, format_.id_last ? id_third : grammar_.choice({id_first, id_second})};
    }
  }
  parts.insert(parts.begin(), {grammar_.text("{"), space});
  parts.insert(parts.end(), {space, grammar_.text("}")});
  return grammar_.sequence(std::move(parts));
}

Result<NodeId> CallWriter::name(const std::string& tool) {
  if (tool.empty() || tool.size() > kMaxName || tool.find_first_of("<>[]{}()\"'`,=;|") != std::string::npos ||
      std::any_of(tool.begin(), tool.end(), [](char c) { return c >= 0 && c <= ' '; }))
    return wrong_use("tool '{}': its name cannot be written in the format of {}", tool, format_.family);
  const NodeId plain = grammar_.text(format_.name_prefix + tool);
  if (!format_.numbered) return plain;
  grammar::RegexArena& arena = grammar_.regexes();
  const NodeId number = grammar_.terminal(arena.repeat(arena.set({{U'0', U'9'}}), 1, 3));
  return grammar_.sequence({plain, grammar_.text(":"), number});
}

// [id_begin ID] name_begin NAME [id_begin ID] name_end ARGUMENTS arguments_end
Result<NodeId> CallWriter::header(const std::string& tool, bool in_section, bool marked) {
  std::vector<NodeId> parts;
  const NodeId written = TRY(name(tool));
  if (format_.id_first) {
    marks_.add(parts, format_.id_begin);
    parts.push_back(id());
  }
  if (marked && !format_.name_begin.empty()) marks_.add(parts, format_.name_begin);
  if (marked && format_.name_begin.empty() && !format_.call_begin.empty() && !format_.starts_named)
    parts.push_back(marks_.gap());
  parts.push_back(written);
  if (!format_.id_first && !format_.id_begin.empty()) {
    const NodeId mark = marks_.mark(format_.id_begin);
    const NodeId with_id = grammar_.sequence({mark, id()});
    parts.push_back(grammar_.choice({with_id, grammar_.sequence({})}));
  }
  const bool in_tag = !format_.name_end.empty() &&
                      std::string_view(">\"").find(format_.name_end[0]) != std::string_view::npos;
  if (in_tag)
    parts.push_back(marks_.mark(format_.name_end));
  else
    marks_.add(parts, format_.name_end);
  parts.push_back(marks_.gap());
  if (format_.coding == Coding::kParameters)
    parts.push_back(TRY(parameters(tool, in_section, marked)));
  else
    parts.push_back(TRY(arguments(tool)));
  marks_.add(parts, format_.arguments_end);
  return grammar_.sequence(std::move(parts));
}

Result<NodeId> CallWriter::parameters(const std::string& tool, bool in_section, bool marked) {
  const ParameterPlace place{tool, in_section, marked};
  grammar::SchemaOptions options = options_.schema;
  options.dialect.python = true;
  options.dialect.forbidden = ends_of_values(grammar_, marks_, format_, place);
  const auto writer = parameter_writer(grammar_, marks_, format_, tools_, place);
  return within(place_of(tool), schema_members_node(grammar_, schema_of(tool), *writer, options));
}

Result<NodeId> CallWriter::python(const std::string& tool) {
  const NodeId written = TRY(name(tool));
  grammar::SchemaOptions options = options_.schema;
  options.dialect.python = true;
  const auto writer = python_writer(grammar_, marks_);
  const NodeId inside =
      TRY(within(place_of(tool), schema_members_node(grammar_, schema_of(tool), *writer, options)));
  return grammar_.sequence(
      {written, grammar_.text("("), marks_.gap(), inside, marks_.gap(), grammar_.text(")")});
}

}  // namespace brass::calls
