// The CPU's kernels: one table of functions for each ISA tier.
//
// Owns: the packed weight layout, quantized activations, the layouts of KV pages and states, and every loop that does
// arithmetic. Must not know: plans, steps, threads, models. A kernel works on the range that it is given; the
// device splits work. Invariants (the determinism contract of one ISA tier): the bits of an output row depend
// on that row's inputs only — not on T, on the row range of the call, on the thread, or on the other rows.
// So: sums over K in one fixed order; attention over fixed blocks of positions (kBlock) inside fixed chunks
// (kChunk), merged in order. Every pointer to activations is aligned to 64 bytes; row strides are in elements
// and multiples of 16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/kernel_types.h"
#include "quant/format.h"

namespace brass::cpu {

// A weight of `rows` × `cols` values, packed in panels of 16 rows (the last one padded with zero rows).
// Same byte count as the file (padding rows aside; IQ1 a seventh more: layout.h). F32, F16, BF16 keep their
// values; nothing is re-quantized.
struct PackedWeight {
  Type type;
  uint32_t rows, cols;
  size_t panel_bytes;
  std::byte* data;  // [ceil(rows/16)] panels
};

struct Kernels {
  const char* name;     // "x86-64-v2", "avx2", "avx-vnni", "avx512-vnni", "avx512-bf16", "amx"
  bool (*supported)();  // CPUID + OS state

  // weights
  bool (*can_pack)(Type);
  size_t (*panel_bytes)(Type, uint32_t cols);
  void (*pack)(Type, const std::byte* file_rows, uint32_t rows_here /*1…16, rest zero*/, uint32_t cols,
               std::byte* panel);
  void (*unpack_row)(const PackedWeight&, uint32_t row, float* out);  // bit-equal to Format::decode
  uint8_t (*int8_terms)(Type);  // what the product reads: 1: Activations::codes; 2: ::seconds too; 0: ::f32
  bool (*rounds_x)(Type);  // the product rounds Activations::f32 to bf16 (BF16 weights, from avx512-bf16 on)

  // y[t][n] = Σ_k w[n][k] · x[t][k] for t < T and n in [row_begin, row_end), row_begin a multiple of 16.
  // Writes nothing else. `scratch`: matmul_scratch bytes, 64-aligned, one a thread.
  size_t (*matmul_scratch)(uint32_t max_t);
  void (*matmul)(const PackedWeight&, const Activations&, uint32_t T, uint32_t row_begin, uint32_t row_end,
                 float* y, size_t y_stride, std::byte* scratch);

  // rows
  // One row, as Activations has it; `seconds` null: of one term. Pads codes to 64.
  void (*quantize)(const float* x, uint32_t k, int8_t* codes, int8_t* seconds, float* scale, float* sum);
  void (*rms_norm)(const float* x, const float* gain /*or null*/, uint32_t n, float eps, float* y);
  void (*layer_norm)(const float* x, const float* gain, const float* bias, uint32_t n, float eps, float* y);
  void (*add)(const float* a, const float* b, uint32_t n, float* y);
  void (*mul)(const float* a, const float* b, uint32_t n, float* y);
  void (*scale)(const float* x, float s, uint32_t n, float* y);
  void (*act)(ActKind, const float* x, uint32_t n, float* y);
  void (*act_mul)(ActKind, const float* gate, const float* up, uint32_t n, float* y);
  // Rotates `n_rot` leading dims of one head. cos_sin: n_rot/2 pairs {cos, sin}. neox: pairs (i, i +
  // n_rot/2), else (2i, 2i+1).
  void (*rope)(float* head, uint32_t n_rot, bool neox, const float* cos_sin);
  void (*softcap)(const float* x, float cap, uint32_t n, float* y);

  // attention
  size_t (*kv_page_bytes)(KvType, uint32_t head_dim);  // one head's page
  void (*kv_store_k)(KvType, std::byte* page, uint32_t head_dim, uint32_t slot /*position % kBlock*/,
                     const float* row);
  void (*kv_store_v)(KvType, std::byte* page, uint32_t head_dim, uint32_t slot, const float* row);
  void (*kv_load_k)(KvType, const std::byte* page, uint32_t head_dim, uint32_t slot, float* row);
  void (*kv_load_v)(KvType, const std::byte* page, uint32_t head_dim, uint32_t slot, float* row);
  size_t (*attend_scratch)(uint32_t max_rows, uint32_t v_dim);
  // All of a row's positions: chunks of kChunk from position 0, merged in order.
  void (*attend)(const AttendItem&, std::byte* scratch);

  // recurrent layers; `scratch`: recurrent_scratch bytes, 64-aligned, for up to that many rows and taps
  size_t (*recurrent_scratch)(uint32_t max_rows, uint32_t max_taps);
  void (*conv1d)(const ConvItem&, float* scratch);
  void (*delta_net)(const DeltaItem&, float* scratch);
  void (*ssm_scan)(const SsmItem&, float* scratch);

  // index of the largest value, the lowest on ties; -1 if any value is not finite
  int32_t (*argmax)(const float* x, uint32_t n);
};

// The tiers built into this program, best first; the x86-64-v2 one is always there and always last.
std::span<const Kernels* const> all_kernels();
// The best supported one, or the named one; nullptr if that name is unknown (see all_kernels) — check
// supported().
const Kernels* pick_kernels(const char* name /*null: best*/);

}  // namespace brass::cpu
