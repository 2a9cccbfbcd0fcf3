#include "text/sampler_scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace brass {
namespace {

// Vector extensions of GCC and Clang: at -O2 neither is sure to vectorize these loops by itself.
constexpr size_t kLanes = 4;
using Floats = float __attribute__((vector_size(16)));
using Words = int32_t __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(32)));

constexpr int32_t kMagnitudeMask = 0x7fffffff;
constexpr int32_t kInfinityBits = 0x7f800000;  // infinities and NaN have the largest magnitudes
constexpr float kLowest = -std::numeric_limits<float>::infinity();

template <class V>
V load(const float* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

Floats maximum(Floats a, Floats b) { return a > b ? a : b; }
Words maximum(Words a, Words b) { return a > b ? a : b; }

template <class V>
auto horizontal_maximum(V v) {
  auto result = v[0];
  for (size_t j = 1; j < kLanes; ++j) result = std::max(result, v[j]);
  return result;
}

template <bool kCopy>
bool scan_whole_blocks(const float* logits, size_t blocks, float* block_max, float* copy) {
  constexpr size_t kWays = 4;  // independent chains, to hide the latency of a maximum
  std::array<Words, kWays> magnitude{};
  for (size_t b = 0; b < blocks; ++b) {
    std::array<Floats, kWays> best;
    best.fill(Floats{kLowest, kLowest, kLowest, kLowest});
    for (size_t i = b * kScanBlock; i < (b + 1) * kScanBlock; i += kWays * kLanes) {
#pragma GCC unroll 4
      for (size_t w = 0; w < kWays; ++w) {
        const auto x = load<Floats>(logits + i + w * kLanes);
        if constexpr (kCopy) std::memcpy(copy + i + w * kLanes, &x, sizeof x);
        best[w] = maximum(x, best[w]);
        magnitude[w] = maximum(magnitude[w], std::bit_cast<Words>(x) & kMagnitudeMask);
      }
    }
    block_max[b] = horizontal_maximum(maximum(maximum(best[0], best[1]), maximum(best[2], best[3])));
  }
  const Words all = maximum(maximum(magnitude[0], magnitude[1]), maximum(magnitude[2], magnitude[3]));
  return horizontal_maximum(all) < kInfinityBits;
}

// Range reduction by ln 2 in two parts, then the Taylor series to x^7 on [-ln2/2, ln2/2] (Muller, "Elementary
// Functions", 2016, chapters 3 and 11).
Floats exp_nonpositive(Floats x) {
  constexpr float kLeast = -87.0f;  // the last power of two that is a normal number
  const Floats least{kLeast, kLeast, kLeast, kLeast};
  const Floats clamped = maximum(x, least);
  const Words n =
      __builtin_convertvector(clamped * 1.44269504f - 0.5f, Words);  // to nearest, x being negative
  const Floats k = __builtin_convertvector(n, Floats);
  const Floats r = (clamped - k * 0.693359375f) + k * 2.12194440e-4f;
  Floats p = r * (1.0f / 5040) + (1.0f / 720);
  p = p * r + (1.0f / 120);
  p = p * r + (1.0f / 24);
  p = p * r + (1.0f / 6);
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const Floats scaled = p * std::bit_cast<Floats>((n + 127) << 23);
  return std::bit_cast<Floats>(std::bit_cast<Words>(scaled) & (x >= least));
}

}  // namespace

float maximum(std::span<const float> values) {
  Floats best{kLowest, kLowest, kLowest, kLowest};
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) best = maximum(load<Floats>(&values[i]), best);
  float result = horizontal_maximum(best);
  for (; i < values.size(); ++i) result = std::max(result, values[i]);
  return result;
}

bool scan_logits(std::span<const float> logits, std::span<float> block_max, float* copy) {
  const size_t whole = logits.size() / kScanBlock;
  bool finite = copy == nullptr ? scan_whole_blocks<false>(logits.data(), whole, block_max.data(), nullptr)
                                : scan_whole_blocks<true>(logits.data(), whole, block_max.data(), copy);
  const std::span<const float> rest = logits.subspan(whole * kScanBlock);
  if (rest.empty()) return finite;
  block_max[whole] = maximum(rest);
  for (const float x : rest) finite = finite && (std::bit_cast<int32_t>(x) & kMagnitudeMask) < kInfinityBits;
  if (copy != nullptr) std::ranges::copy(rest, copy + whole * kScanBlock);
  return finite;
}

float exp_nonpositive(float x) { return exp_nonpositive(Floats{x, x, x, x})[0]; }

double exp_all(std::span<const float> logits, float max, float scale, std::span<float> weights,
               std::span<double> block_sum) {
  double total = 0;
  for (size_t b = 0, begin = 0; begin < logits.size(); ++b, begin += kScanBlock) {
    const size_t size = std::min(kScanBlock, logits.size() - begin);
    alignas(Floats) std::array<float, kScanBlock> x;
    x.fill(kLowest);
    std::memcpy(x.data(), logits.data() + begin, size * sizeof(float));
    Doubles sums{};
    for (size_t i = 0; i < kScanBlock; i += kLanes) {
      const Floats weight = exp_nonpositive((load<Floats>(&x[i]) - max) * scale);
      std::memcpy(&x[i], &weight, sizeof weight);
      sums += __builtin_convertvector(weight, Doubles);
    }
    block_sum[b] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    total += block_sum[b];
    std::memcpy(weights.data() + begin, x.data(), size * sizeof(float));
  }
  return total;
}

// A histogram over the leading bits of the weights, eight classes an octave, walked from the top.
float weight_of_mass(std::span<const float> weights, double mass) {
  constexpr int kShift = 23 - 3;
  std::array<double, (std::bit_cast<uint32_t>(1.0f) >> kShift) + 1> sums{};
  for (const float weight : weights) sums[std::bit_cast<uint32_t>(weight) >> kShift] += weight;
  for (size_t i = sums.size(); i-- > 0;) {
    mass -= sums[i];
    if (mass <= 0) return std::bit_cast<float>(static_cast<uint32_t>(i) << kShift);
  }
  return 0;
}

}  // namespace brass
