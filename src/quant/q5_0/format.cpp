#include "quant/common/bits.h"
#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/random_scale.h"
#include "quant/q5_0/block.h"

namespace brass {
namespace {

constexpr UniformLevels kLevels(-16, 15);

struct CodecQ5_0 {
  using Block = BlockQ5_0;
  static constexpr int kValues = 32, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    uint8_t high[32];
    for (int k = 0; k < 4; ++k) store8(high + 8 * k, spread_bits(block.qh[k]) << 4);
    for (int j = 0; j < 16; ++j) {
      out.code[j] = static_cast<int8_t>(((block.qs[j] & 15) | high[j]) - 16);
      out.code[16 + j] = static_cast<int8_t>(((block.qs[j] >> 4) | high[16 + j]) - 16);
    }
    out.scale[0] = f16_to_f32(block.d);
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    int8_t code[32];
    block.d = fit_scale_f16(x, w, 32, kLevels, code);
    std::memset(block.qh, 0, sizeof block.qh);
    for (int j = 0; j < 32; ++j) block.qh[j / 8] |= static_cast<uint8_t>(((code[j] + 16) >> 4) << (j % 8));
    for (int j = 0; j < 16; ++j) {
      block.qs[j] = static_cast<uint8_t>(((code[j] + 16) & 15) | ((code[16 + j] + 16) & 15) << 4);
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 9.25f;  // of a random code − 16
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_q5_0 = make_format<CodecQ5_0>(Type::Q5_0, "Q5_0");

}  // namespace brass
