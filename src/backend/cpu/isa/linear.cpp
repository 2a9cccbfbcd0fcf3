// The matrix products of one tier.
#include "backend/cpu/isa/decode.h"
#include "backend/cpu/isa/float_tile.h"
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

#define BRASS_ROW(name)                                                                          \
  {{decode_float<Weight##name, 1>, decode_float<Weight##name, 2>, decode_float<Weight##name, 3>, \
    decode_float<Weight##name, 4>},                                                              \
   expand<Weight##name>},
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
    .float_tile = float_tile,
    .sum16 = sum16,
    .quantized = kQuantized,
    .floats = kFloats,
};

}  // namespace brass::cpu
