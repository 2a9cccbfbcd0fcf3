#include "quant/common/codec.h"
#include "quant/common/fp4.h"
#include "quant/mxfp4/block.h"

namespace brass {
namespace {

struct Codec {
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

extern constinit const Format format_mxfp4 = make_format<Codec>(Type::MXFP4, "MXFP4");

}  // namespace brass
