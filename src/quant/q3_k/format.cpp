#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/random_scale.h"
#include "quant/q3_k/block.h"

namespace brass {
namespace {

constexpr UniformLevels kLevels(-4, 3);

struct CodecQ3_K {
  using Block = BlockQ3_K;
  static constexpr int kValues = 256, kGroup = 16;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    for (int half = 0; half < 2; ++half) {
      for (int k = 0; k < 4; ++k) {
        for (int j = 0; j < 32; ++j) {
          const int low = (block.qs[32 * half + j] >> (2 * k)) & 3;
          const int high = (block.hmask[j] >> (4 * half + k)) & 1;
          out.code[128 * half + 32 * k + j] = static_cast<int8_t>((low | high << 2) - 4);
        }
      }
    }
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 16; ++g) {
      const int low = (block.scales[g % 8] >> (4 * (g / 8))) & 15;
      const int high = (block.scales[8 + g % 4] >> (2 * (g / 4))) & 3;
      out.scale[g] = d * static_cast<float>((low | high << 4) - 32);
    }
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    const NestedScales fit = fit_nested(x, w, kGroup, kLevels, -32);
    block.d = fit.d;
    std::memset(block.hmask, 0, sizeof block.hmask);
    std::memset(block.qs, 0, sizeof block.qs);
    std::memset(block.scales, 0, sizeof block.scales);
    for (int i = 0; i < 256; ++i) {
      const int code = fit.code[i] + 4;
      block.qs[32 * (i / 128) + i % 32] |= static_cast<uint8_t>((code & 3) << (2 * (i / 32 % 4)));
      block.hmask[i % 32] |= static_cast<uint8_t>((code >> 2) << (i / 32));
    }
    for (int g = 0; g < 16; ++g) {
      const int scale = fit.scale[g] + 32;
      block.scales[g % 8] |= static_cast<uint8_t>((scale & 15) << (4 * (g / 8)));
      block.scales[8 + g % 4] |= static_cast<uint8_t>((scale >> 4) << (2 * (g / 4)));
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 43.3f;  // of a random scale − 32 times a random code − 4
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_q3_k = make_format<CodecQ3_K>(Type::Q3_K, "Q3_K");

}  // namespace brass
