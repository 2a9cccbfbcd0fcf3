// One call as a part of a grammar.
//
// Owns: CallWriter: a call of a tool between the marks around it, its arguments as its schema allows them. Must not
// know: what stands around calls (call_grammar.cpp).
// Invariants: a text in the place of a value never holds what the reader (reader.h) takes for its end.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "text/calls/call_grammar.h"
#include "text/calls/mark_nodes.h"

namespace brass::calls {

class CallWriter {
 public:
  using NodeId = grammar::NodeId;

  CallWriter(grammar::Grammar& grammar, MarkNodes& marks, const CallFormat& format, const ToolSet& tools,
             const CallGrammarOptions& options)
      : grammar_(grammar), marks_(marks), format_(format), tools_(tools), options_(options) {}

  // What is behind call_begin (which is there or not: `marked`) and before call_end, in the format's shape.
  Result<NodeId> call(const std::string& tool, bool in_section, bool marked);
  // {"name": …, "arguments": …}
  Result<NodeId> object(const std::string& tool);
  // The name as it is written before arguments. Refused: names that would not be read whole.
  Result<NodeId> name(const std::string& tool);
  // {…}
  Result<NodeId> arguments(const std::string& tool);

 private:
  Result<NodeId> header(const std::string& tool, bool in_section, bool marked);
  Result<NodeId> python(const std::string& tool);
  Result<NodeId> parameters(const std::string& tool, bool in_section, bool marked);
  NodeId id();
  NodeId quoted(const std::string& text);
  NodeId member(const std::string& key, NodeId value);
  nlohmann::ordered_json schema_of(const std::string& tool) const;

  grammar::Grammar& grammar_;
  MarkNodes& marks_;
  const CallFormat& format_;
  const ToolSet& tools_;
  const CallGrammarOptions& options_;
  std::map<std::string, NodeId> arguments_;
  std::map<std::tuple<std::string, bool, bool>, NodeId> calls_;
};

// Where in a call arguments are written one by one.
struct ParameterPlace {
  const std::string& tool;
  bool in_section, marked;
};

// Members between marks, in the texts of the format (call_parameters.cpp).
std::unique_ptr<grammar::MemberWriter> parameter_writer(grammar::Grammar& grammar, MarkNodes& marks,
                                                        const CallFormat& format, const ToolSet& tools,
                                                        const ParameterPlace& place);
// key=value
std::unique_ptr<grammar::MemberWriter> python_writer(grammar::Grammar& grammar, MarkNodes& marks);
// Texts in which the reader would find the end of a value.
grammar::RegexId ends_of_values(grammar::Grammar& grammar, MarkNodes& marks, const CallFormat& format,
                                const ParameterPlace& place);

}  // namespace brass::calls
