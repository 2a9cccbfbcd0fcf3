#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/random_scale.h"
#include "quant/q4_0/block.h"

namespace brass {
namespace {

constexpr UniformLevels kLevels(-8, 7);

struct CodecQ4_0 {
  using Block = BlockQ4_0;
  static constexpr int kValues = 32, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    for (int j = 0; j < 16; ++j) {
      out.code[j] = static_cast<int8_t>((block.qs[j] & 15) - 8);
      out.code[16 + j] = static_cast<int8_t>((block.qs[j] >> 4) - 8);
    }
    out.scale[0] = f16_to_f32(block.d);
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    int8_t code[32];
    block.d = fit_scale_f16(x, w, 32, kLevels, code);
    for (int j = 0; j < 16; ++j) block.qs[j] = static_cast<uint8_t>((code[j] + 8) | (code[16 + j] + 8) << 4);
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 4.64f;  // of a random code − 8
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_q4_0 = make_format<CodecQ4_0>(Type::Q4_0, "Q4_0");

}  // namespace brass
