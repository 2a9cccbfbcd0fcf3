// From a word to the ids of its pieces.
//
// Owns: the pieces that text can become by itself (no control, user-defined or byte pieces), and their merges
// or the search for the best of them.
// Must not know: how text was cut into words, which pieces are special.
// Invariants: immutable after create() but for a memo of one byte a piece, which any number of threads may
// fill.
//
// Most words are a piece, so that comes first: a word that is a piece, and that its own merges lead to, is
// its own encoding. Whether they do is found out once a piece, when it is first met.
#pragma once

#include <atomic>
#include <bitset>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_merge.h"
#include "text/tokenizer_tables.h"
#include "text/tokenizer_trie.h"

namespace brass::tokens {

// What a word falls into before merging.
enum class Units : uint8_t { kBytes, kCharacters };

class WordEncoder {
 public:
  // bytes[i]: what piece i stands for, nothing if text cannot become it by itself.
  WordEncoder(Units units, std::span<const std::optional<std::string_view>> bytes);

  // Where merges come from: a list, best first, as pairs of ids and what they become …
  struct Rule {
    int32_t left, right, merged;
  };
  void set_merges(std::span<const Rule> rules);
  // … or the scores of the pieces: the neighbours that make the best-scored piece merge (SentencePiece's
  // BPE).
  void set_scores(std::span<const float> scores);
  // … or, instead of merges, the cut of a word whose pieces have the best sum of scores (Unigram, Kudo 2018).
  // A character that is no piece is worse than every piece. `bytes` as for the constructor.
  void set_unigram(std::span<const std::optional<std::string_view>> bytes, std::span<const float> scores);
  // A word that is a piece is that piece, whatever its merges say.
  void set_whole_words(bool on) { whole_words_ = on; }
  // What stands for a byte that no piece covers: byte_pieces[value] where >= 0, else `unknown`, once for all
  // neighbours, in one word or several. Where both are missing and merges go by a list, the byte is left out before
  // merges, and its neighbours are each other's, as in `tokenizers`.
  void set_fallback(std::span<const int32_t> byte_pieces, std::vector<int32_t> unknown);

  // The best cut of a word up to some byte: its last piece begins at `begin`.
  struct Best {
    double score = 0;
    uint32_t begin = kNowhere;
    int32_t id = -1;
    static constexpr uint32_t kNowhere = UINT32_MAX;
  };
  struct Scratch {
    Merger merger;
    std::vector<Best> best;
    bool after_unknown =
        false;  // whether the text so far ends in `unknown`; set to false where a text begins
  };
  void encode(std::string_view word, std::vector<int32_t>& ids, Scratch& scratch) const;

  // Whether a merge can join the byte x to a y after it: false if no piece holds them side by side.
  bool joins(uint8_t x, uint8_t y) const { return adjacent_[x << 8 | y]; }
  int32_t find(std::string_view bytes) const { return table_.find(bytes); }

 private:
  enum class Reach : uint8_t { kUnknown, kYes, kNo };

  void split(std::string_view word, std::vector<Symbol>& symbols) const;
  bool leaves_out(char byte) const {
    return pairs_ && unknown_.empty() && byte_fallback_[static_cast<uint8_t>(byte)] < 0;
  }
  void merge(std::string_view word, Scratch& scratch) const;
  void cut_best(std::string_view word, Scratch& scratch) const;
  bool reaches(int32_t id, std::string_view word, Scratch& scratch) const;
  void append(std::string_view word, std::vector<int32_t>& ids, Scratch& scratch) const;

  Units units_;
  bool whole_words_ = false;
  PieceTable table_;
  std::optional<PairTable> pairs_;  // merges by a list
  std::vector<uint32_t> ranks_;     // merges by score: of each piece, best lowest
  std::optional<PieceTrie> trie_;   // Unigram
  std::vector<float> scores_;
  double unknown_score_ = 0;
  std::vector<int32_t> byte_symbol_;  // piece of each single byte, or -1
  std::vector<int32_t> byte_fallback_;
  std::vector<int32_t> unknown_;
  std::bitset<65536> adjacent_;
  std::unique_ptr<std::atomic<Reach>[]> reach_;
};

}  // namespace brass::tokens
