#include "quant/common/bits.h"
#include "quant/common/codec.h"
#include "quant/common/random_scale.h"
#include "quant/iq3_s/block.h"
#include "quant/iq3_s/grid.h"

namespace brass {
namespace {

struct CodecIQ3_S {
  using Block = BlockIQ3_S;
  static constexpr int kValues = 256, kGroup = 32;
  static constexpr bool kHasMin = false;

  static void unpack(const Block& block, CanonicalBlock& __restrict out) {
    const float d = f16_to_f32(block.d);
    for (int k = 0; k < 32; ++k) {
      const int high = block.qh[k / 4] >> (2 * (k % 4));
      const uint64_t first = kIq3SGrid.entry[block.qs[2 * k] | (high & 1) << 8];
      const uint64_t second = kIq3SGrid.entry[block.qs[2 * k + 1] | (high & 2) << 7];
      store8(out.code + 8 * k, apply_signs(first | second << 32, block.signs[k]));
    }
    for (int g = 0; g < 8; ++g) {
      const int scale = (block.scales[g / 2] >> (4 * (g % 2))) & 15;
      out.scale[g] = d * static_cast<float>(2 * scale + 1);
    }
  }

  static bool finite(const Block& block) { return finite_f16(block.d); }

  static void set_scale(Block& block, float magnitude) {
    constexpr float kRms = 141.8f;  // of (2 · scale + 1) · grid, random indices
    block.d = random_signed_f16_scale(block.d, magnitude / kRms);
  }
};

}  // namespace

extern constinit const Format format_iq3_s = make_format<CodecIQ3_S>(Type::IQ3_S, "IQ3_S");

}  // namespace brass
