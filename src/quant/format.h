// Block formats: what the bytes of a tensor mean.
//
// Owns: the list of formats, their layout, reference decode and encode, finite-ness check, canonical int8
// view.
// Must not know: files, tensors' names, devices, kernels.
// Invariants: decode is bit-exact (f32 arithmetic in the order that defines the format); one folder a
// format; the registry is generated from the folders, so that adding a format touches nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace brass {

// Ids as they stand in GGUF files.
enum class Type : uint32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q4_1 = 3,
  Q5_0 = 6,
  Q5_1 = 7,
  Q8_0 = 8,
  Q2_K = 10,
  Q3_K = 11,
  Q4_K = 12,
  Q5_K = 13,
  Q6_K = 14,
  IQ2_XXS = 16,
  IQ2_XS = 17,
  IQ3_XXS = 18,
  IQ1_S = 19,
  IQ4_NL = 20,
  IQ3_S = 21,
  IQ2_S = 22,
  IQ4_XS = 23,
  I8 = 24,
  I16 = 25,
  I32 = 26,
  I64 = 27,
  F64 = 28,
  IQ1_M = 29,
  BF16 = 30,
  TQ1_0 = 34,
  TQ2_0 = 35,
  MXFP4 = 39,
  NVFP4 = 40,
  Q1_0 = 41,
  Q2_0 = 42
};

inline constexpr int kMaxBlockValues = 256;

// The canonical view of one block: value[i] = scale[i / group] * code[i] - min[i / group].
// (The product first, then the difference, each rounded to f32: bit-equal to decode.)
struct CanonicalBlock {
  int8_t code[kMaxBlockValues];
  float scale[kMaxBlockValues / 16];
  float min[kMaxBlockValues / 16];  // all 0 where the format has none
};

struct Format {
  Type type;
  std::string_view name;  // as people write it: "Q4_K"
  uint32_t block_values;  // values in a block: rows are whole blocks
  uint32_t block_bytes;   // bytes of a block in a file
  uint32_t group;         // values under one scale in the canonical view: 16 or 32; 0: not quantized, no view
  bool has_min;           // the canonical view has mins

  // `n` values (a multiple of block_values) from n / block_values blocks. Bit-exact.
  void (*decode)(const std::byte* blocks, float* out, size_t n);
  // The reverse, with the least squared error that the format's search finds; `importance` (n weights ≥ 0,
  // may be null: all the same) says how much an error of each value matters. Values must be finite; what is
  // beyond the largest scale of the format saturates. nullptr: no encoder yet.
  void (*encode)(const float* values, std::byte* blocks, size_t n, const float* importance);
  // One block's canonical view. nullptr when group == 0.
  void (*view)(const std::byte* block, CanonicalBlock& out);
  // Index of the first block that holds a non-finite scale or value, or -1. `n` in values. Fast (GB/s): a
  // load calls it. NaNs of scales that are not f16 (E8M0, E4M3) count, whatever decode makes of them.
  ptrdiff_t (*find_non_finite)(const std::byte* blocks, size_t n);
  // Turns a block of random bytes into a valid one: sets its scales so that the values, whose codes stay
  // random, have a root mean square of about `magnitude` (random_blocks.h).
  void (*set_scale)(std::byte* block, float magnitude);
};

// The float formats and every quantized one; nullptr for an id that is none of them (I8 … F64 included).
const Format* find_format(Type type);
const Format* find_format(std::string_view name);  // case-insensitive
std::span<const Format* const> all_formats();      // ordered by id
std::string supported_format_names();              // "F32, F16, Q4_0, …" for error texts

inline size_t row_bytes(const Format& f, size_t values) { return values / f.block_values * f.block_bytes; }

}  // namespace brass
