#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/random_scale.h"
#include "quant/tq1_0/block.h"

namespace brass {
namespace {

struct CodecTQ1_0 {
  using Block = BlockTQ1_0;
  static constexpr int kValues = 256, kGroup = 32;
  static constexpr bool kHasMin = false;

  template <int trits, int bytes>
  static void unpack_trits(const uint8_t* __restrict packed, int8_t* __restrict code) {
    int power = 1;
    for (int k = 0; k < trits; ++k, power *= 3) {
      for (int j = 0; j < bytes; ++j) {
        const auto fraction = static_cast<uint8_t>(packed[j] * power);
        code[bytes * k + j] = static_cast<int8_t>(((fraction * 3) >> 8) - 1);
      }
    }
  }

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    unpack_trits<5, 32>(block.qs, out.code);
    unpack_trits<5, 16>(block.qs + 32, out.code + 160);
    unpack_trits<4, 4>(block.qh, out.code + 240);
    const float d = f16_to_f32(block.d);
    for (int g = 0; g < 8; ++g) out.scale[g] = d;
  }

  // Base-3 digits, the first the most significant, as a fraction of 256 rounded up.
  template <int trits, int bytes>
  static void pack_trits(const int8_t* code, uint8_t* packed) {
    for (int j = 0; j < bytes; ++j) {
      int digits = 0;
      for (int k = 0; k < 5; ++k) digits = 3 * digits + (k < trits ? code[bytes * k + j] + 1 : 0);
      packed[j] = static_cast<uint8_t>((digits * 256 + 242) / 243);
    }
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    int8_t code[256];
    block.d = fit_ternary_f16(x, w, 256, code);
    pack_trits<5, 32>(code, block.qs);
    pack_trits<5, 16>(code + 160, block.qs + 32);
    pack_trits<4, 4>(code + 240, block.qh);
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 0.816f;  // of a random trit − 1
    block.d = random_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_tq1_0 = make_format<CodecTQ1_0>(Type::TQ1_0, "TQ1_0");

}  // namespace brass
