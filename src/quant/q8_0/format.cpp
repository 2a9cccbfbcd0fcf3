#include "quant/common/codec.h"
#include "quant/common/random_scale.h"
#include "quant/q8_0/block.h"

namespace brass {
namespace {

struct Codec {
  using Block = BlockQ8_0;
  static constexpr int kValues = 32, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    std::memcpy(out.code, block.qs, sizeof block.qs);
    out.scale[0] = f16_to_f32(block.d);
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 73.9f;  // of a random int8
    block.d = random_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_q8_0 = make_format<Codec>(Type::Q8_0, "Q8_0", nullptr);

}  // namespace brass
