#include "quant/common/codec.h"
#include "quant/common/fp4.h"
#include "quant/nvfp4/block.h"

namespace brass {
namespace {

struct Codec {
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
      scale = nearest_ue4m3(2.0f * wanted);
    }
  }
};

}  // namespace

extern constinit const Format format_nvfp4 = make_format<Codec>(Type::NVFP4, "NVFP4");

}  // namespace brass
