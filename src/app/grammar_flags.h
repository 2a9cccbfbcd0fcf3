// The flags that say what a reply may be: a grammar, a JSON Schema, a regular expression, or choices.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/arguments.h"
#include "text/grammar/constraint.h"

namespace brass::app {

struct GrammarFlags {
  std::optional<std::string> grammar, json_schema, regex, choices;  // at most one; the first two are files
  std::string syntax;                                               // of the grammar; "": by the file's name
  std::string after;                                                // the grammar begins behind this text
  std::vector<std::string> triggers;                                // or when one of these appears
};

void declare_grammar(Arguments& arguments, GrammarFlags& flags);
// Values that can be judged without reading a file. Errors name the flag and are wrong use.
Result<> check_grammar_flags(const GrammarFlags& flags);

// nullptr: no flag was given. Errors name the flag and, where there is one, the file.
Result<std::shared_ptr<const grammar::Grammar>> read_grammar(const GrammarFlags& flags);
// Whether the flags say where in the reply the grammar begins; else that is behind reasoning.
bool says_where(const GrammarFlags& flags);
// Where it begins by the flags; without the grammar itself.
grammar::ConstraintOptions constraint_options(const GrammarFlags& flags);

// "a,b,c", where \, is a comma and \\ a backslash.
std::vector<std::string> split_choices(const std::string& text);

}  // namespace brass::app
