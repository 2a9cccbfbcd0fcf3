// The known pre-tokenizers as data. A new one is one row.
//
// Patterns are written as their tokenizers publish them, with two liberties: \s and \S mean Unicode
// White_Space, no more and no less (PCRE2 would add U+180E), and what a pattern leaves unmatched is a word
// too.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "text/tokenizer_pre.h"

namespace brass::tokens {

struct PreRow {
  std::initializer_list<std::string_view> names;     // values of tokenizer.ggml.pre
  std::initializer_list<std::string_view> patterns;  // in order; each cuts the pieces of the one before
  PreTraits traits;
};

std::span<const PreRow> pre_rows();

}  // namespace brass::tokens
