#include "quant/common/codec.h"
#include "quant/common/fit.h"
#include "quant/common/random_scale.h"
#include "quant/q8_0/block.h"

namespace brass {
namespace {

// −128 is left out: kernels that move the sign of a weight onto the activation cannot negate it.
constexpr UniformLevels kLevels(-127, 127);

struct CodecQ8_0 {
  using Block = BlockQ8_0;
  static constexpr int kValues = 32, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    std::memcpy(out.code, block.qs, sizeof block.qs);
    out.scale[0] = f16_to_f32(block.d);
  }

  static void encode_block(const float* x, const float* w, Block& block) {
    block.d = fit_scale_f16(x, w, 32, kLevels, block.qs);
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 73.9f;  // of a random int8
    block.d = random_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_q8_0 = make_format<CodecQ8_0>(Type::Q8_0, "Q8_0");

}  // namespace brass
