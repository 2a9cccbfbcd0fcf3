// KV memory: writing a token's rows, and attention over what a token sees.
#include <algorithm>
#include <cmath>

#include "backend/ref/operations.h"
#include "base/check.h"

namespace brass::ref {

PageId Run::page_of(uint32_t t, uint32_t group, int32_t position) const {
  const auto sequence = static_cast<size_t>(batch.sequences[t]);
  const PageTable table = batch.page_tables[sequence * pools.size() + group];
  const auto index = static_cast<size_t>(position) / kPageTokens;
  ENSURE(index < table.size(), "position {} of sequence {} is past its {} pages in group {}", position,
         sequence, table.size(), group);
  ENSURE(pools[group].has(table[index]), "position {} of sequence {}: page {} of {} in group {}", position,
         sequence, table[index], pools[group].pages(), group);
  return table[index];
}

void run_kv_write(const Run& run, const Op& op) {
  const auto& a = op.as<KvAttrs>();
  const RowsView k = run.in(op, 0);
  KvPool& pool = run.pools[a.group];
  for (uint32_t t = 0; t < k.n; t++) {
    if (run.batch.sequences[t] < 0) continue;
    const int32_t position = run.batch.positions[t];
    const PageId page = run.page_of(t, a.group, position);
    const uint32_t slot = static_cast<uint32_t>(position) % kPageTokens;
    pool.write(page, pool.k(a.layer), slot, k.row(t));
    if (a.v_dim > 0) pool.write(page, pool.v(a.layer), slot, run.in(op, 1).row(t));
  }
}

namespace {

constexpr uint32_t kTileTokens = 16;

// Consecutive rows of one sequence, whose last position in the step is `newest`.
struct Tile {
  uint32_t first, count;
  int32_t newest;
};

std::vector<Tile> tiles_of(const Batch& batch) {
  std::vector<Tile> tiles;
  for (uint32_t t = 0; t < batch.ids.size(); t++) {
    const bool joins = !tiles.empty() && tiles.back().count < kTileTokens &&
                       batch.sequences[tiles.back().first] == batch.sequences[t];
    if (joins)
      tiles.back().count++;
    else
      tiles.push_back({t, 1, 0});
  }
  for (size_t i = tiles.size(); i-- > 0;) {
    const Tile* behind = i + 1 < tiles.size() ? &tiles[i + 1] : nullptr;
    const bool goes_on =
        behind != nullptr && batch.sequences[behind->first] == batch.sequences[tiles[i].first];
    tiles[i].newest = goes_on ? behind->newest : batch.positions[tiles[i].first + tiles[i].count - 1];
  }
  return tiles;
}

// Attention of a tile's tokens in the query heads of one KV head. Query row i is head i mod group of token
// i / group.
class TileAttention {
 public:
  TileAttention(const Run& run, const Op& op, Tile tile, uint32_t kv_head, uint32_t worker)
      : run_(run),
        a_(op.as<AttentionAttrs>()),
        q_(run.in(op, 0)),
        y_(run.out(op)),
        sinks_(a_.sinks ? run.weight(op, 0).vector.data() : nullptr),
        pool_(run.pools[a_.group]),
        k_(pool_.k(a_.layer)),
        v_(pool_.v(a_.layer)),
        tile_(tile),
        kv_head_(kv_head),
        group_(a_.q_heads / a_.kv_heads),
        rows_(tile.count * group_),
        floats_(run.scratch.floats[worker]),
        doubles_(run.scratch.doubles[worker]) {
    first_page_ = begin(tile_.first) / kPageTokens;
    int32_t last = 0;
    for (uint32_t t = 0; t < tile_.count; t++) {
      first_page_ = std::min(first_page_, begin(tile_.first + t) / kPageTokens);
      last = std::max(last, newest(tile_.first + t));
    }
    pages_ = static_cast<uint32_t>(last) / kPageTokens + 1 - first_page_;
  }

  void operator()() {
    const size_t width = size_t{pages_} * kPageTokens;
    // Scores [row][position from the first page on], then the query rows, padded.
    floats_.assign(rows_ * width + rows_ * k_.head_stride, 0.0f);
    scores_ = floats_.data();
    queries_ = floats_.data() + rows_ * width;
    doubles_.assign(std::max<size_t>(kPageTokens * rows_, v_.head_stride), 0.0);
    for (uint32_t i = 0; i < rows_; i++) std::copy_n(q_row(i), a_.k_dim, queries_ + i * k_.head_stride);
    for (uint32_t p = 0; p < pages_; p++) score_page(p);
    for (uint32_t i = 0; i < rows_; i++) finish_row(i);
  }

 private:
  int32_t position(uint32_t t) const { return run_.batch.positions[t]; }
  // Last and first position that token t sees.
  int32_t newest(uint32_t t) const { return a_.causal ? position(t) : tile_.newest; }
  uint32_t begin(uint32_t t) const {
    return a_.window > 0 ? static_cast<uint32_t>(std::max(0, position(t) - a_.window + 1)) : 0;
  }
  uint32_t token(uint32_t i) const { return tile_.first + i / group_; }
  uint32_t q_head(uint32_t i) const { return kv_head_ * group_ + i % group_; }
  const float* q_row(uint32_t i) const { return q_.row(token(i)) + q_head(i) * a_.k_dim; }
  float* score_row(uint32_t i) const { return scores_ + size_t{i} * pages_ * kPageTokens; }

  // The page may be one that no row of the tile sees whole: rows take what they see.
  const float* head_of(uint32_t page, const KvPool::Part& part) const {
    const auto start = static_cast<int32_t>((first_page_ + page) * kPageTokens);
    return pool_.row(run_.page_of(tile_.first, a_.group, start), part, 0) + kv_head_ * part.head_stride;
  }

  void score_page(uint32_t p) {
    std::fill_n(doubles_.data(), kPageTokens * rows_, 0.0);
    const float* keys = head_of(p, k_);
    for (size_t d = 0; d < k_.head_stride; d += kPanel) {
      const auto n = static_cast<uint32_t>(std::min<size_t>(kPanel, k_.head_stride - d));
      run_.loops.dots(keys + d, k_.row_stride, kPageTokens, queries_ + d, k_.head_stride, rows_, n,
                      doubles_.data(), rows_);
    }
    for (uint32_t i = 0; i < rows_; i++)
      for (uint32_t s = 0; s < kPageTokens; s++)
        score_row(i)[p * kPageTokens + s] =
            capped(doubles_[size_t{s} * rows_ + i] * static_cast<double>(a_.scale) * heat(token(i)));
  }

  double heat(uint32_t t) const {
    if (a_.temperature == 0) return 1;
    const int32_t steps = position(t) / static_cast<int32_t>(a_.temperature_length);
    return 1 + static_cast<double>(a_.temperature) * std::log1p(static_cast<double>(steps));
  }

  float capped(double score) const {
    if (a_.softcap == 0) return static_cast<float>(score);
    const auto cap = static_cast<double>(a_.softcap);
    return static_cast<float>(cap * std::tanh(score / cap));
  }

  // Softmax over what the row sees, then the weighted sum of V page by page.
  void finish_row(uint32_t i) {
    const uint32_t from = begin(token(i)) - first_page_ * kPageTokens;
    const uint32_t to = static_cast<uint32_t>(newest(token(i))) + 1 - first_page_ * kPageTokens;
    float* score = score_row(i);
    float largest = *std::max_element(score + from, score + to);
    if (sinks_ != nullptr) largest = std::max(largest, sinks_[q_head(i)]);
    double total = sinks_ == nullptr
                       ? 0
                       : std::exp(static_cast<double>(sinks_[q_head(i)]) - static_cast<double>(largest));
    for (uint32_t s = from; s < to; s++) {
      const double weight = std::exp(static_cast<double>(score[s]) - static_cast<double>(largest));
      total += weight;
      score[s] = static_cast<float>(weight);
    }
    std::fill_n(doubles_.data(), v_.head_stride, 0.0);
    for (uint32_t s = from; s < to;) {
      const uint32_t page = s / kPageTokens, slot = s % kPageTokens;
      const uint32_t count = std::min(to - s, kPageTokens - slot);
      run_.loops.weighted_sum(score + s, count, head_of(page, v_) + slot * v_.row_stride, v_.row_stride,
                              static_cast<uint32_t>(v_.head_stride), doubles_.data());
      s += count;
    }
    float* y = y_.row(token(i)) + q_head(i) * a_.v_dim;
    for (uint32_t d = 0; d < a_.v_dim; d++) y[d] = static_cast<float>(doubles_[d] / total);
  }

  const Run& run_;
  const AttentionAttrs& a_;
  RowsView q_, y_;
  const float* sinks_;  // [q_heads] or null
  KvPool& pool_;
  const KvPool::Part &k_, &v_;
  Tile tile_;
  uint32_t kv_head_, group_, rows_;
  uint32_t first_page_ = 0, pages_ = 0;
  std::vector<float>& floats_;
  std::vector<double>& doubles_;
  float *scores_ = nullptr, *queries_ = nullptr;
};

}  // namespace

void run_attention(const Run& run, const Op& op) {
  const auto& a = op.as<AttentionAttrs>();
  const RowsView y = run.out(op);
  const std::vector<Tile> tiles = tiles_of(run.batch);
  run.workers.run(static_cast<uint32_t>(tiles.size()) * a.kv_heads, [&](uint32_t item, uint32_t worker) {
    const Tile tile = tiles[item / a.kv_heads];
    const uint32_t kv_head = item % a.kv_heads;
    if (run.batch.sequences[tile.first] >= 0) {
      TileAttention(run, op, tile, kv_head, worker)();
      return;
    }
    const size_t part = size_t{a.v_dim} * (a.q_heads / a.kv_heads);
    for (uint32_t t = 0; t < tile.count; t++) std::fill_n(y.row(tile.first + t) + kv_head * part, part, 0.0f);
  });
}

}  // namespace brass::ref
