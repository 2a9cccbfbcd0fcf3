#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/iq4_values.h"
#include "quant/common/random_scale.h"
#include "quant/iq4_xs/block.h"

namespace brass {
namespace {

constexpr TableLevels kLevels(kIq4Values);

struct CodecIQ4_XS {
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

  static void encode_block(const float* x, const float* w, Block& block) {
    const NestedScales fit = fit_nested(x, w, kGroup, kLevels, -32);
    block.d = fit.d;
    block.scales_h = 0;
    std::memset(block.scales_l, 0, sizeof block.scales_l);
    for (int g = 0; g < 8; ++g) {
      const int scale = fit.scale[g] + 32;
      block.scales_l[g / 2] |= static_cast<uint8_t>((scale & 15) << (4 * (g % 2)));
      block.scales_h = static_cast<uint16_t>(block.scales_h | (scale >> 4) << (2 * g));
      for (int j = 0; j < 16; ++j) {
        const int low = kLevels.index_of(fit.code[32 * g + j]),
                  high = kLevels.index_of(fit.code[32 * g + 16 + j]);
        block.qs[16 * g + j] = static_cast<uint8_t>(low | high << 4);
      }
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 1266.0f;  // of a random scale − 32 times a random level
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_iq4_xs = make_format<CodecIQ4_XS>(Type::IQ4_XS, "IQ4_XS");

}  // namespace brass
