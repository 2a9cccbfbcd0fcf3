// Lark's notation, as constrained generation takes it (llguidance's docs/syntax.md, OpenAI's custom tools with the
// syntax "lark"), to a Grammar.
//
// Must not know: how grammars are walked. Invariants: what would change the language and is not supported is refused
// with line and column: priorities of terminals, templates, imports but of `common`, %declare, %override, %extend,
// %json, %regex, attributes of rules but `capture`, matches of single tokens, look-around and lazy repetition in regular
// expressions. What only shapes trees (aliases, '?', '!', priorities of rules) has no say. Where a text begins is the
// rule `start`.
//
// The language is that of the rules over the languages of the terminals: a text is allowed if it can be cut into
// terminals in some way (Lark's lexer "dynamic_complete"). There is no longest match, and no keyword is kept from a
// terminal that matches it. What is %ignored may stand before, between and behind terminals of rules, not inside.
#pragma once

#include <memory>
#include <string_view>

#include "text/grammar/grammar.h"

namespace brass::grammar {

Result<std::shared_ptr<const Grammar>> grammar_from_lark(std::string_view source);

}  // namespace brass::grammar
