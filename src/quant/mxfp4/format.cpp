#include <algorithm>
#include <cmath>
#include <limits>

#include "quant/common/codec.h"
#include "quant/common/fp4.h"
#include "quant/common/levels.h"
#include "quant/common/moments.h"
#include "quant/mxfp4/block.h"

namespace brass {
namespace {

constexpr TableLevels kLevels(kE2m1Doubled);

struct CodecMXFP4 {
  using Block = BlockMXFP4;
  static constexpr int kValues = 32, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    for (int j = 0; j < 16; ++j) {
      out.code[j] = kE2m1Doubled[block.qs[j] & 15];
      out.code[16 + j] = kE2m1Doubled[block.qs[j] >> 4];
    }
    out.scale[0] = half_e8m0(block.e);
  }

  // Among the powers of two that put the largest magnitude onto 4 … 8, 2 … 4, or (clipped to 6) 8 … 16.
  static void encode_block(const float* x, const float* w, Block& block) {
    std::memset(&block, 0, sizeof block);
    const float largest = std::fabs(largest_magnitude(x, 32));
    if (largest == 0.0f) return;
    float best = std::numeric_limits<float>::infinity();
    for (int shift = 1; shift <= 3; ++shift) {
      const int e = std::clamp(std::ilogb(largest) - shift + 127, 1, 252);
      int8_t code[32];
      const float error = round_to(x, w, 32, kLevels, half_e8m0(static_cast<uint8_t>(e)), code);
      if (error >= best) continue;
      best = error;
      block.e = static_cast<uint8_t>(e);
      for (int j = 0; j < 16; ++j) {
        block.qs[j] = static_cast<uint8_t>(kLevels.index_of(code[j]) | kLevels.index_of(code[16 + j]) << 4);
      }
    }
  }

  // Scales of 2^126 and 2^127 are finite, but a product with the largest codes is not.
  static bool finite(const Block& block) {
    if (block.e <= 252) [[likely]]
      return true;
    if (block.e == 255) return false;
    const int overflowing = block.e == 253 ? 6 : 4;  // half scale 2^125 · 8 or 2^126 · 4 is 2^128
    for (const uint8_t both : block.qs) {
      if ((both & 7) >= overflowing || ((both >> 4) & 7) >= overflowing) return false;
    }
    return true;
  }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 5.86f;  // of a random doubled E2M1
    int e = 0;
    while (e < 252 && half_e8m0(static_cast<uint8_t>(e + 1)) * kRms <= magnitude * 1.4142135f) ++e;
    block.e = static_cast<uint8_t>(e);
  }
};

}  // namespace

extern constinit const Format format_mxfp4 = make_format<CodecMXFP4>(Type::MXFP4, "MXFP4");

}  // namespace brass
