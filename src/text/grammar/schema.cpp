#include "text/grammar/schema.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "text/grammar/schema_decimal.h"
#include "text/grammar/schema_emitter.h"
#include "text/json_guard.h"

namespace brass::grammar {
namespace {

using Json = nlohmann::ordered_json;

// Whether a double changes the number.
bool inexact(double value, std::string_view text) {
  const auto exact = schema::parse_decimal(text), rounded = schema::parse_decimal(Json(value).dump());
  return !exact || !rounded || !(*exact == *rounded);
}

using Make = std::function<Result<NodeId>(schema::Emitter&, schema::FormulaId)>;

// The values that are of one of these types. Nothing: no value fulfils the schema.
Result<std::optional<NodeId>> translate(Grammar& grammar, const Json& schema, const SchemaOptions& options,
                                        int32_t of_types, const Make& make) {
  schema::Document document(schema, options.draft);
  TRY_VOID(document.scan());
  schema::Sets sets(grammar.regexes());
  schema::Reader reader(document, sets, options);
  schema::Solver solver(reader, sets, options);
  schema::Emitter emitter(grammar, solver, reader, sets, options);
  const schema::FormulaId all = sets.formulas.make({schema::Kind::kRef, document.root(), 0, 0, {}});
  const schema::FormulaId root =
      of_types == schema::types::kAll ? all : sets.formulas.all_of({all, sets.formulas.types(of_types)});
  const NodeId node = TRY(make(emitter, root));
  if (grammar.regexes().exhausted())
    return wrong_use(
        "keywords 'pattern', 'format', 'minLength' and 'maxLength': together they need too many states");
  return solver.is_nothing(root) ? std::nullopt : std::optional(node);
}

std::unexpected<Error> refused(Error error) {
  error.wrong_use = true;
  return std::unexpected(std::move(error));
}

std::unexpected<Error> nothing_fits() { return wrong_use("#: no value fulfils the schema"); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The end of a number that starts at `at`, as JSON writes them; `at` where there is none.
size_t number_end(std::string_view text, size_t at) {
  const auto digits = [&](size_t from) {
    while (from < text.size() && is_digit(text[from])) from++;
    return from;
  };
  size_t end = at + (text[at] == '-' ? 1 : 0);
  const size_t whole = end;
  end = digits(end);
  if (end == whole || (text[whole] == '0' && end > whole + 1)) return at;
  if (end < text.size() && text[end] == '.') {
    const size_t fraction = digits(end + 1);
    if (fraction == end + 1) return at;
    end = fraction;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const size_t sign = end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-') ? 1 : 0;
    const size_t exponent = digits(end + 1 + sign);
    if (exponent == end + 1 + sign) return at;
    end = exponent;
  }
  return end;
}

}  // namespace

Result<Json> parse_schema(std::string_view text) { return parse_json(text, inexact); }

namespace {

Result<NodeId> need_node(Result<std::optional<NodeId>> node) {
  if (!node) return refused(std::move(node).error());
  if (!*node) return nothing_fits();
  return **node;
}

Result<NodeId> whole(schema::Emitter& emitter, schema::FormulaId root) { return emitter.value(root); }

}  // namespace

Result<NodeId> schema_node(Grammar& grammar, const Json& schema, const SchemaOptions& options) {
  return need_node(translate(grammar, schema, options, schema::types::kAll, whole));
}

Result<NodeId> schema_object_node(Grammar& grammar, const Json& schema, const SchemaOptions& options) {
  return need_node(translate(grammar, schema, options, schema::types::kObject, whole));
}

Result<NodeId> schema_members_node(Grammar& grammar, const Json& schema, MemberWriter& writer,
                                   const SchemaOptions& options) {
  return need_node(translate(
      grammar, schema, options, schema::types::kObject,
      [&](schema::Emitter& emitter, schema::FormulaId root) { return emitter.members(root, writer); }));
}

Result<std::shared_ptr<const Grammar>> grammar_from_schema(const Json& schema, const SchemaOptions& options) {
  auto grammar = std::make_shared<Grammar>();
  Result<std::optional<NodeId>> node = translate(*grammar, schema, options, schema::types::kAll, whole);
  if (!node) return refused(std::move(node).error());
  if (!*node && options.nothing_is_an_error) return nothing_fits();
  if (!*node) return nullptr;
  NodeId root = **node;
  if (options.space == JsonSpace::kAny) {
    const NodeId space = json_space_node(*grammar, options.space);
    root = grammar->sequence({space, root, space});
  }
  Result<> frozen = grammar->freeze(root);
  if (grammar->matches_nothing()) {  // an item that needs itself, more items than there are
    if (options.nothing_is_an_error) return nothing_fits();
    return nullptr;
  }
  if (!frozen) return refused(std::move(frozen).error().within("#"));
  return grammar;
}

Result<NodeId> json_object_node(Grammar& grammar, const SchemaOptions& options) {
  return schema_node(grammar, Json{{"type", "object"}}, options);
}

Result<NodeId> json_value_node(Grammar& grammar, const SchemaOptions& options) {
  return schema_node(grammar, true, options);
}

NodeId json_space_node(Grammar& grammar, JsonSpace space) {
  RegexArena& arena = grammar.regexes();
  const RegexId blanks = arena.set({{U'\t', U'\t'}, {U' ', U' '}});
  const RegexId any = arena.set({{U'\t', U'\n'}, {U'\r', U'\r'}, {U' ', U' '}});
  if (space == JsonSpace::kAny) return grammar.terminal(arena.repeat(any, 0, -1));
  if (space == JsonSpace::kCompact) return grammar.sequence({});
  constexpr int kIndentation = 64;
  const RegexId line = arena.concat(std::array{arena.literal("\n"), arena.repeat(blanks, 0, kIndentation)});
  return grammar.terminal(arena.any_of(std::array{arena.empty(), arena.literal(" "), line}));
}

Result<std::string> spell_out_numbers(std::string_view json) {
  std::string out;
  for (size_t i = 0; i < json.size();) {
    size_t end = i + 1;
    if (json[i] == '"') {
      while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, json.size());
    } else if (json[i] == '-' || is_digit(json[i])) {
      // A run that is no number whole is left for the grammar to reject.
      while (end < json.size() &&
             (is_digit(json[end]) || std::string_view("+-.eE").find(json[end]) != std::string_view::npos))
        end++;
      const std::string_view number = json.substr(i, end - i);
      const bool plain = number.find_first_of(".eE") == std::string_view::npos && number != "-0";
      if (!plain && number_end(number, 0) == number.size()) {
        out += schema::plain(TRY(schema::parse_decimal(number)));
        i = end;
        continue;
      }
    }
    out += json.substr(i, end - i);
    i = end;
  }
  return out;
}

}  // namespace brass::grammar
