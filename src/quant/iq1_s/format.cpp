#include "quant/common/codec.h"
#include "quant/common/iq1_codes.h"
#include "quant/common/random_scale.h"
#include "quant/iq1_s/block.h"

namespace brass {
namespace {

struct CodecIQ1_S {
  using Block = BlockIQ1_S;
  static constexpr int kValues = 256, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 8; ++g) {
      const uint16_t high = block.qh[g];
      const int shift = (high & 0x8000) != 0 ? -1 : 1;
      for (int k = 0; k < 4; ++k) {
        const int index = block.qs[4 * g + k] | ((high >> (3 * k)) & 7) << 8;
        iq1_codes(out.code + 32 * g + 8 * k, index, shift);
      }
      out.scale[g] = d * static_cast<float>(2 * ((high >> 12) & 7) + 1) * 0.125f;
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 7.27f;  // of (2 · scale + 1) · (grid ± ⅛), random indices
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_iq1_s = make_format<CodecIQ1_S>(Type::IQ1_S, "IQ1_S");

}  // namespace brass
