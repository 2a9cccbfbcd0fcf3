#include "quant/common/bits.h"
#include "quant/common/codec.h"
#include "quant/common/random_scale.h"
#include "quant/q5_1/block.h"

namespace brass {
namespace {

struct Codec {
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

  static bool finite(const Block& block) { return finite_f16(block.d) && finite_f16(block.m); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kMean = 15.5f, kDeviation = 9.23f;  // of a random code
    block.d = random_f16_scale(block.d, magnitude / kDeviation);
    block.m = f32_to_f16(-kMean * f16_to_f32(block.d));
  }
};

}  // namespace

extern constinit const Format format_q5_1 = make_format<Codec>(Type::Q5_1, "Q5_1", nullptr);

}  // namespace brass
