#include "backend/vulkan/matrix_layouts.h"

namespace brass::vulkan {
namespace {

struct Layout {
  std::string_view name;
  uint32_t (*held)(uint32_t lanes);  // values of an A tile in a lane
  uint32_t (*column_of_a)(uint32_t lane, uint32_t e);
  uint32_t (*row_of_c)(uint32_t lanes, uint32_t lane, uint32_t e);
};

constexpr Layout kLayouts[] = {
    // All of a row in each lane, so several times over; rows of C by turns.
    {"gfx11", [](uint32_t) { return 16u; }, [](uint32_t, uint32_t e) { return e; },
     [](uint32_t lanes, uint32_t lane, uint32_t e) { return e * (lanes / 16) + lane / 16; }},
    // Parts of a row side by side; runs of C's rows.
    {"gfx12", [](uint32_t lanes) { return 256 / lanes; },
     [](uint32_t lane, uint32_t e) { return lane / 16 * 8 + e; },
     [](uint32_t lanes, uint32_t lane, uint32_t e) { return lane / 16 * (256 / lanes) + e; }},
};

}  // namespace

Result<std::vector<float>> matrix_layout(std::string_view name, MatrixTile tile, uint32_t lanes) {
  const Layout* found = nullptr;
  for (const Layout& layout : kLayouts)
    if (layout.name == name) found = &layout;
  if (found == nullptr) return fail("matrix layout '{}' is not known; known are gfx11, gfx12", name);
  if (tile.rows != 16 || tile.columns != 16 || tile.depth != 16 || (lanes != 32 && lanes != 64) ||
      found->held(lanes) < 8)
    return fail("matrix layout '{}': tiles of {} x {} x {} in {} lanes are not in it", name, tile.rows,
                tile.columns, tile.depth, lanes);
  std::vector<float> values;
  const auto put = [&](uint32_t held, const auto& place) {
    values.push_back(static_cast<float>(held));
    for (uint32_t lane = 0; lane < lanes; lane++)
      for (uint32_t e = 0; e < held; e++) values.push_back(static_cast<float>(place(lane, e)));
  };
  put(found->held(lanes),
      [&](uint32_t lane, uint32_t e) { return lane % 16 * 16 + found->column_of_a(lane, e); });
  put(256 / lanes,
      [&](uint32_t lane, uint32_t e) { return found->row_of_c(lanes, lane, e) * 16 + lane % 16; });
  return values;
}

}  // namespace brass::vulkan
