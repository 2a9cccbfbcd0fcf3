#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/random_scale.h"
#include "quant/q2_k/block.h"

namespace brass {
namespace {

struct CodecQ2_K {
  using Block = BlockQ2_K;
  static constexpr int kValues = 256, kGroup = 16;
  static constexpr bool kHasMin = true;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    for (int half = 0; half < 2; ++half) {
      for (int k = 0; k < 4; ++k) {
        for (int j = 0; j < 32; ++j) {
          out.code[128 * half + 32 * k + j] = static_cast<int8_t>((block.qs[32 * half + j] >> (2 * k)) & 3);
        }
      }
    }
    const float d = f16_to_f32(block.d), dmin = f16_to_f32(block.dmin);
    for (int g = 0; g < 16; ++g) {
      out.scale[g] = d * static_cast<float>(block.scales[g] & 15);
      out.min[g] = dmin * static_cast<float>(block.scales[g] >> 4);
    }
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    const NestedScalesAndMins fit = fit_nested_affine(x, w, kGroup, 3, 15);
    block.d = fit.d, block.dmin = fit.dmin;
    for (int g = 0; g < 16; ++g) block.scales[g] = static_cast<uint8_t>(fit.scale[g] | fit.min[g] << 4);
    std::memset(block.qs, 0, sizeof block.qs);
    for (int i = 0; i < 256; ++i) {
      block.qs[32 * (i / 128) + i % 32] |= static_cast<uint8_t>(fit.code[i] << (2 * (i / 32 % 4)));
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d, block.dmin); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kMean = 1.5f;        // of a random code: dmin = mean · d centres the values
    constexpr float kDeviation = 13.9f;  // of scale · code − mean · min
    block.d = random_f16_scale(block.d, magnitude / kDeviation);
    block.dmin = f32_to_f16(kMean * f16_to_f32(block.d));
  }
};

}  // namespace

extern constinit const Format format_q2_k = make_format<CodecQ2_K>(Type::Q2_K, "Q2_K");

}  // namespace brass
