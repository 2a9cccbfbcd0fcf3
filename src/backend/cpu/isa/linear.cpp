// The matrix products of one tier.
#include "backend/cpu/isa/decode.h"
#ifdef __AVX512BF16__
#include "backend/cpu/isa/bf16_tile.h"
#else
#include "backend/cpu/isa/float_tile.h"
#endif
#include "backend/cpu/isa/tile.h"
#ifdef __AMX_INT8__
#include "backend/cpu/isa/tile_amx.h"
#else
#include "backend/cpu/isa/tile_vector.h"
#endif

namespace brass::cpu {
namespace {

#define BRASS_ROW(name)                                                                                  \
  {{decode<layout::name, 1>, decode<layout::name, 2>, decode<layout::name, 3>, decode<layout::name, 4>}, \
   unpack<layout::name>},
constexpr QuantizedParts kQuantized[] = {BRASS_CPU_QUANTIZED(BRASS_ROW)};
#undef BRASS_ROW

template <class W>
constexpr FloatParts kFloatParts = {
    {decode_float<W, 1>, decode_float<W, 2>, decode_float<W, 3>, decode_float<W, 4>},
    expand<W>,
    fill_tile<W>,
    float_tile,
    false};
#ifdef __AVX512BF16__
template <>
constexpr FloatParts kFloatParts<WeightBF16> = {
    {decode_bf16<1>, decode_bf16<2>, decode_bf16<3>, decode_bf16<4>},
    expand<WeightBF16>,
    fill_bf16_tile,
    bf16_tile,
    true};
#endif
#define BRASS_ROW(name) kFloatParts<Weight##name>,
constexpr FloatParts kFloats[] = {BRASS_CPU_FLOAT(BRASS_ROW)};
#undef BRASS_ROW

}  // namespace

extern const LinearParts BRASS_JOIN(linear_, BRASS_TIER);
constinit const LinearParts BRASS_JOIN(linear_, BRASS_TIER) = {
    .tile_panels = kTilePanels,
    .tile_blocks = kTileBlocks,
    .signed_tile = kSignedTile,
    .enter = enter_tiles,
    .leave = leave_tiles,
    .tile = tile,
    .sum16 = sum16,
    .quantized = kQuantized,
    .floats = kFloats,
};

}  // namespace brass::cpu
