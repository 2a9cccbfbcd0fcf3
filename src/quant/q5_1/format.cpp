#include "quant/common/bits.h"
#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/random_scale.h"
#include "quant/q5_1/block.h"

namespace brass {
namespace {

struct CodecQ5_1 {
  using Block = BlockQ5_1;
  static constexpr int kValues = 32, kGroup = 32;
  static constexpr bool kHasMin = true;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    uint8_t high[32];
    for (int k = 0; k < 4; ++k) store8(high + 8 * k, spread_bits(block.qh[k]) << 4);
    for (int j = 0; j < 16; ++j) {
      out.code[j] = static_cast<int8_t>((block.qs[j] & 15) | high[j]);
      out.code[16 + j] = static_cast<int8_t>((block.qs[j] >> 4) | high[16 + j]);
    }
    out.scale[0] = f16_to_f32(block.d);
    out.min[0] = -f16_to_f32(block.m);
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    int8_t code[32];
    const ScaleAndOffset fit = fit_scale_and_offset_f16(x, w, 32, 31, code);
    block.d = fit.d, block.m = fit.m;
    std::memset(block.qh, 0, sizeof block.qh);
    for (int j = 0; j < 32; ++j) block.qh[j / 8] |= static_cast<uint8_t>((code[j] >> 4) << (j % 8));
    for (int j = 0; j < 16; ++j)
      block.qs[j] = static_cast<uint8_t>((code[j] & 15) | (code[16 + j] & 15) << 4);
  }

  static bool finite(const Block& block) { return finite_f16(block.d, block.m); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kMean = 15.5f, kDeviation = 9.23f;  // of a random code
    block.d = random_f16_scale(block.d, magnitude / kDeviation);
    block.m = f32_to_f16(-kMean * f16_to_f32(block.d));
  }
};

}  // namespace

extern constinit const Format format_q5_1 = make_format<CodecQ5_1>(Type::Q5_1, "Q5_1");

}  // namespace brass
