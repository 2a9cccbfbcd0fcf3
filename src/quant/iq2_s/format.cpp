#include "quant/common/bits.h"
#include "quant/common/codec.h"
#include "quant/common/random_scale.h"
#include "quant/iq2_s/block.h"
#include "quant/iq2_s/grid.h"

namespace brass {
namespace {

struct CodecIQ2_S {
  using Block = BlockIQ2_S;
  static constexpr int kValues = 256, kGroup = 16;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    const float d = f16_to_f32(block.d);
    for (int k = 0; k < 32; ++k) {
      const int high = (block.qh[k / 4] >> (2 * (k % 4))) & 3;
      store8(out.code + 8 * k, apply_signs(kIq2SGrid.entry[block.qs[k] | high << 8], block.signs[k]));
    }
    for (int g = 0; g < 16; ++g) {
      const int scale = (block.scales[g / 2] >> (4 * (g % 2))) & 15;
      out.scale[g] = d * (0.5f + static_cast<float>(scale)) * 0.25f;
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 56.9f;  // of (scale + ½) · ¼ · grid, random indices
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_iq2_s = make_format<CodecIQ2_S>(Type::IQ2_S, "IQ2_S");

}  // namespace brass
