#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/k_scales.h"
#include "quant/common/random_scale.h"
#include "quant/q4_k/block.h"

namespace brass {
namespace {

struct CodecQ4_K {
  using Block = BlockQ4_K;
  static constexpr int kValues = 256, kGroup = 32;
  static constexpr bool kHasMin = true;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    for (int pair = 0; pair < 4; ++pair) {
      for (int j = 0; j < 32; ++j) {
        const uint8_t both = block.qs[32 * pair + j];
        out.code[64 * pair + j] = static_cast<int8_t>(both & 15);
        out.code[64 * pair + 32 + j] = static_cast<int8_t>(both >> 4);
      }
    }
    const KScales scales = unpack_k_scales(block.scales);
    const float d = f16_to_f32(block.d), dmin = f16_to_f32(block.dmin);
    for (int g = 0; g < 8; ++g) {
      out.scale[g] = d * static_cast<float>(scales.scale[g]);
      out.min[g] = dmin * static_cast<float>(scales.min[g]);
    }
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    const NestedScalesAndMins fit = fit_nested_affine(x, w, kGroup, 15, 63);
    block.d = fit.d, block.dmin = fit.dmin;
    pack_k_scales(fit.scale, fit.min, block.scales);
    for (int pair = 0; pair < 4; ++pair) {
      const int8_t* code = fit.code + 64 * pair;
      for (int j = 0; j < 32; ++j)
        block.qs[32 * pair + j] = static_cast<uint8_t>(code[j] | code[32 + j] << 4);
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d, block.dmin); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kMean = 7.5f;         // of a random code: dmin = mean · d centres the values
    constexpr float kDeviation = 258.0f;  // of scale · code − mean · min
    block.d = random_f16_scale(block.d, magnitude / kDeviation);
    block.dmin = f32_to_f16(kMean * f16_to_f32(block.d));
  }
};

}  // namespace

extern constinit const Format format_q4_k = make_format<CodecQ4_K>(Type::Q4_K, "Q4_K");

}  // namespace brass
