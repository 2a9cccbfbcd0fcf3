#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/random_scale.h"
#include "quant/q6_k/block.h"

namespace brass {
namespace {

constexpr UniformLevels kLevels(-32, 31);

struct CodecQ6_K {
  using Block = BlockQ6_K;
  static constexpr int kValues = 256, kGroup = 16;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    for (int half = 0; half < 2; ++half) {
      int8_t* code = out.code + 128 * half;
      for (int j = 0; j < 32; ++j) {
        const uint8_t even = block.ql[64 * half + j], odd = block.ql[64 * half + 32 + j];
        const uint8_t high = block.qh[32 * half + j];
        code[j] = static_cast<int8_t>(((even & 15) | (high & 3) << 4) - 32);
        code[32 + j] = static_cast<int8_t>(((odd & 15) | (high & 12) << 2) - 32);
        code[64 + j] = static_cast<int8_t>(((even >> 4) | (high & 48)) - 32);
        code[96 + j] = static_cast<int8_t>(((odd >> 4) | (high & 192) >> 2) - 32);
      }
    }
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 16; ++g) out.scale[g] = d * static_cast<float>(block.scales[g]);
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    const NestedScales fit = fit_nested(x, w, kGroup, kLevels, -128);
    block.d = fit.d;
    std::memcpy(block.scales, fit.scale, sizeof block.scales);
    for (int half = 0; half < 2; ++half) {
      for (int j = 0; j < 32; ++j) {
        int code[4];
        for (int k = 0; k < 4; ++k) code[k] = fit.code[128 * half + 32 * k + j] + 32;
        block.ql[64 * half + j] = static_cast<uint8_t>((code[0] & 15) | (code[2] & 15) << 4);
        block.ql[64 * half + 32 + j] = static_cast<uint8_t>((code[1] & 15) | (code[3] & 15) << 4);
        block.qh[32 * half + j] =
            static_cast<uint8_t>(code[0] >> 4 | code[1] >> 4 << 2 | code[2] >> 4 << 4 | code[3] >> 4 << 6);
      }
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 1366.0f;  // of a random int8 times a random code − 32
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_q6_k = make_format<CodecQ6_K>(Type::Q6_K, "Q6_K");

}  // namespace brass
