// The classes of characters that BERT's cleaning and words go by.
//
// Owns: the table, beyond ASCII. It is that of the original tokenizer (Hugging Face `tokenizers`), whose
// Unicode is an older one: characters that came later are letters there, and so they are here. Written by
// tools/oracles/bert_classes.py.
#pragma once

#include <cstdint>

namespace brass::tokens {

enum class BertClass : uint8_t {
  kOther,
  kRemoved,  // control, format and private characters
  kAccent,   // nonspacing marks
  kMark,     // punctuation, a word of its own
};

// c >= 0x80
BertClass bert_class(char32_t c);

}  // namespace brass::tokens
