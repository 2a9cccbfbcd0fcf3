// What each keyword says, as a formula.
//
// Owns: the meaning of keywords in 2020-12 and draft 7, and the refusal of malformed ones. Must not know: grammars.
// Invariants: a schema's formula holds its subschemas as references, so reading recurses only through `unevaluated…`;
// errors name the place and the keyword.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "text/grammar/schema_document.h"
#include "text/grammar/schema_formula.h"
#include "text/grammar/schema_numbers.h"
#include "text/grammar/schema_strings.h"

namespace brass::grammar::schema {

struct Sets {
  RegexArena& regexes;
  Formulas formulas;
  NumberSets numbers;
  StringSets strings;
  explicit Sets(RegexArena& arena) : regexes(arena), strings(arena) {}
};

class Reader {
 public:
  Reader(Document& document, Sets& sets, const SchemaOptions& options)
      : document_(document), sets_(sets), f_(sets.formulas), options_(options) {}

  // Of the schema at a place.
  Result<FormulaId> formula(int32_t place);
  const std::string& pointer(int32_t place) const { return document_.place(place).pointer; }

 private:
  // A schema at its place, while it is read.
  struct At {
    const Json& schema;
    int32_t place;
    bool draft7;
    const Json* get(const char* keyword) const {
      const auto found = schema.find(keyword);
      return found == schema.end() ? nullptr : &*found;
    }
  };
  using Handler = Result<FormulaId> (Reader::*)(const At&, const Json&);
  struct Row {
    const char* keyword;
    Handler read;
    bool in_place;  // applies other schemas to the same value
  };
  static const std::vector<Row>& rows();

  // One way for a value to be valid, and what of it the keywords then have looked at.
  struct Seen {
    bool all_keys = false, all_items = false;
    std::set<std::string> keys;
    std::set<RegexId> patterns;
    int items = 0;
    std::set<FormulaId> contained;
    bool operator==(const Seen&) const = default;
  };
  struct Way {
    FormulaId formula;
    Seen seen;
  };
  using Ways = std::vector<Way>;

  std::unexpected<Error> refuse(const At& at, const std::string& keyword, const std::string& why) const;
  Result<> check(const At& at) const;
  Result<FormulaId> read(const At& at);
  Result<FormulaId> assertions(const At& at, bool in_place);
  Result<FormulaId> sub(const At& at, const Json& schema, const std::string& step);
  Result<std::vector<FormulaId>> subs(const At& at, const char* keyword, const Json& list);
  Result<int> count(const At& at, const char* keyword, const Json& value) const;
  Result<std::vector<std::string>> names(const At& at, const std::string& keyword, const Json& value) const;
  Result<RegexId> pattern(const At& at, const char* keyword, const std::string& text);

  // schema_values.cpp
  Result<FormulaId> type(const At& at, const Json& value);
  Result<FormulaId> enumeration(const At& at, const Json& value);
  Result<FormulaId> constant(const At& at, const Json& value);
  Result<FormulaId> value_of(const At& at, const char* keyword, const Json& value);
  Result<FormulaId> minimum(const At& at, const Json& value);
  Result<FormulaId> maximum(const At& at, const Json& value);
  Result<FormulaId> exclusive_minimum(const At& at, const Json& value);
  Result<FormulaId> exclusive_maximum(const At& at, const Json& value);
  Result<FormulaId> bound(const At& at, const char* keyword, const Json& value, bool upper, bool equal);
  Result<Decimal> number(const At& at, const char* keyword, const Json& value) const;
  Result<FormulaId> multiple_of(const At& at, const Json& value);
  Result<FormulaId> min_length(const At& at, const Json& value);
  Result<FormulaId> max_length(const At& at, const Json& value);
  Result<FormulaId> string_pattern(const At& at, const Json& value);
  Result<FormulaId> format(const At& at, const Json& value);
  FormulaId number_in(NumberId set) { return f_.make({Kind::kNumber, set, 0, 0, {}}); }
  FormulaId string_in(StringId set) { return f_.make({Kind::kString, set, 0, 0, {}}); }

  // schema_parts.cpp
  Result<FormulaId> items(const At& at, const Json& value);
  Result<FormulaId> prefix_items(const At& at, const Json& value);
  Result<FormulaId> contains(const At& at, const Json& value);
  Result<FormulaId> min_items(const At& at, const Json& value);
  Result<FormulaId> max_items(const At& at, const Json& value);
  Result<FormulaId> unique_items(const At& at, const Json& value);
  Result<FormulaId> properties(const At& at, const Json& value);
  Result<FormulaId> pattern_properties(const At& at, const Json& value);
  Result<FormulaId> additional_properties(const At& at, const Json& value);
  Result<FormulaId> property_names(const At& at, const Json& value);
  Result<FormulaId> required(const At& at, const Json& value);
  Result<FormulaId> min_properties(const At& at, const Json& value);
  Result<FormulaId> max_properties(const At& at, const Json& value);
  Result<FormulaId> dependent_required(const At& at, const Json& value);
  FormulaId required_key(const std::string& name) {
    return f_.make({Kind::kRequired, f_.key(name), 0, 0, {}});
  }
  FormulaId value_at(const std::string& name, FormulaId value) {
    return f_.make({Kind::kKey, f_.key(name), 0, 0, {value}});
  }
  Result<Seen> seen_by(const At& at);

  // schema_applicators.cpp
  Result<FormulaId> all_of(const At& at, const Json& value);
  Result<FormulaId> any_of(const At& at, const Json& value);
  Result<FormulaId> one_of(const At& at, const Json& value);
  Result<FormulaId> negation(const At& at, const Json& value);
  Result<FormulaId> condition(const At& at, const Json& value);
  Result<FormulaId> reference(const At& at, const Json& value);
  Result<FormulaId> dynamic_reference(const At& at, const Json& value);
  Result<FormulaId> dependent_schemas(const At& at, const Json& value);
  Result<FormulaId> dependencies(const At& at, const Json& value);
  Result<int32_t> target(const At& at, const char* keyword, const Json& value);

  // schema_unevaluated.cpp
  Result<FormulaId> unevaluated(const At& at);
  Result<Ways> ways(int32_t place);
  Result<Ways> ways_of(const At& at);
  Result<Ways> ways_below(const At& at, const Json& schema, const std::string& step);
  Result<> add_branches(const At& at, Ways& out);
  Result<> add_alternatives(const At& at, Ways& out);
  Result<> add_dependents(const At& at, Ways& out);
  Result<Ways> any_ways(const At& at, const Json& list);
  Result<Ways> one_ways(const At& at, const Json& list);
  Result<Ways> condition_ways(const At& at, const Json& schema);
  Result<> multiply(const At& at, Ways& left, const Ways& right);
  Result<> close(const At& at, Ways& ways);

  Document& document_;
  Sets& sets_;
  Formulas& f_;
  const SchemaOptions& options_;
  std::unordered_map<int32_t, FormulaId> read_;
  std::map<std::string, FormulaId> formats_;  // what each says: making one takes long
  std::set<int32_t> reading_ways_;
};

}  // namespace brass::grammar::schema
