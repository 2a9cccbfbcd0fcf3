#include "text/tokenizer_words.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "text/tokenizer_utf8.h"

namespace brass::tokens {

namespace {

// Order of scores as unsigned numbers, the best lowest: IEEE bits, made monotone and turned round.
uint32_t rank_of(float score) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // -0 and 0 are equal scores
  const uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return ~ordered;
}

}  // namespace

WordEncoder::WordEncoder(Units units, std::span<const std::optional<std::string_view>> bytes)
    : units_(units),
      table_(bytes.size()),
      byte_symbol_(256, PieceTable::kNone),
      byte_fallback_(256, PieceTable::kNone),
      reach_(std::make_unique<std::atomic<Reach>[]>(bytes.size())) {
  for (size_t id = 0; id < bytes.size(); ++id) {
    reach_[id].store(Reach::kUnknown, std::memory_order_relaxed);
    if (!bytes[id] || bytes[id]->empty()) continue;
    const std::string_view piece = *bytes[id];
    table_.insert(piece, static_cast<int32_t>(id));
    for (size_t i = 1; i < piece.size(); ++i) {
      adjacent_.set(static_cast<size_t>(static_cast<uint8_t>(piece[i - 1])) << 8 |
                    static_cast<uint8_t>(piece[i]));
    }
  }
  for (int value = 0; value < 256; ++value) {
    const char byte = static_cast<char>(value);
    byte_symbol_[static_cast<size_t>(value)] = table_.find({&byte, 1});
  }
}

void WordEncoder::set_merges(std::span<const Rule> rules) {
  pairs_.emplace(rules.size());
  for (size_t rank = 0; rank < rules.size(); ++rank) {
    pairs_->insert(rules[rank].left, rules[rank].right, {static_cast<uint32_t>(rank), rules[rank].merged});
  }
}

void WordEncoder::set_scores(std::span<const float> scores) {
  ranks_.resize(scores.size());
  for (size_t id = 0; id < scores.size(); ++id) ranks_[id] = rank_of(scores[id]);
}

void WordEncoder::set_unigram(std::span<const std::optional<std::string_view>> bytes,
                              std::span<const float> scores) {
  std::vector<PieceTrie::Entry> entries;
  double least = 0;
  for (size_t id = 0; id < bytes.size(); ++id) {
    if (!bytes[id] || bytes[id]->empty()) continue;
    least = entries.empty() ? scores[id] : std::min(least, static_cast<double>(scores[id]));
    entries.emplace_back(*bytes[id], static_cast<int32_t>(id));
  }
  trie_.emplace(std::move(entries));
  scores_.assign(scores.begin(), scores.end());
  unknown_score_ = least - 10;  // as in the original
}

void WordEncoder::set_fallback(std::span<const int32_t> byte_pieces, std::vector<int32_t> unknown) {
  ENSURE(byte_pieces.size() == 256);
  byte_fallback_.assign(byte_pieces.begin(), byte_pieces.end());
  unknown_ = std::move(unknown);
}

void WordEncoder::encode(std::string_view word, std::vector<int32_t>& ids, Scratch& scratch) const {
  const int32_t whole = table_.find(word);
  if (whole != PieceTable::kNone && (whole_words_ || reaches(whole, word, scratch))) {
    ids.push_back(whole);
    scratch.after_unknown = false;
    return;
  }
  merge(word, scratch);
  append(word, ids, scratch);
}

void WordEncoder::split(std::string_view word, std::vector<Symbol>& symbols) const {
  ENSURE(word.size() < UINT32_MAX, "a word of {} bytes", word.size());
  symbols.clear();
  for (size_t at = 0; at < word.size();) {
    size_t length = 1;
    int32_t id = byte_symbol_[static_cast<uint8_t>(word[at])];
    if (units_ == Units::kCharacters && static_cast<uint8_t>(word[at]) >= 0x80) {
      length = 1;
      const Utf8Step step = utf8_step(word, at);
      if (step.state == Utf8State::kValid) length = step.length;
      id = table_.find(word.substr(at, length));
    }
    if (id >= 0 || !leaves_out(word[at]))
      symbols.push_back({id, static_cast<uint32_t>(at), static_cast<uint32_t>(at + length)});
    at += length;
  }
}

void WordEncoder::merge(std::string_view word, Scratch& scratch) const {
  if (trie_) return cut_best(word, scratch);
  split(word, scratch.merger.symbols);
  if (pairs_) {
    scratch.merger.run([this](const Symbol& left, const Symbol& right) {
      return left.id < 0 || right.id < 0 ? Merge{} : pairs_->find(left.id, right.id);
    });
  } else {
    scratch.merger.run([this, word](const Symbol& left, const Symbol& right) {
      const int32_t id = table_.find(word.substr(left.begin, right.end - left.begin));
      return id < 0 ? Merge{} : Merge{ranks_[static_cast<size_t>(id)], id};
    });
  }
}

// Viterbi's algorithm. Of equally good cuts the one with the longest last piece wins, and so on to the front:
// shorter pieces come later and have to be better.
void WordEncoder::cut_best(std::string_view word, Scratch& scratch) const {
  ENSURE(word.size() < Best::kNowhere, "a word of {} bytes", word.size());
  std::vector<Best>& best = scratch.best;
  best.assign(word.size() + 1, {});
  const auto offer = [&](size_t begin, size_t end, int32_t id, double score) {
    score += best[begin].score;
    if (best[end].begin == Best::kNowhere || score > best[end].score)
      best[end] = {score, static_cast<uint32_t>(begin), id};
  };
  for (size_t at = 0; at < word.size();) {
    const Utf8Step step = utf8_step(word, at);
    const size_t length = step.state == Utf8State::kValid ? step.length : 1;
    bool known = false;
    uint32_t node = PieceTrie::kRoot;
    for (size_t end = at; end < word.size() && trie_->step(node, word[end]);) {
      ++end;
      if (const int32_t id = trie_->id(node); id >= 0) {
        offer(at, end, id, scores_[static_cast<size_t>(id)]);
        known = known || end - at == length;
      }
    }
    if (!known) offer(at, at + length, -1, unknown_score_);
    at += length;
  }
  std::vector<Symbol>& symbols = scratch.merger.symbols;
  symbols.clear();
  for (auto end = static_cast<uint32_t>(word.size()); end > 0; end = best[end].begin)
    symbols.push_back({best[end].id, best[end].begin, end});
  std::reverse(symbols.begin(), symbols.end());
}

bool WordEncoder::reaches(int32_t id, std::string_view word, Scratch& scratch) const {
  std::atomic<Reach>& memo = reach_[static_cast<size_t>(id)];
  Reach known = memo.load(std::memory_order_relaxed);
  if (known == Reach::kUnknown) {
    merge(word, scratch);
    known =
        scratch.merger.symbols.size() == 1 && scratch.merger.symbols[0].id == id ? Reach::kYes : Reach::kNo;
    memo.store(known, std::memory_order_relaxed);
  }
  return known == Reach::kYes;
}

void WordEncoder::append(std::string_view word, std::vector<int32_t>& ids, Scratch& scratch) const {
  for (const Symbol& symbol : scratch.merger.symbols) {
    if (symbol.id >= 0) {
      ids.push_back(symbol.id);
      scratch.after_unknown = false;
      continue;
    }
    for (const char byte : word.substr(symbol.begin, symbol.end - symbol.begin)) {
      const int32_t piece = byte_fallback_[static_cast<uint8_t>(byte)];
      if (piece >= 0) {
        ids.push_back(piece);
      } else if (!scratch.after_unknown) {
        ids.insert(ids.end(), unknown_.begin(), unknown_.end());
      }
      scratch.after_unknown = piece < 0;
    }
  }
}

}  // namespace brass::tokens
