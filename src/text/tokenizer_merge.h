// Byte-pair merging (Sennrich, Haddow, Birch 2016): again and again the neighbours of lowest rank become one,
// the leftmost of equals first, until nothing merges.
//
// Owns: the order of merges. Must not know: where ranks come from (a list of merges, or scores of pieces).
// Invariants: short words take a scan per merge, long ones a heap, O(n log n); both give the same symbols.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "text/tokenizer_tables.h"

namespace brass::tokens {

// A stretch [begin, end) of the word, in bytes. id < 0: not a piece.
struct Symbol {
  int32_t id;
  uint32_t begin, end;
};

class Merger {
 public:
  std::vector<Symbol> symbols;  // in: what the word starts as; out: what it became

  // find(left, right) -> Merge
  template <class Find>
  void run(const Find& find) {
    if (symbols.size() < 2) return;
    symbols.size() <= kShort ? run_short(find) : run_long(find);
  }

  template <class Find>
  void run_short(const Find& find);
  template <class Find>
  void run_long(const Find& find);

 private:
  static constexpr size_t kShort = 64;
  static constexpr uint32_t kEnd = UINT32_MAX;

  std::vector<Merge> merges_;             // of symbol i with its right neighbour
  std::vector<uint32_t> before_, after_;  // neighbours, for the long form
  std::vector<uint64_t> heap_;            // rank << 32 | position, smallest first
};

template <class Find>
void Merger::run_short(const Find& find) {
  merges_.resize(symbols.size() - 1);
  for (size_t i = 0; i < merges_.size(); ++i) merges_[i] = find(symbols[i], symbols[i + 1]);
  while (!merges_.empty()) {
    size_t best = 0;
    for (size_t i = 1; i < merges_.size(); ++i) {
      if (merges_[i].rank < merges_[best].rank) best = i;
    }
    if (merges_[best].rank == Merge::kNever) break;
    symbols[best] = {merges_[best].id, symbols[best].begin, symbols[best + 1].end};
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    merges_.erase(merges_.begin() + static_cast<std::ptrdiff_t>(best));
    if (best < merges_.size()) merges_[best] = find(symbols[best], symbols[best + 1]);
    if (best > 0) merges_[best - 1] = find(symbols[best - 1], symbols[best]);
  }
}

template <class Find>
void Merger::run_long(const Find& find) {
  const auto count = static_cast<uint32_t>(symbols.size());
  merges_.assign(count, Merge{});
  before_.resize(count), after_.resize(count);
  heap_.clear();
  const auto key = [](uint32_t rank, uint32_t at) { return static_cast<uint64_t>(rank) << 32 | at; };
  for (uint32_t i = 0; i < count; ++i) {
    before_[i] = i == 0 ? kEnd : i - 1;
    after_[i] = i + 1 == count ? kEnd : i + 1;
    if (i + 1 < count) merges_[i] = find(symbols[i], symbols[i + 1]);
    if (merges_[i].rank != Merge::kNever) heap_.push_back(key(merges_[i].rank, i));
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  const auto update = [&](uint32_t at) {
    merges_[at] = after_[at] == kEnd ? Merge{} : find(symbols[at], symbols[after_[at]]);
    if (merges_[at].rank == Merge::kNever) return;
    heap_.push_back(key(merges_[at].rank, at));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  };
  while (!heap_.empty()) {
    const uint64_t top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    const auto at = static_cast<uint32_t>(top);
    // An entry is alive as long as its position still has a merge of that rank; swallowed symbols have none.
    if (merges_[at].rank != static_cast<uint32_t>(top >> 32)) continue;
    const uint32_t gone = after_[at];
    symbols[at] = {merges_[at].id, symbols[at].begin, symbols[gone].end};
    merges_[gone] = Merge{};
    after_[at] = after_[gone];
    if (after_[at] != kEnd) before_[after_[at]] = at;
    update(at);
    if (before_[at] != kEnd) update(before_[at]);
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i != kEnd; i = after_[i]) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

}  // namespace brass::tokens
