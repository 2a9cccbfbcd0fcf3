#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/random_scale.h"
#include "quant/tq2_0/block.h"

namespace brass {
namespace {

struct CodecTQ2_0 {
  using Block = BlockTQ2_0;
  static constexpr int kValues = 256, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    for (int half = 0; half < 2; ++half) {
      for (int k = 0; k < 4; ++k) {
        for (int j = 0; j < 32; ++j) {
          const int code = (block.qs[32 * half + j] >> (2 * k)) & 3;
          out.code[128 * half + 32 * k + j] = static_cast<int8_t>(code - 1);
        }
      }
    }
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 8; ++g) out.scale[g] = d;
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    int8_t code[256];
    block.d = fit_ternary_f16(x, w, 256, code);
    std::memset(block.qs, 0, sizeof block.qs);
    for (int i = 0; i < 256; ++i) {
      block.qs[32 * (i / 128) + i % 32] |= static_cast<uint8_t>((code[i] + 1) << (2 * (i / 32 % 4)));
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 0.707f;  // of a random code − 1 once a 3 is a 1, as no encoder writes 3
    for (uint8_t& four : block.qs) four = static_cast<uint8_t>(four & ~((four & 0x55) << 1));
    block.d = random_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_tq2_0 = make_format<CodecTQ2_0>(Type::TQ2_0, "TQ2_0");

}  // namespace brass
