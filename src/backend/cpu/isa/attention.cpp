// Attention of one tier: rows of one KV head group over pages of kBlock positions.
//
// The order, the same for every row whatever its company: positions in blocks of 64; in a chunk of 512 an
// online softmax over its blocks; chunks merged in order. A block that a row does not see leaves its state as
// it is, bit for bit (probabilities 0, factor 1), so that rows of one tile may differ in what they see.
#include "backend/cpu/isa/kv.h"
#include "backend/cpu/isa/math.h"
#include "backend/cpu/parts.h"

namespace brass::cpu {
namespace {

#if defined(__AVX512VNNI__)
constexpr int kTileRows = 6, kTileColumns = 4;
#elif defined(__AVX2__)
constexpr int kTileRows = 3, kTileColumns = 2;
#else
constexpr int kTileRows = 3, kTileColumns = 1;
#endif
constexpr float kLowest = -1e30f;  // below every logit, and finite: differences are never NaN

struct Softmax {
  float most, total;
};

// s[r][64] = Σ_d q[r][d] · K[d][position], d in order.
template <int R>
BRASS_INLINE void score_tile(const float* q, size_t q_stride, const float* k, uint32_t dim, float* s) {
  for (uint32_t column = 0; column < kBlock / 16; column += kTileColumns) {
    F acc[R][kTileColumns];
    BRASS_UNROLL
    for (int r = 0; r < R; ++r) {
      BRASS_UNROLL
      for (int c = 0; c < kTileColumns; ++c) acc[r][c] = zero();
    }
    for (uint32_t d = 0; d < dim; ++d) {
      F panel[kTileColumns];
      BRASS_UNROLL
      for (int c = 0; c < kTileColumns; ++c) panel[c] = load(k + (size_t{column + c} * dim + d) * 16);
      BRASS_UNROLL
      for (int r = 0; r < R; ++r) {
        const F one = set(q[r * q_stride + d]);
        BRASS_UNROLL
        for (int c = 0; c < kTileColumns; ++c) acc[r][c] = fma(panel[c], one, acc[r][c]);
      }
    }
    BRASS_UNROLL
    for (int r = 0; r < R; ++r) {
      BRASS_UNROLL
      for (int c = 0; c < kTileColumns; ++c) store(s + r * kBlock + 16 * (column + c), acc[r][c]);
    }
  }
}

// acc[r][C · 16] = acc · factor[r] + Σ_position p[r][position] · V[position], positions in order.
template <int R, int C>
BRASS_INLINE void value_columns(const float* p, const float* factor, const float* v, size_t width,
                                float* acc) {
  F sum[R][C];
  BRASS_UNROLL
  for (int r = 0; r < R; ++r) {
    BRASS_UNROLL
    for (int c = 0; c < C; ++c) sum[r][c] = load(acc + r * width + 16 * c) * set(factor[r]);
  }
  for (uint32_t i = 0; i < kBlock; ++i) {
    F row[C];
    BRASS_UNROLL
    for (int c = 0; c < C; ++c) row[c] = load(v + i * width + 16 * c);
    BRASS_UNROLL
    for (int r = 0; r < R; ++r) {
      const F one = set(p[r * kBlock + i]);
      BRASS_UNROLL
      for (int c = 0; c < C; ++c) sum[r][c] = fma(row[c], one, sum[r][c]);
    }
  }
  BRASS_UNROLL
  for (int r = 0; r < R; ++r) {
    BRASS_UNROLL
    for (int c = 0; c < C; ++c) store(acc + r * width + 16 * c, sum[r][c]);
  }
}

template <int R>
BRASS_INLINE void value_tile(const float* p, const float* factor, const float* v, uint32_t width,
                             float* acc) {
  uint32_t d = 0;
  for (; d + 16 * kTileColumns <= width; d += 16 * kTileColumns) {
    value_columns<R, kTileColumns>(p, factor, v + d, width, acc + d);
  }
  for (; d < width; d += 16) value_columns<R, 1>(p, factor, v + d, width, acc + d);
}

BRASS_INLINE float exp_one(float x) {
  alignas(64) float lanes[16];
  store(lanes, exp(set(x)));
  return lanes[0];
}

// Scores of a row in a block become probabilities against the row's new maximum; returns the factor for what
// it has.
BRASS_INLINE float softmax_block(const AttendItem& a, uint32_t row, uint32_t base, float* s, Softmax& state) {
  constexpr int kVectors = kBlock / 16;
  F x[kVectors];
  const F factor = set(a.scale);
  BRASS_UNROLL
  for (int c = 0; c < kVectors; ++c) x[c] = load(s + 16 * c) * factor;
  if (a.softcap != 0.0f) {
    const F cap = set(a.softcap), inverse = set(1.0f / a.softcap);
    for (int c = 0; c < kVectors; ++c) x[c] = tanh(x[c] * inverse) * cap;
  }
  const int32_t position = a.position[row];
  const int32_t before =
      a.window > 0 ? position - a.window : -1;  // the last position that is out of the window
  if (position < static_cast<int32_t>(base + kBlock - 1) || before >= static_cast<int32_t>(base)) {
    alignas(64) static constexpr float kLane[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const F none = set(-__builtin_inff());
    const F last = set(static_cast<float>(position - static_cast<int32_t>(base)));
    const F hidden = set(static_cast<float>(before - static_cast<int32_t>(base)));
    for (int c = 0; c < kVectors; ++c) {
      const F at = load(kLane) + set(16.0f * static_cast<float>(c));
      x[c] = if_less(last, at, none, if_less(hidden, at, x[c], none));
    }
  }
  const float block_most = largest(max(max(x[0], x[1]), max(x[2], x[3])));
  const float most = block_most > state.most ? block_most : state.most;
  BRASS_UNROLL
  for (int c = 0; c < kVectors; ++c) {
    x[c] = exp(x[c] - set(most));
    store(s + 16 * c, x[c]);
  }
  const float kept = exp_one(state.most - most);
  state.total = state.total * kept + sum((x[0] + x[1]) + (x[2] + x[3]));
  state.most = most;
  return kept;
}

template <int R>
void attend_tile(const AttendItem& a, uint32_t row, uint32_t base, const float* k, const float* v,
                 uint32_t width, Softmax* state, float* acc) {
  alignas(64) float s[R * kBlock];
  float factor[R];
  score_tile<R>(a.q + row * a.q_stride, a.q_stride, k, a.k_dim, s);
  for (int r = 0; r < R; ++r) factor[r] = softmax_block(a, row + r, base, s + r * kBlock, state[row + r]);
  value_tile<R>(s, factor, v, width, acc + row * size_t{width});
}

template <int R>
void attend_rest(const AttendItem& a, uint32_t rows, uint32_t row, uint32_t base, const float* k,
                 const float* v, uint32_t width, Softmax* state, float* acc) {
  if constexpr (R > 0) {
    if (rows == R) return attend_tile<R>(a, row, base, k, v, width, state, acc);
    attend_rest<R - 1>(a, rows, row, base, k, v, width, state, acc);
  }
}

// True if one of the rows sees a position of the block.
BRASS_INLINE bool sees(const AttendItem& a, uint32_t row, uint32_t rows, uint32_t base) {
  for (uint32_t r = row; r < row + rows; ++r) {
    const int32_t position = a.position[r];
    const int32_t first = a.window > 0 ? position - a.window + 1 : 0;
    if (position >= static_cast<int32_t>(base) && first < static_cast<int32_t>(base + kBlock)) return true;
  }
  return false;
}

struct Scratch {
  float* k;      // [kBlock · k_dim]
  float* v;      // [kBlock][width]
  float* part;   // [rows][width], of the chunk
  float* whole;  // [rows][width], of all chunks so far
  Softmax* part_state;
  Softmax* whole_state;
};

size_t attend_scratch(uint32_t max_rows, uint32_t v_dim) {
  const size_t width = round16(v_dim);
  const size_t floats =
      size_t{kBlock} * kMaxHeadDim + kBlock * width + 2 * max_rows * width + 4 * size_t{max_rows};
  return (floats * sizeof(float) + 63) / 64 * 64;
}

BRASS_INLINE Scratch divide(std::byte* bytes, uint32_t rows, uint32_t width) {
  auto* f = reinterpret_cast<float*>(bytes);
  Scratch s;
  s.k = f;
  s.v = s.k + size_t{kBlock} * kMaxHeadDim;
  s.part = s.v + size_t{kBlock} * width;
  s.whole = s.part + size_t{rows} * width;
  s.part_state = reinterpret_cast<Softmax*>(s.whole + size_t{rows} * width);
  s.whole_state = s.part_state + rows;
  return s;
}

BRASS_INLINE void reset(Softmax* state, float* acc, uint32_t rows, uint32_t width) {
  for (uint32_t r = 0; r < rows; ++r) state[r] = {kLowest, 0.0f};
  __builtin_memset(acc, 0, size_t{rows} * width * sizeof(float));
}

BRASS_INLINE void attend_block(const AttendItem& a, uint32_t base, uint32_t known, uint32_t width,
                               const Scratch& s) {
  widen_k(a.k_type, a.k_page[base / kBlock], a.k_dim, s.k);
  widen_v(a.v_type, a.v_page[base / kBlock], a.v_dim, known < kBlock ? known : kBlock, s.v);
  for (uint32_t row = 0; row < a.rows; row += kTileRows) {
    const uint32_t rows = a.rows - row < kTileRows ? a.rows - row : kTileRows;
    if (!sees(a, row, rows, base)) continue;
    attend_rest<kTileRows>(a, rows, row, base, s.k, s.v, width, s.part_state, s.part);
  }
}

// Adds the chunk to the whole.
BRASS_INLINE void merge(const AttendItem& a, uint32_t width, const Scratch& s) {
  for (uint32_t r = 0; r < a.rows; ++r) {
    Softmax &part = s.part_state[r], &whole = s.whole_state[r];
    const float most = part.most > whole.most ? part.most : whole.most;
    const float keep = exp_one(whole.most - most), take = exp_one(part.most - most);
    whole.total = whole.total * keep + part.total * take;
    whole.most = most;
    float *to = s.whole + r * size_t{width}, *from = s.part + r * size_t{width};
    for (uint32_t d = 0; d < width; d += 16)
      store(to + d, fma(load(from + d), set(take), load(to + d) * set(keep)));
  }
}

BRASS_INLINE void finish(const AttendItem& a, uint32_t width, const Scratch& s) {
  for (uint32_t r = 0; r < a.rows; ++r) {
    const Softmax whole = s.whole_state[r];
    float total = whole.total, keep = 1.0f;
    if (a.sinks != nullptr) {
      const float most = a.sinks[r] > whole.most ? a.sinks[r] : whole.most;
      keep = exp_one(whole.most - most);
      total = total * keep + exp_one(a.sinks[r] - most);
    }
    const float factor = total == 0.0f ? 0.0f : keep / total;  // a row that sees nothing is 0
    const float* from = s.whole + r * size_t{width};
    for (uint32_t d = 0; d < a.v_dim; d += 16) {
      const F y = load(from + d) * set(factor) + zero();  // −0 becomes 0: unseen blocks may leave either
      float* to = a.out + r * a.out_stride + d;
      if (a.v_dim - d >= 16) {
        storeu(to, y);
      } else {
        store_part(to, y, a.v_dim - d);
      }
    }
  }
}

void attend(const AttendItem& a, std::byte* scratch) {
  const uint32_t width = round16(a.v_dim);
  const Scratch s = divide(scratch, a.rows, width);
  reset(s.whole_state, s.whole, a.rows, width);
  int32_t last = -1;
  for (uint32_t r = 0; r < a.rows; ++r) last = a.position[r] > last ? a.position[r] : last;
  const auto known = static_cast<uint32_t>(last + 1);
  for (uint32_t chunk = 0; chunk < known; chunk += kChunk) {
    bool started = false;
    for (uint32_t base = chunk; base < chunk + kChunk && base < known; base += kBlock) {
      if (!sees(a, 0, a.rows, base)) continue;
      if (!started) reset(s.part_state, s.part, a.rows, width);
      started = true;
      attend_block(a, base, known - base, width, s);
    }
    if (started) merge(a, width, s);
  }
  finish(a, width, s);
}

}  // namespace

extern const AttentionParts BRASS_JOIN(attention_, BRASS_TIER);
constinit const AttentionParts BRASS_JOIN(attention_, BRASS_TIER) = {
    .kv_page_bytes = kv_page_bytes,
    .kv_store_k = kv_store_k,
    .kv_store_v = kv_store_v,
    .kv_load_k = kv_load_k,
    .kv_load_v = kv_load_v,
    .attend_scratch = attend_scratch,
    .attend = attend,
};

}  // namespace brass::cpu
