#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/random_scale.h"
#include "quant/q2_0/block.h"

namespace brass {
namespace {

constexpr UniformLevels kLevels(-1, 2);

struct CodecQ2_0 {
  using Block = BlockQ2_0;
  static constexpr int kValues = 64, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    for (int k = 0; k < 16; ++k) {
      for (int i = 0; i < 4; ++i) {
        out.code[4 * k + i] = static_cast<int8_t>(((block.qs[k] >> (2 * i)) & 3) - 1);
      }
    }
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 2; ++g) out.scale[g] = d;
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    int8_t code[64];
    block.d = fit_scale_f16(x, w, 64, kLevels, code);
    std::memset(block.qs, 0, sizeof block.qs);
    for (int i = 0; i < 64; ++i) block.qs[i / 4] |= static_cast<uint8_t>((code[i] + 1) << (2 * (i % 4)));
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 1.22f;  // of a random code − 1
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_q2_0 = make_format<CodecQ2_0>(Type::Q2_0, "Q2_0");

}  // namespace brass
