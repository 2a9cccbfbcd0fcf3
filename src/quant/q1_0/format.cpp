#include <cmath>

#include "quant/common/bits.h"
#include "quant/common/codec.h"
#include "quant/common/moments.h"
#include "quant/common/random_scale.h"
#include "quant/q1_0/block.h"

namespace brass {
namespace {

struct CodecQ1_0 {
  using Block = BlockQ1_0;
  static constexpr int kValues = 128, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    constexpr uint64_t kPlusOnes = 0x0101010101010101u;
    for (int k = 0; k < 16; ++k) {
      store8(out.code + 8 * k, apply_signs(kPlusOnes, static_cast<uint8_t>(~block.qs[k])));
    }
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 4; ++g) out.scale[g] = d;
  }

  // The best d for the signs of the values is their weighted mean magnitude.
  static void encode_block(const float* x, const float* w, Block& block) {
    float wx = 0, ww = 0;
    std::memset(block.qs, 0, sizeof block.qs);
    for (int i = 0; i < 128; ++i) {
      wx += w[i] * std::fabs(x[i]);
      ww += w[i];
      block.qs[i / 8] |= static_cast<uint8_t>((x[i] >= 0.0f ? 1 : 0) << (i % 8));
    }
    block.d = saturated_f16(wx / ww);
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) { block.d = random_f16_scale(block.d, magnitude); }
};

}  // namespace

extern constinit const Format format_q1_0 = make_format<CodecQ1_0>(Type::Q1_0, "Q1_0");

}  // namespace brass
