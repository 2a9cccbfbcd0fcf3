// How SentencePiece prepares a text (Kudo, Richardson 2018): a table of replacements, blanks made few, a blank
// put in front.
//
// Owns: the "precompiled charsmap" of a vocabulary file, a double array of keys and their replacements, and
// what happens to blanks. Must not know: pieces. Invariants: immutable; linear but for the length of the
// table's keys; a broken table is refused when it is read, or acts as if it ended where it breaks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace brass::tokens {

class SentenceNormalizer {
 public:
  struct Options {
    bool blank_in_front = true;
    bool few_blanks = false;  // none at both ends, one between words
  };
  // `charsmap` may be empty. Errors name tokenizer.ggml.precompiled_charsmap.
  static Result<SentenceNormalizer> create(std::span<const uint8_t> charsmap, const Options& options);

  // Sets `out` to the prepared text, with blanks for blanks and for U+2581. Without `replace` the table is not
  // used. Bytes that are not UTF-8 become U+FFFD if there is a table, as in the original; else they stay.
  void normalize(std::string_view text, bool replace, std::string& out) const;

 private:
  struct Prefix {
    std::string_view text;
    size_t length;  // of the input that it stands for
  };
  Prefix next(std::string_view text, size_t at, bool replace) const;

  Options options_;
  std::vector<uint32_t> units_;  // the double array
  std::string replacements_;     // each ends with a zero byte
};

}  // namespace brass::tokens
