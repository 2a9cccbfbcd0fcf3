#include <algorithm>
#include <cmath>
#include <limits>

#include "quant/common/codec.h"
#include "quant/common/fp4.h"
#include "quant/common/levels.h"
#include "quant/common/moments.h"
#include "quant/nvfp4/block.h"

namespace brass {
namespace {

constexpr TableLevels kLevels(kE2m1Doubled);

struct CodecNVFP4 {
  using Block = BlockNVFP4;
  static constexpr int kValues = 64, kGroup = 16;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    for (int g = 0; g < 4; ++g) {
      for (int j = 0; j < 8; ++j) {
        out.code[16 * g + j] = kE2m1Doubled[block.qs[8 * g + j] & 15];
        out.code[16 * g + 8 + j] = kE2m1Doubled[block.qs[8 * g + j] >> 4];
      }
      out.scale[g] = half_ue4m3(block.scales[g]);
    }
  }

  // Among the scales that put the largest magnitude between 3.5 and 8 (clipped to 6), and onto each level.
  static void encode_group(const float* x, const float* w, uint8_t& scale, uint8_t* packed) {
    const float largest = std::fabs(largest_magnitude(x, 16));
    float best = std::numeric_limits<float>::infinity();
    const auto consider = [&](int candidate) {
      int8_t code[16];
      const float error = round_to(x, w, 16, kLevels, half_ue4m3(static_cast<uint8_t>(candidate)), code);
      if (error >= best) return;
      best = error;
      scale = static_cast<uint8_t>(candidate);
      for (int j = 0; j < 8; ++j) {
        packed[j] = static_cast<uint8_t>(kLevels.index_of(code[j]) | kLevels.index_of(code[8 + j]) << 4);
      }
    };
    const int last = nearest_ue4m3(largest / 3.5f);
    for (int candidate = nearest_ue4m3(largest / 8.0f); candidate <= last; ++candidate) consider(candidate);
    for (int level = 1; level < 8; ++level) consider(nearest_ue4m3(largest * 2.0f / kE2m1Doubled[level]));
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    std::memset(&block, 0, sizeof block);
    for (int g = 0; g < 4; ++g) encode_group(x + 16 * g, w + 16 * g, block.scales[g], block.qs + 8 * g);
  }

  static bool finite(const Block& block) {
    for (const uint8_t scale : block.scales) {
      if ((scale & 0x7f) == 0x7f) return false;
    }
    return true;
  }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 5.86f;  // of a random doubled E2M1
    for (uint8_t& scale : block.scales) {
      const float wanted = magnitude / kRms * (0.75f + 0.5f / 255.0f * static_cast<float>(scale));
      scale = std::max(nearest_ue4m3(2.0f * wanted), uint8_t{1});  // a scale of 0 would be a block of zeros
    }
  }
};

}  // namespace

extern constinit const Format format_nvfp4 = make_format<CodecNVFP4>(Type::NVFP4, "NVFP4");

}  // namespace brass
