#include "quant/common/codec.h"
#include "quant/common/iq4_values.h"
#include "quant/common/random_scale.h"
#include "quant/iq4_xs/block.h"

namespace brass {
namespace {

struct Codec {
  using Block = BlockIQ4_XS;
  static constexpr int kValues = 256, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 8; ++g) {
      for (int j = 0; j < 16; ++j) {
        out.code[32 * g + j] = kIq4Values[block.qs[16 * g + j] & 15];
        out.code[32 * g + 16 + j] = kIq4Values[block.qs[16 * g + j] >> 4];
      }
      const int low = (block.scales_l[g / 2] >> (4 * (g % 2))) & 15;
      const int high = (block.scales_h >> (2 * g)) & 3;
      out.scale[g] = d * static_cast<float>((low | high << 4) - 32);
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 1266.0f;  // of a random scale − 32 times a random level
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_iq4_xs = make_format<Codec>(Type::IQ4_XS, "IQ4_XS", nullptr);

}  // namespace brass
