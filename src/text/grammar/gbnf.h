// GBNF, the notation of llama.cpp's grammars (its grammars/README.md), to a Grammar.
//
// Must not know: how grammars are walked. Invariants: what is not supported (matches of single tokens, <…> and !<…>)
// or not well-formed is refused with line and column; nothing is skipped. Where a text begins is the rule `root`.
//
// More than llama.cpp takes: '|' at the start of a line goes on with the rule above it; '_' in names.
// Less: a rule defined twice, an empty class, counts out of order.
#pragma once

#include <memory>
#include <string_view>

#include "text/grammar/grammar.h"

namespace brass::grammar {

Result<std::shared_ptr<const Grammar>> grammar_from_gbnf(std::string_view source);

}  // namespace brass::grammar
