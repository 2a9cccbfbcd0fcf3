#include "quant/common/bits.h"
#include "quant/common/codec.h"
#include "quant/common/random_scale.h"
#include "quant/common/signs.h"
#include "quant/iq2_xs/block.h"
#include "quant/iq2_xs/grid.h"

namespace brass {
namespace {

struct CodecIQ2_XS {
  using Block = BlockIQ2_XS;
  static constexpr int kValues = 256, kGroup = 16;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    const float d = f16_to_f32(block.d);
    for (int k = 0; k < 32; ++k) {
      const uint16_t both = block.qs[k];
      store8(out.code + 8 * k, apply_signs(kIq2XsGrid.entry[both & 511], kEvenSigns.entry[both >> 9]));
    }
    for (int g = 0; g < 16; ++g) {
      const int scale = (block.scales[g / 2] >> (4 * (g % 2))) & 15;
      out.scale[g] = d * (0.5f + static_cast<float>(scale)) * 0.25f;
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 56.4f;  // of (scale + ½) · ¼ · grid, random indices
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_iq2_xs = make_format<CodecIQ2_XS>(Type::IQ2_XS, "IQ2_XS");

}  // namespace brass
