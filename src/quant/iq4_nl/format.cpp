#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/iq4_values.h"
#include "quant/common/random_scale.h"
#include "quant/iq4_nl/block.h"

namespace brass {
namespace {

constexpr TableLevels kLevels(kIq4Values);

struct CodecIQ4_NL {
  using Block = BlockIQ4_NL;
  static constexpr int kValues = 32, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    for (int j = 0; j < 16; ++j) {
      out.code[j] = kIq4Values[block.qs[j] & 15];
      out.code[16 + j] = kIq4Values[block.qs[j] >> 4];
    }
    out.scale[0] = f16_to_f32(block.d);
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    int8_t code[32];
    block.d = fit_scale_f16(x, w, 32, kLevels, code);
    for (int j = 0; j < 16; ++j) {
      block.qs[j] = static_cast<uint8_t>(kLevels.index_of(code[j]) | kLevels.index_of(code[16 + j]) << 4);
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 68.5f;  // of a random level
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_iq4_nl = make_format<CodecIQ4_NL>(Type::IQ4_NL, "IQ4_NL");

}  // namespace brass
