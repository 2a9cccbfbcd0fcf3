// Steps of many rows: what they compute by the matrix unit, and the memory that they need besides the plan's values.
//
// Owns: the choice of programs for many rows, the matrix unit's tiles, what they keep in scratch memory. Must not know: queues, how commands are
// recorded. Invariants: up to kFewRows rows nothing here is used; above, a row's bits do not depend on how many there are.
// Scratch memory lives across the steps of one recording only, which goes through the steps in order (PromptUse).
#pragma once

#include <array>
#include <optional>

#include "backend/vulkan/programs.h"
#include "backend/vulkan/weights.h"
#include "plan/plan.h"

namespace brass::vulkan {

struct Target;
struct Dispatch;

// The tiles of the device's matrix unit; units: 16 bytes of an A tile that a lane holds. 0: there is none that is of use.
struct MatrixUnit {
  MatrixTile tile;
  uint32_t units = 0;
  uint32_t lanes = 0;
  uint32_t slots = 0;                    // workgroups that run at once
  uint32_t row_bit = 0;                  // of direct.comp; 0: tiles do not lie so
  std::array<uint32_t, 11> places = {};  // of C tiles: matrix.glsl
  uint64_t piece_bytes = 0;  // most scratch memory for a product's weights, unless one expert's are more

  bool there() const { return units > 0; }
  // The sizes that programs have as literals.
  bool is_usual() const {
    return lanes == 32 && units == 1 && tile.rows == 16 && tile.columns == 16 && tile.depth == 16;
  }
  uint32_t threads() const { return 4 * lanes; }
  uint32_t tile_bytes() const { return 16 * lanes * units; }
  // Rows of W that a workgroup makes: 4 subgroups × 2 tiles.
  uint32_t rows_of_group() const { return 8 * tile.rows; }
  // Rows of x of the narrower kind of workgroup.
  uint32_t run() const { return 4 * tile.columns; }
};
Result<MatrixUnit> probe_matrix_unit(const Context& context, Programs& programs, uint64_t piece_bytes);
// What the probe would find, for a device that runs nothing; `values` as matrix_probe.comp writes them.
MatrixUnit matrix_unit_of(const VulkanInfo& info, std::span<const float> values, uint64_t piece_bytes);

// What multiplies in steps of many rows; without either, products are computed in f32.
struct PromptUnits {
  MatrixUnit matrix;
  bool dots = false;  // packed dot products (dots.h); never beside a matrix unit
};

// Scratch memory for steps of many rows, as large as the largest step needs. Bytes, or addresses.
struct PromptMemory {
  uint64_t weights = 0;  // of a product, or a piece of it, as tiles
  uint64_t rows = 0;     // of its input, as f16 or as int8 codes,
  uint64_t scales = 0;   // and what they are multiplied by: of a row, or pairs of a unit
  uint64_t lists = 0;    // rows by expert
  uint64_t gates = 0;    // of the delta rule

  // As much as both need.
  PromptMemory operator|(const PromptMemory& other) const;
};
PromptMemory prompt_bytes(const Plan& plan, const PromptUnits& units);

// What scratch memory holds at this point of the recording.
struct PromptUse {
  ValueId rows = -1;   // the value whose rows are there
  ValueId route = -1;  // whose rows by expert are there
};

// The operation's dispatches; nothing where it is one for other programs.
Result<std::optional<std::vector<Dispatch>>> lower_prompt(const Target& target, const Op& op);

}  // namespace brass::vulkan
