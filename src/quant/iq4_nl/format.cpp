#include "quant/common/codec.h"
#include "quant/common/iq4_values.h"
#include "quant/common/random_scale.h"
#include "quant/iq4_nl/block.h"

namespace brass {
namespace {

struct Codec {
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

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 68.5f;  // of a random level
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_iq4_nl = make_format<Codec>(Type::IQ4_NL, "IQ4_NL", nullptr);

}  // namespace brass
