// Pre-tokenizers: how byte-level vocabularies cut text into words that merges never cross.
//
// Owns: the table of known pre-tokenizers (tokenizer_pre.cpp), one row each, and running a row with PCRE2.
// Must not know: pieces. Invariants: immutable, any number of threads may split at once, each with its own
// Scratch; the words of a text are the text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace brass::tokens {

// What a vocabulary's pre-tokenizer says beside its patterns.
struct PreTraits {
  bool whole_words = false;  // a word that is a piece is never merged from parts ("ignore_merges")
  bool nfc = false;          // the original tokenizer normalizes to NFC first
  bool add_bos = false;      // unless the file says otherwise
};

class PreTokenizer {
 public:
  // `name`: tokenizer.ggml.pre. Fails on a name that is not in the table.
  static Result<std::unique_ptr<PreTokenizer>> create(std::string_view name);
  static std::vector<std::string_view> names();

  const PreTraits& traits() const { return traits_; }

  class Scratch {
   public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

   private:
    friend class PreTokenizer;
    struct State;
    std::unique_ptr<State> state_;
  };

  // Appends to `ends` where each word of `text` ends, in bytes from its start. `text` must be valid UTF-8.
  void split(std::string_view text, std::vector<size_t>& ends, Scratch& scratch) const;

  ~PreTokenizer();

 private:
  struct Pattern;
  PreTokenizer();

  PreTraits traits_;
  std::vector<Pattern> patterns_;  // each cuts the pieces that those before it left
};

}  // namespace brass::tokens
