// From rows of a file to panels (layout.h). The same bytes for every ISA tier.
//
// Owns: which types can be packed, panel sizes, packing. Must not know: ISA tiers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "backend/cpu/layout.h"
#include "quant/format.h"

namespace brass::cpu {

// Where a type stands in parts.h's tables.
std::optional<uint8_t> quantized_index(Type type);
std::optional<uint8_t> float_index(Type type);

// The facts of a quantized type's layout that the product's driver needs.
struct LayoutFacts {
  uint32_t super;
  layout::Kind kind;  // of the unpacked form, as is zero
  uint32_t zero;
};
LayoutFacts layout_facts(uint8_t quantized_index);

bool can_pack(Type type);
uint8_t int8_terms(Type type);  // of the activations that its product reads; 0: f32
size_t panel_bytes(Type type, uint32_t cols);
void pack(Type type, const std::byte* file_rows, uint32_t rows_here, uint32_t cols, std::byte* panel);

}  // namespace brass::cpu
