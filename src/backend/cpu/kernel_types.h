// What a kernel is handed: activations, attention items, recurrent items.
//
// Must not know: standard headers with inline functions (the ISA units include this, see isa/vec.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/act_kind.h"
#include "graph/kv_type.h"

namespace brass::cpu {

inline constexpr uint32_t kPanelRows = 16;    // weight rows in one panel
inline constexpr uint32_t kBlock = 64;        // positions in a KV page
inline constexpr uint32_t kChunk = 512;       // positions that one attention partial covers
inline constexpr uint32_t kMaxHeadDim = 640;  // largest k_dim and v_dim

// T rows of K activations. Quantized: int8 codes with one scale per 32 values (nearest, ties to even, max |x|
// → 127); of two terms: x ≈ scale · (code + second / 256), the codes as of one.
struct Activations {
  const float* f32;  // [T][f32_stride]; what float weights read; may be null when only codes are read
  size_t f32_stride;
  const int8_t* codes;  // [T][code_stride], K rounded up to 64 and zero-filled
  size_t code_stride;
  const float* scale;  // [T][scale_stride], one per 32 values
  const float* sum;    // [T][scale_stride], scale · Σ codes of the 32
  size_t scale_stride;
  const int8_t* seconds = nullptr;  // as codes; what products of two terms read besides, else it may be null
};

// One page of one layer's K (or V) for one KV head: kBlock positions × head_dim, laid out as the kernels like
// it (K: 16-position panels, so that the product with q reuses the row microkernel's shape; int8: one f32
// scale per position and 32 dims). A page of a layer is the heads one after another.
struct AttendItem {
  const float*
      q;  // [rows][q_stride]: rows of one KV head group, (token, head in group) flattened by the caller
  size_t q_stride;
  float* out;  // [rows][out_stride]
  size_t out_stride;
  const int32_t* position;  // [rows] absolute position of the row's token; it sees positions ≤ it
  uint32_t rows;
  const std::byte* const*
      k_page;  // page pointers (already offset to layer and head), index = position / kBlock
  const std::byte* const* v_page;
  KvType k_type, v_type;
  uint32_t k_dim, v_dim;
  float scale;
  float softcap;       // 0: none
  int32_t window;      // 0: none; else sees positions > position − window
  const float* sinks;  // [rows] or null: a logit that joins the softmax and carries no value
};

// ---- recurrent layers: rows of one sequence, in order, from the state in page `in` to that in page `out`

// A head's state [rows][cols] lies as blocks of kStateColumns columns (the last one narrower), each [rows][its
// width]. Delta net: rows k_dim, cols v_dim. State space: rows state, cols dim. Convolution: plain [taps − 1][channels].
inline constexpr uint32_t kStateColumns = 32;

struct StateAccess {
  float* pages;              // of the layer (and head) in page 0
  size_t page_stride;        // in floats
  int32_t in, out;           // pages; in −1: zeros; may be equal
  const int32_t* snapshots;  // [rows] page that also gets the state after that row, −1: none; or null
};

struct ConvItem {
  StateAccess state;
  const float* u;
  size_t u_stride;
  float* y;
  size_t y_stride;
  uint32_t rows, channels, taps;
  uint32_t begin, end;  // channels of this call
  const float* weight;  // [taps][channels]
  const float* bias;    // [channels] or null
  bool silu;
};

struct DeltaItem {  // one v head
  StateAccess state;
  const float *q, *k, *v;  // of the head
  size_t stride;
  const float *b, *a;  // of the head: one value a row
  size_t b_stride, a_stride;
  float decay, dt_bias;
  float* y;  // of the head
  size_t y_stride;
  uint32_t rows, k_dim, v_dim;
  uint32_t block_begin, block_end;  // blocks of columns of this call
};

struct SsmItem {  // one head
  StateAccess state;
  const float *x, *in, *out;  // of the head; of its group: B, C
  size_t stride;
  const float* dt;
  size_t dt_stride;
  float decay, skip, dt_bias;
  float* y;
  size_t y_stride;
  uint32_t rows, dim, state_dim;
  uint32_t block_begin, block_end;
};

}  // namespace brass::cpu
