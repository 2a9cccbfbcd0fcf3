#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/random_scale.h"
#include "quant/q4_1/block.h"

namespace brass {
namespace {

struct CodecQ4_1 {
  using Block = BlockQ4_1;
  static constexpr int kValues = 32, kGroup = 32;
  static constexpr bool kHasMin = true;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    for (int j = 0; j < 16; ++j) {
      out.code[j] = static_cast<int8_t>(block.qs[j] & 15);
      out.code[16 + j] = static_cast<int8_t>(block.qs[j] >> 4);
    }
    out.scale[0] = f16_to_f32(block.d);
    out.min[0] = -f16_to_f32(block.m);
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    int8_t code[32];
    const ScaleAndOffset fit = fit_scale_and_offset_f16(x, w, 32, 15, code);
    block.d = fit.d, block.m = fit.m;
    for (int j = 0; j < 16; ++j) block.qs[j] = static_cast<uint8_t>(code[j] | code[16 + j] << 4);
  }

  static bool finite(const Block& block) { return finite_f16(block.d, block.m); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kMean = 7.5f, kDeviation = 4.61f;  // of a random code
    block.d = random_f16_scale(block.d, magnitude / kDeviation);
    block.m = f32_to_f16(-kMean * f16_to_f32(block.d));
  }
};

}  // namespace

extern constinit const Format format_q4_1 = make_format<CodecQ4_1>(Type::Q4_1, "Q4_1");

}  // namespace brass
