// KV pages: kBlock positions of one head, as K or as V.
//
//   K  [4 panels][k_dim][16 positions]           int8: then f32 scales [ceil(k_dim / 32)][kBlock]
//   V  [kBlock][v_dim rounded up to 16]          int8: then f32 scales [kBlock][ceil(v_dim / 32)]
#pragma once

#include "backend/cpu/isa/math.h"
#include "backend/cpu/kernel_types.h"

namespace brass::cpu {
namespace {

BRASS_INLINE uint32_t round16(uint32_t n) { return (n + 15) / 16 * 16; }
BRASS_INLINE size_t value_bytes(KvType type) {
  return type == KvType::kF32 ? 4 : type == KvType::kInt8 ? 1 : 2;
}
BRASS_INLINE size_t page_values_bytes(KvType type, uint32_t dim) {
  return value_bytes(type) * kBlock * round16(dim);
}

size_t kv_page_bytes(KvType type, uint32_t dim) {
  const size_t scales = type == KvType::kInt8 ? size_t{kBlock} * ((dim + 31) / 32) * sizeof(float) : 0;
  return page_values_bytes(type, dim) + scales;
}

BRASS_INLINE uint16_t to_bf16(float f) {
  uint32_t u;
  __builtin_memcpy(&u, &f, 4);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40);
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}

// One row, converted: values (dim rounded up to 16, zero-filled) and, for int8, scales per 32.
struct KvRow {
  alignas(64) uint8_t values[kMaxHeadDim * 4];
  float scale[kMaxHeadDim / 32];
};

BRASS_INLINE void convert_int8(const float* x, uint32_t n, uint8_t* codes, float* scale) {
  const F low = n >= 16 ? loadu(x) : load_part(x, n);
  const F high = n >= 32 ? loadu(x + 16) : n > 16 ? load_part(x + 16, n - 16) : zero();
  const float bad = sum(fma(low, zero(), high * zero()));  // 0, or NaN
  const float most = largest(max(abs(low), abs(high)));
  const F inverse = set(most > 0.0f ? 127.0f / most : 0.0f);
  const F top = set(127.0f), bottom = set(-127.0f);
  store_s8(codes, to_int(max(bottom, min(top, round_even(low * inverse)))));
  if (n > 16) store_s8(codes + 16, to_int(max(bottom, min(top, round_even(high * inverse)))));
  *scale = most / 127.0f + bad;
}

BRASS_INLINE void convert_row(KvType type, const float* row, uint32_t dim, KvRow& out) {
  for (uint32_t i = 0; i < dim; i += 16) {
    const uint32_t n = dim - i;
    const F x = n >= 16 ? loadu(row + i) : load_part(row + i, n);
    switch (type) {
      case KvType::kF32:
        store(reinterpret_cast<float*>(out.values) + i, x);
        break;
      case KvType::kF16:
        store_f16(out.values + 2 * i, x);
        break;
      case KvType::kBF16: {
        alignas(64) float lanes[16];
        store(lanes, x);
        uint16_t halves[16];
        for (int j = 0; j < 16; ++j) halves[j] = to_bf16(lanes[j]);
        __builtin_memcpy(out.values + 2 * i, halves, sizeof halves);
        break;
      }
      case KvType::kInt8:
        if (i % 32 == 0) convert_int8(row + i, n, out.values + i, out.scale + i / 32);
        break;
    }
  }
}

void kv_store_k(KvType type, std::byte* page, uint32_t dim, uint32_t slot, const float* row) {
  KvRow r;
  convert_row(type, row, dim, r);
  const size_t size = value_bytes(type);
  auto* to = reinterpret_cast<uint8_t*>(page) + (size_t{slot / 16} * dim * 16 + slot % 16) * size;
  for (uint32_t d = 0; d < dim; ++d) {
    if (size == 4) __builtin_memcpy(to + 64 * d, r.values + 4 * d, 4);
    if (size == 2) __builtin_memcpy(to + 32 * d, r.values + 2 * d, 2);
    if (size == 1) to[16 * d] = r.values[d];
  }
  if (type == KvType::kInt8) {
    auto* scale = reinterpret_cast<float*>(page + page_values_bytes(type, dim));
    for (uint32_t g = 0; g < (dim + 31) / 32; ++g) scale[g * kBlock + slot] = r.scale[g];
  }
}

void kv_store_v(KvType type, std::byte* page, uint32_t dim, uint32_t slot, const float* row) {
  KvRow r;
  convert_row(type, row, dim, r);
  const size_t bytes = round16(dim) * value_bytes(type);
  __builtin_memcpy(page + slot * bytes, r.values, bytes);
  if (type == KvType::kInt8) {
    const size_t groups = (dim + 31) / 32;
    __builtin_memcpy(page + page_values_bytes(type, dim) + slot * groups * 4, r.scale, groups * 4);
  }
}

// n values (a multiple of 16) of a float type to f32.
BRASS_INLINE void widen(KvType type, const std::byte* from, size_t n, float* to) {
  const auto* p = reinterpret_cast<const uint8_t*>(from);
  if (type == KvType::kF32) {
    for (size_t i = 0; i < n; i += 16) store(to + i, load(reinterpret_cast<const float*>(p) + i));
  } else if (type == KvType::kF16) {
    for (size_t i = 0; i < n; i += 16) store(to + i, from_f16(p + 2 * i));
  } else {
    for (size_t i = 0; i < n; i += 16) store(to + i, from_bf16(p + 2 * i));
  }
}

// A page of K as f32 [4][dim][16].
BRASS_INLINE void widen_k(KvType type, const std::byte* page, uint32_t dim, float* to) {
  if (type != KvType::kInt8) return widen(type, page, size_t{kBlock} * dim, to);
  const auto* codes = reinterpret_cast<const uint8_t*>(page);
  const auto* scale = reinterpret_cast<const float*>(page + page_values_bytes(type, dim));
  for (uint32_t panel = 0; panel < kBlock / 16; ++panel) {
    for (uint32_t d = 0; d < dim; ++d, codes += 16, to += 16) {
      store(to, to_float(from_s8(codes)) * load(scale + d / 32 * kBlock + 16 * panel));
    }
  }
}

// The first `positions` rows of a page of V as f32 [kBlock][round16(dim)], the others 0: what was never
// written may be anything.
BRASS_INLINE void widen_v(KvType type, const std::byte* page, uint32_t dim, uint32_t positions, float* to) {
  const uint32_t width = round16(dim);
  if (type != KvType::kInt8) {
    widen(type, page, size_t{positions} * width, to);
  } else {
    const auto* codes = reinterpret_cast<const uint8_t*>(page);
    const auto* scale = reinterpret_cast<const float*>(page + page_values_bytes(type, dim));
    for (uint32_t i = 0; i < positions; ++i) {
      for (uint32_t d = 0; d < width; d += 16) {
        store(to + i * width + d,
              to_float(from_s8(codes + i * width + d)) * set(scale[i * ((dim + 31) / 32) + d / 32]));
      }
    }
  }
  __builtin_memset(to + size_t{positions} * width, 0, (kBlock - positions) * size_t{width} * sizeof(float));
}

void kv_load_k(KvType type, const std::byte* page, uint32_t dim, uint32_t slot, float* row) {
  const size_t size = value_bytes(type);
  const auto* from =
      reinterpret_cast<const uint8_t*>(page) + (size_t{slot / 16} * dim * 16 + slot % 16) * size;
  const auto* scale = reinterpret_cast<const float*>(page + page_values_bytes(type, dim));
  alignas(64) uint8_t one[64] = {};
  alignas(64) float lanes[16];
  for (uint32_t d = 0; d < dim; ++d) {
    __builtin_memcpy(one, from + 16 * size * d, size);
    if (type == KvType::kInt8) {
      row[d] = static_cast<float>(static_cast<int8_t>(one[0])) * scale[d / 32 * kBlock + slot];
    } else {
      widen(type, reinterpret_cast<const std::byte*>(one), 16, lanes);
      row[d] = lanes[0];
    }
  }
}

void kv_load_v(KvType type, const std::byte* page, uint32_t dim, uint32_t slot, float* row) {
  const size_t width = round16(dim);
  alignas(64) float lanes[16];
  for (uint32_t d = 0; d < dim; d += 16) {
    const std::byte* from = page + (slot * width + d) * value_bytes(type);
    if (type == KvType::kInt8) {
      const auto* scale = reinterpret_cast<const float*>(page + page_values_bytes(type, dim));
      store(lanes, to_float(from_s8(from)) * set(scale[slot * ((dim + 31) / 32) + d / 32]));
    } else {
      widen(type, from, 16, lanes);
    }
    __builtin_memcpy(row + d, lanes, (dim - d < 16 ? dim - d : 16) * sizeof(float));
  }
}

}  // namespace
}  // namespace brass::cpu
