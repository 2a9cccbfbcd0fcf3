// From solved formulas to the nodes of a grammar.
//
// Owns: how JSON is spelled: punctuation, white space, numbers, the order of members. Must not know: keywords.
// Invariants: one node a formula, so recursion ends; a rule is named by the place in the schema that it came from.
#pragma once

#include <deque>
#include <optional>

#include "text/grammar/schema_solver.h"

namespace brass::grammar::schema {

class Emitter {
 public:
  Emitter(Grammar& grammar, Solver& solver, Reader& reader, Sets& sets, const SchemaOptions& options);

  // One value, and all that it is made of.
  Result<NodeId> value(FormulaId id);
  // Objects whose members the writer writes, and all that these are made of.
  Result<NodeId> members(FormulaId id, MemberWriter& writer);

 private:
  Result<> define_all();              // what was put off
  Result<NodeId> node(FormulaId id);  // of what is made now or later
  Result<> define(FormulaId id, NodeId rule);
  Result<std::vector<NodeId>> scalars(FormulaId id);
  Result<NodeId> number(NumberId set);
  RegexId number_regex(const Automaton& automaton, const std::vector<int32_t>& order);
  NodeId number_rules(const Automaton& automaton);
  Result<NodeId> string(StringId set);
  NodeId word(const char* json, const char* python);
  RegexId spoken(RegexId strings);  // those that the dialect does not forbid

  // schema_emit_arrays.cpp
  Result<NodeId> array(const Case& of);
  Result<NodeId> plain_array(const ArrayShape& shape);
  Result<NodeId> counted_array(const ArrayShape& shape);
  NodeId brackets(NodeId body, bool may_be_empty);
  std::unexpected<Error> not_distinct(const ArrayShape& shape) const;
  Result<NodeId> distinct_array(const ArrayShape& shape);
  Result<> add_distinct_numbers(FormulaId item, const ArrayShape& shape, AnyOrder& order);
  Result<> add_distinct_strings(FormulaId item, AnyOrder& order);

  // schema_emit_objects.cpp
  Result<NodeId> object(const Case& of);
  Result<NodeId> plain_object(const ObjectShape& shape);
  Result<NodeId> json_object(const ObjectShape& shape);
  Result<NodeId> written_members(const ObjectShape& shape);
  Result<NodeId> written_object(const ObjectShape& shape, MemberWriter& writer);
  Result<MemberWriter::Value> member_value(FormulaId value);
  // A member of an object that is counted: its key, its value, its bit among the named, the demands that it may meet.
  struct Member {
    NodeId key;
    FormulaId value;
    uint32_t bit, some;
    bool required;
  };
  Result<std::vector<Member>> counted_members(const ObjectShape& shape);
  FormulaId demanded(const ObjectShape& shape, const Member& member, uint32_t met);
  Result<NodeId> counted_object(const ObjectShape& shape);
  Result<NodeId> object_with_some(const Case& of, const ObjectShape& shape);
  NodeId quoted(RegexId strings);
  AnyOrder::Key quoted_text(RegexId strings);  // the text between its quotes
  bool bare() const { return !options_.dialect.quote.empty(); }
  NodeId single_quoted(RegexId strings);
  RegexId bare_key(RegexId keys);  // those of them that can be bare
  NodeId key_text(StringId keys);

  NodeId fresh_rule(const std::string& what);
  NodeId spaced(std::vector<NodeId> parts);  // a sequence with white space between

  Grammar& grammar_;
  Solver& solver_;
  Reader& reader_;
  Sets& sets_;
  Formulas& f_;
  const SchemaOptions& options_;
  NodeId space_, comma_, colon_;
  std::unordered_map<FormulaId, NodeId> nodes_;
  std::unordered_map<NumberId, NodeId> numbers_;
  std::unordered_map<StringId, NodeId> strings_;
  std::deque<std::pair<FormulaId, NodeId>> open_;
  const uint64_t schema_;  // a number of its own among all schemas: a grammar may hold several
  int rules_ = 0;
};

}  // namespace brass::grammar::schema
