// A Lark grammar as it is written: what the parser hands to the compiler.
//
// Must not know: what the pieces mean. Invariants: every id is in its Document; children come before their parents.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/source_text.h"

namespace brass::grammar::lark {

using ExprId = int32_t;

enum class Kind : uint8_t {
  kString,    // text; `flag_i`
  kRange,     // from the first character of text to `last`
  kRegexp,    // text, between the slashes; flags
  kName,      // text
  kSequence,  // of children; none: the empty text
  kChoice,
  kBoth,    // each of the children (terminals only)
  kNot,     // anything but the child (terminals only)
  kRepeat,  // the child
};

struct Expr {
  Kind kind;
  Place place;
  std::string text;
  std::string flags;  // of a string or regular expression
  char32_t last = 0;
  int min = 0, max = -1;
  std::vector<ExprId> children;
};

struct Definition {
  std::string name;
  Place place;
  ExprId body = -1;
};

struct Import {
  std::string name, alias;  // common.NAME
  Place place;
};

struct Document {
  std::vector<Expr> exprs;
  std::vector<Definition> rules, terminals;
  std::vector<Import> imports;
  std::vector<ExprId> ignored;

  const Expr& at(ExprId id) const { return exprs[static_cast<size_t>(id)]; }
};

// NAME or _NAME: terminals are in upper case.
bool is_terminal(std::string_view name);

// Refuses by name, line and column what changes the language and is not supported.
Result<Document> parse(std::string_view source);

}  // namespace brass::grammar::lark
