#include "quant/common/bits.h"
#include "quant/common/codec.h"
#include "quant/common/random_scale.h"
#include "quant/common/signs.h"
#include "quant/iq2_xxs/block.h"
#include "quant/iq2_xxs/grid.h"

namespace brass {
namespace {

struct CodecIQ2_XXS {
  using Block = BlockIQ2_XXS;
  static constexpr int kValues = 256, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 8; ++g) {
      const uint32_t packed = block.group[g].signs_and_scale;
      for (int k = 0; k < 4; ++k) {
        const uint8_t signs = kEvenSigns.entry[(packed >> (7 * k)) & 127];
        store8(out.code + 32 * g + 8 * k, apply_signs(kIq2XxsGrid.entry[block.group[g].grid[k]], signs));
      }
      out.scale[g] = d * (0.5f + static_cast<float>(packed >> 28)) * 0.25f;
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 53.9f;  // of (scale + ½) · ¼ · grid, random indices
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_iq2_xxs = make_format<CodecIQ2_XXS>(Type::IQ2_XXS, "IQ2_XXS");

}  // namespace brass
