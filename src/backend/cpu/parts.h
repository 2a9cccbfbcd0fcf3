// What one ISA tier's units export: leaf loops on plain pointers, which kernels.cpp joins into a Kernels
// table.
//
// Must not know: standard headers with inline functions (the ISA units include this, see isa/vec.h).
// Invariants: a "block" is 32 values; every output row depends only on its own inputs, in one order over K:
// block by block (quantized) or 64 values by 64 values (float weights).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernel_types.h"
#include "backend/cpu/layout.h"

namespace brass::cpu {

// 1 … 4 tokens against whole panels, straight from the packed weights.
struct DecodeArgs {
  const uint8_t* panels;
  size_t panel_bytes;
  uint32_t rows;  // from the first panel on
  uint32_t k;
  Activations x;
  const int16_t* sum16;      // [T][sum16_stride]: sums of 16 codes (quantized weights)
  const int16_t* seconds16;  // kTwoTerms: of 16 second codes, likewise
  size_t sum16_stride;
  float* y;  // [T][y_stride], of the first row
  size_t y_stride;
};

// `blocks` blocks of one panel, unpacked: what the prefill microkernel reads.
struct UnpackArgs {
  const uint8_t* panel;
  uint32_t panel_blocks;   // K / 32
  uint32_t first, blocks;  // which; multiples of the type's kSuper
  uint8_t* codes;  // [blocks][8][64]: unsigned codes, or canonical ones where LinearParts::signed_tile
  float* scale;    // [blocks][scale_vectors(kind)][16]
  float* offset;   // kOffset: [blocks][16]; kMins: [blocks][16] pairs of int16, one of each half
};

// C[t][panel rows] (+)= the product of tokens and `panels` unpacked panels over `blocks` blocks.
struct TileArgs {
  const uint8_t* codes;  // per panel: [blocks][8][64]
  const float* scale;    // per panel, as in UnpackArgs
  const float* offset;   // likewise
  layout::Kind kind;
  uint32_t panels, blocks, zero;
  uint32_t tokens;
  const int8_t *x, *x_seconds;  // [tokens][x_stride], at the first block; kTwoTerms: the second codes
  size_t x_stride;
  const float* x_scale;  // [tokens][x_scale_stride], likewise
  const float* x_sum;
  size_t x_scale_stride;
  const int16_t *sum16, *seconds16;  // [tokens][sum16_stride], likewise
  size_t sum16_stride;
  const float* c_in;  // [tokens][c_in_stride], null: zeros
  size_t c_in_stride;
  float* c_out;  // may be c_in
  size_t c_out_stride;
};

inline constexpr uint32_t kFloatTileK = 128;  // most values of K in one FloatTileArgs; a multiple of 64

// The same for float weights.
struct FloatTileArgs {
  const float* w;       // per panel, as fill_tile left it: f32 [k][16], or pairs of bf16 [k/2][16]
  size_t panel_stride;  // in floats
  uint32_t panels, k;   // k: a multiple of 64 but in the last call over K
  uint32_t tokens;
  const float* x;
  size_t x_stride;
  const float* c_in;  // as in TileArgs
  size_t c_in_stride;
  float* c_out;
  size_t c_out_stride;
};

constexpr uint32_t scale_vectors(layout::Kind kind) {
  return kind == layout::Kind::kHalves || kind == layout::Kind::kMins ? 2 : 1;
}

struct QuantizedParts {
  void (*decode[4])(const DecodeArgs&);  // 1 … 4 tokens
  void (*unpack)(const UnpackArgs&);
};
struct FloatParts {
  void (*decode[4])(const DecodeArgs&);
  void (*expand)(const uint8_t* values, size_t n, float* out);        // n: a multiple of 16
  void (*fill_tile)(const uint8_t* values, uint32_t k, float* tile);  // FloatTileArgs::w of one panel
  void (*tile)(const FloatTileArgs&);
  bool rounds_x;  // to bf16
};

struct LinearParts {
  uint32_t tile_panels, tile_blocks;  // most panels and blocks in one tile call; blocks: a multiple of 8
  bool signed_tile;
  // Before the first and after the last tile call of a piece of work; all its calls have these tokens and
  // halves.
  void (*enter)(uint32_t tokens, layout::Kind kind);
  void (*leave)();
  void (*tile)(const TileArgs&);
  void (*sum16)(const int8_t* codes, uint32_t k, int16_t* out);  // K / 16 sums, K rounded up to 64
  const QuantizedParts* quantized;                               // in the order of BRASS_CPU_QUANTIZED
  const FloatParts* floats;                                      // in the order of BRASS_CPU_FLOAT
};

// As the members of Kernels that have these names.
struct RowParts {
  void (*quantize)(const float*, uint32_t, int8_t*, int8_t*, float*, float*);
  void (*rms_norm)(const float*, const float*, uint32_t, float, float*);
  void (*layer_norm)(const float*, const float*, const float*, uint32_t, float, float*);
  void (*add)(const float*, const float*, uint32_t, float*);
  void (*mul)(const float*, const float*, uint32_t, float*);
  void (*scale)(const float*, float, uint32_t, float*);
  void (*act)(ActKind, const float*, uint32_t, float*);
  void (*act_mul)(ActKind, const float*, const float*, uint32_t, float*);
  void (*rope)(float*, uint32_t, bool, const float*);
  void (*softcap)(const float*, float, uint32_t, float*);
  int32_t (*argmax)(const float*, uint32_t);
};

struct AttentionParts {
  size_t (*kv_page_bytes)(KvType, uint32_t);
  void (*kv_store_k)(KvType, std::byte*, uint32_t, uint32_t, const float*);
  void (*kv_store_v)(KvType, std::byte*, uint32_t, uint32_t, const float*);
  void (*kv_load_k)(KvType, const std::byte*, uint32_t, uint32_t, float*);
  void (*kv_load_v)(KvType, const std::byte*, uint32_t, uint32_t, float*);
  size_t (*attend_scratch)(uint32_t, uint32_t);
  void (*attend)(const AttendItem&, std::byte*);
};

struct RecurrentParts {
  size_t (*recurrent_scratch)(uint32_t, uint32_t);
  void (*conv1d)(const ConvItem&, float*);
  void (*delta_net)(const DeltaItem&, float*);
  void (*ssm_scan)(const SsmItem&, float*);
};

#define BRASS_JOIN2(a, b) a##b
#define BRASS_JOIN(a, b) BRASS_JOIN2(a, b)

}  // namespace brass::cpu
