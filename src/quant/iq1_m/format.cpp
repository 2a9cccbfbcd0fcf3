#include "quant/common/codec.h"
#include "quant/common/iq1_codes.h"
#include "quant/common/random_scale.h"
#include "quant/iq1_m/block.h"

namespace brass {
namespace {

struct CodecIQ1_M {
  using Block = BlockIQ1_M;
  static constexpr int kValues = 256, kGroup = 16;
  static constexpr bool kHasMin = false;

  static uint16_t get_d(const Block& block) {
    int d = 0;
    for (int i = 0; i < 4; ++i) d |= (block.scales[i] >> 12) << (4 * i);
    return static_cast<uint16_t>(d);
  }

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    const float d = f16_to_f32(get_d(block));
    for (int k = 0; k < 32; ++k) {
      const int high = block.qh[k / 2] >> (4 * (k % 2));
      iq1_codes(out.code + 8 * k, block.qs[k] | (high & 7) << 8, (high & 8) != 0 ? -1 : 1);
    }
    for (int g = 0; g < 16; ++g) {
      const int scale = (block.scales[g / 4] >> (3 * (g % 4))) & 7;
      out.scale[g] = d * static_cast<float>(2 * scale + 1) * 0.125f;
    }
  }

  static bool finite(const Block& block) { return finite_f16(get_d(block)); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 7.29f;  // of (2 · scale + 1) · (grid ± ⅛), random indices
    const uint16_t d = random_signed_f16_scale(get_d(block), magnitude / kRms);
    for (int i = 0; i < 4; ++i) {
      block.scales[i] = static_cast<uint16_t>((block.scales[i] & 0x0fff) | ((d >> (4 * i)) & 15) << 12);
    }
  }
};

}  // namespace

extern constinit const Format format_iq1_m = make_format<CodecIQ1_M>(Type::IQ1_M, "IQ1_M");

}  // namespace brass
