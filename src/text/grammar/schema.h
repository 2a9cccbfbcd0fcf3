// From a JSON Schema (drafts 2020-12 and 7) to the grammar of the JSON texts that it allows.
//
// Owns: what the keywords mean, which are refused, how numbers and white space are spelled. Must not know: tokens,
// models, requests. Invariants: exact or refused: a keyword that the grammar cannot enforce is an error that names the
// keyword and its place, never skipped; time and size are bounded by SchemaOptions, whatever the schema. The table of
// keywords is docs/json-schema.md.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/grammar/grammar.h"

namespace brass::grammar {

enum class JsonSpace : uint8_t {
  kAny,      // as JSON has it: any run of blanks, tabs and line ends
  kBounded,  // a blank, or a line end and an indentation: a model cannot fill its context with nothing
  kCompact,  // none
};

enum class JsonNumbers : uint8_t {
  kAny,       // every spelling without an exponent: 1, 1.0, 1.00
  kShortest,  // as a program would write them; an exponent only where every number is allowed
};

enum class SchemaDraft : uint8_t { kBySchemaKeyword, k7, k2020 };

// How values are spelled that are not quite JSON, as some tool calls have them.
struct JsonDialect {
  bool python = false;  // as Python writes values, too: True, False, None, strings between single quotes
  // Where not empty: a mark in the place of quotes. What is between two of them is the string as it is, and keys are
  // bare.
  std::string quote;
  bool quote_is_control = false;  // a control piece of the vocabulary
  RegexId forbidden =
      -1;  // no string and no key is in this language (of the grammar's arena); -1: all may be
};

struct SchemaOptions {
  JsonSpace space = JsonSpace::kBounded;
  JsonNumbers numbers = JsonNumbers::kShortest;
  SchemaDraft draft = SchemaDraft::kBySchemaKeyword;  // what `$schema` says; 2020-12 where it is absent
  bool ordered = false;                               // properties only in the order of the schema
  bool escaped_keys =
      false;  // keys that the schema names may hold needless escapes; else they are forced text
  bool enforce_formats = true;      // else `format` is an annotation
  bool nothing_is_an_error = true;  // a schema that no value fulfils; else it has no grammar
  int max_cases = 20000;            // alternatives of one place
  int max_work = 700'000;           // steps of the whole translation
  JsonDialect dialect;

  // For judging instances that spell_out_numbers() went over.
  static SchemaOptions for_checking() {
    SchemaOptions options;
    options.space = JsonSpace::kAny;
    options.numbers = JsonNumbers::kAny;
    options.escaped_keys = true;
    options.nothing_is_an_error = false;
    return options;
  }
};

// A document whose numbers are kept exactly: those that neither 64 bits nor a double hold become binary values with
// their text, which only grammar_from_schema() and schema_node() understand.
Result<nlohmann::ordered_json> parse_schema(std::string_view text);

// Null: no value fulfils the schema, and that is no error.
Result<std::shared_ptr<const Grammar>> grammar_from_schema(const nlohmann::ordered_json& schema,
                                                           const SchemaOptions& options = {});

// One value of the schema as a part of a larger grammar, without white space around it. A schema stands alone: its
// references reach no other.
Result<NodeId> schema_node(Grammar& grammar, const nlohmann::ordered_json& schema,
                           const SchemaOptions& options = {});

// The same of the objects among the values.
Result<NodeId> schema_object_node(Grammar& grammar, const nlohmann::ordered_json& schema,
                                  const SchemaOptions& options = {});

// An object whose members are written one by one, not as JSON: parameters of a call between marks.
class MemberWriter {
 public:
  struct Value {
    NodeId any = -1;                 // all values, as JSON
    NodeId no_strings = -1;          // those that are no strings; -1: there are none
    std::optional<RegexId> strings;  // the texts of those that are; nothing: there are none
  };
  virtual ~MemberWriter() = default;
  // What is written for a member, never the empty text; -1: it cannot be written.
  virtual Result<NodeId> named(const std::string& key, const Value& value) = 0;
  // Of members that have no name in the schema: these are their keys. Nothing: none of them can be written.
  virtual Result<std::optional<AnyOrder::Key>> unnamed(RegexId keys, const Value& value) = 0;
  virtual NodeId separator() = 0;  // between two; -1: none
};

// The objects among the schema's values, their members in any order. Members without a name in the schema may come twice,
// but for the first `minProperties`.
Result<NodeId> schema_members_node(Grammar& grammar, const nlohmann::ordered_json& schema,
                                   MemberWriter& writer, const SchemaOptions& options = {});

// Any JSON object, and any JSON value.
Result<NodeId> json_object_node(Grammar& grammar, const SchemaOptions& options = {});
Result<NodeId> json_value_node(Grammar& grammar, const SchemaOptions& options = {});

// The white space of `options`, or the empty text.
NodeId json_space_node(Grammar& grammar, JsonSpace space);

// The text with its numbers written in one way: 1.5e3 becomes 1500, and 2.0 becomes 2. The set of spellings of, say, the
// integers is not a context-free language once there are exponents, and equal items are told by their texts, so instances
// are judged in this form. What is not JSON is left as it is.
Result<std::string> spell_out_numbers(std::string_view json);

}  // namespace brass::grammar
