#include "quant/common/bits.h"
#include "quant/common/codec.h"
#include "quant/common/random_scale.h"
#include "quant/common/signs.h"
#include "quant/iq3_xxs/block.h"
#include "quant/iq3_xxs/grid.h"

namespace brass {
namespace {

struct CodecIQ3_XXS {
  using Block = BlockIQ3_XXS;
  static constexpr int kValues = 256, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 8; ++g) {
      const uint32_t packed = block.signs_and_scale[g];
      for (int k = 0; k < 4; ++k) {
        const uint8_t* index = block.qs + 8 * g + 2 * k;
        const uint64_t low = kIq3XxsGrid.entry[index[0]], high = kIq3XxsGrid.entry[index[1]];
        const uint8_t signs = kEvenSigns.entry[(packed >> (7 * k)) & 127];
        store8(out.code + 32 * g + 8 * k, apply_signs(low | high << 32, signs));
      }
      out.scale[g] = d * (0.5f + static_cast<float>(packed >> 28)) * 0.5f;
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 144.0f;  // of (scale + ½) · ½ · grid, random indices
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_iq3_xxs = make_format<CodecIQ3_XXS>(Type::IQ3_XXS, "IQ3_XXS");

}  // namespace brass
