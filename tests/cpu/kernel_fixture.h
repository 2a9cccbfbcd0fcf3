// Random weights and activations for the kernel tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/kernels.h"
#include "base/half.h"
#include "base/rng.h"
#include "quant/random_blocks.h"

namespace brass::cpu {

// Zeroed memory aligned to 64 bytes, with a guard band behind it.
template <class T>
class Aligned {
 public:
  explicit Aligned(size_t n)
      : n_(n), bytes_((n * sizeof(T) + 127) / 64 * 64), p_(std::aligned_alloc(64, bytes_)) {
    std::memset(p_.get(), 0, bytes_);
    std::memset(reinterpret_cast<char*>(p_.get()) + n * sizeof(T), 0x5a, bytes_ - n * sizeof(T));
  }
  T* data() { return static_cast<T*>(p_.get()); }
  const T* data() const { return static_cast<const T*>(p_.get()); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  size_t size() const { return n_; }
  bool guard_holds() const {
    const auto* bytes = static_cast<const unsigned char*>(p_.get());
    for (size_t i = n_ * sizeof(T); i < bytes_; ++i) {
      if (bytes[i] != 0x5a) return false;
    }
    return true;
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  size_t n_, bytes_;
  std::unique_ptr<void, Free> p_;
};

inline float gaussian(Rng& rng) { return static_cast<float>(rng.normal()); }

// A random weight, its values as the format defines them, and its packed form for one tier.
struct TestWeight {
  const Format& format;
  uint32_t rows, cols;
  std::vector<std::byte> file;
  std::vector<float> values;  // [rows][cols]
  std::unique_ptr<Aligned<std::byte>> panels;
  PackedWeight packed;

  TestWeight(const Kernels& kernels, const Format& f, uint32_t n_rows, uint32_t n_cols, uint64_t seed)
      : format(f),
        rows(n_rows),
        cols(n_cols),
        file(row_bytes(f, n_cols) * n_rows),
        values(size_t{n_rows} * n_cols) {
    random_blocks(f, file.data(), values.size(), seed, 0.05f);
    f.decode(file.data(), values.data(), values.size());
    const size_t panel = kernels.panel_bytes(f.type, cols), count = (rows + kPanelRows - 1) / kPanelRows;
    panels = std::make_unique<Aligned<std::byte>>(panel * count);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t first = static_cast<uint32_t>(i) * kPanelRows;
      kernels.pack(f.type, file.data() + first * row_bytes(f, cols), std::min(kPanelRows, rows - first), cols,
                   panels->data() + i * panel);
    }
    packed = {f.type, rows, cols, panel, panels->data()};
  }
};

// As what a product reads x.
enum class XForm : uint8_t { kExact, kRounded, kCodes, kTwoTerms };

// Random activations, quantized by the tier under test.
struct TestActivations {
  uint32_t tokens, k;
  size_t f32_stride, code_stride, scale_stride;
  Aligned<float> f32;
  Aligned<int8_t> codes, seconds;
  Aligned<float> scale, sum;

  TestActivations(const Kernels& kernels, uint32_t t, uint32_t cols, uint64_t seed)
      : tokens(t),
        k(cols),
        f32_stride((cols + 15) / 16 * 16),
        code_stride((cols + 63) / 64 * 64),
        scale_stride((cols / 32 + 15) / 16 * 16),
        f32(t * f32_stride),
        codes(t * code_stride),
        seconds(t * code_stride),
        scale(t * scale_stride),
        sum(t * scale_stride) {
    Rng rng(seed);
    for (uint32_t i = 0; i < t; ++i) {
      for (uint32_t j = 0; j < k; ++j) f32[i * f32_stride + j] = gaussian(rng) * (j % 97 == 0 ? 20.0f : 1.0f);
      if (k % 32 == 0) quantize(kernels, i);
    }
  }

  // Of two terms: products of one read the first.
  void quantize(const Kernels& kernels, uint32_t t) {
    kernels.quantize(&f32[t * f32_stride], k, &codes[t * code_stride], &seconds[t * code_stride],
                     &scale[t * scale_stride], &sum[t * scale_stride]);
  }

  Activations from(uint32_t t) const {
    return {.f32 = &f32[t * f32_stride],
            .f32_stride = f32_stride,
            .codes = &codes[t * code_stride],
            .code_stride = code_stride,
            .scale = &scale[t * scale_stride],
            .sum = &sum[t * scale_stride],
            .scale_stride = scale_stride,
            .seconds = &seconds[t * code_stride]};
  }
  double value(uint32_t t, uint32_t j, XForm form) const {
    const float exact = f32[t * f32_stride + j];
    if (form == XForm::kExact) return static_cast<double>(exact);
    if (form == XForm::kRounded) return static_cast<double>(bf16_to_f32(f32_to_bf16(exact)));
    double code = codes[t * code_stride + j];
    if (form == XForm::kTwoTerms) code += seconds[t * code_stride + j] / 256.0;
    return static_cast<double>(scale[t * scale_stride + j / 32]) * code;
  }
};

inline std::vector<const Kernels*> supported_kernels() {
  std::vector<const Kernels*> out;
  for (const Kernels* k : all_kernels()) {
    if (k->supported()) {
      out.push_back(k);
    } else {
      std::printf("[  SKIPPED ] this processor does not run the tier %s\n", k->name);
    }
  }
  return out;
}

inline std::string tier_name(const testing::TestParamInfo<const Kernels*>& info) {
  std::string name = info.param->name;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

class KernelTest : public testing::TestWithParam<const Kernels*> {
 protected:
  const Kernels& kernels() const { return *GetParam(); }
};

}  // namespace brass::cpu
