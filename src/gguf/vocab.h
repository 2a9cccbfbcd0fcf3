// The vocabulary and chat templates of a file as plain data (base/vocab_spec.h).
//
// Owns: the meaning of the tokenizer.* keys. Must not know: how text is tokenized, which tokenizer models
// exist.
#pragma once

#include "base/result.h"
#include "base/vocab_spec.h"
#include "gguf/gguf.h"

namespace brass::gguf {

// Reads tokenizer.*. A file whose tokenizer.ggml.model is "none", or that has no vocabulary at all, gives an
// empty spec with model "none" (its templates are still read). Pieces are bytes: they may hold NUL or be
// invalid UTF-8. Errors name the key: scores or types that are not one a token, ids outside the vocabulary,
// token types that do not exist, byte tokens that are not <0x00> … <0xFF>, a vocabulary whose pieces are all
// the same. An id of -1 (also as u32, as some converters write it) means "none".
Result<VocabSpec> read_vocab(const File& file);

}  // namespace brass::gguf
