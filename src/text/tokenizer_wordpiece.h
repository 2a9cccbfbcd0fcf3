// WordPiece, BERT's tokenizer (Devlin et al. 2018): words by blanks and punctuation, each cut into the longest
// pieces from the left; a word that cannot be cut whole is unknown.
//
// Owns: BERT's cleaning of text (control characters, blanks, ideographs as words, accents, case), its words,
// and the search for pieces. Must not know: control pieces, ids of beginning and end. Invariants: linear for
// any text, since words of more than 100 characters are unknown unseen; what is not UTF-8 counts as U+FFFD.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_trie.h"

namespace brass::tokens {

class WordPiece {
 public:
  struct Options {
    bool lowercase = true, strip_accents = true;
    int32_t unknown = 0;
  };
  // `starts`: pieces that begin a word; `rests`: pieces that go on with one.
  WordPiece(std::vector<PieceTrie::Entry> starts, std::vector<PieceTrie::Entry> rests, const Options& options)
      : starts_(std::move(starts)), rests_(std::move(rests)), options_(options) {}

  // Appends the ids of `text`. Without `clean`, words are found in the text as it is.
  void encode(std::string_view text, bool clean, std::vector<int32_t>& ids) const;

 private:
  class Reader;
  bool cut(std::string_view word, std::vector<int32_t>& ids) const;

  PieceTrie starts_, rests_;
  Options options_;
};

}  // namespace brass::tokens
