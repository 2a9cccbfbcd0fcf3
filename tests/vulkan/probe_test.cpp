// Devices are asked, not believed: rates, and how the tiles of devices that are not there lie.
#include <gtest/gtest.h>

#include "backend/vulkan/matrix_layouts.h"
#include "backend/vulkan/prompt.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

// What no machine of these decades leaves, a CPU driver that shares its processor with others among them.
TEST(VulkanProbe, RatesArePlausible) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const auto device = make_vulkan_device({});
  ASSERT_TRUE(device);
  const Result<DeviceProbe> probe = (*device)->probe();
  ASSERT_TRUE(probe) << probe.error().message;
  EXPECT_GT(probe->bandwidth, 1e7);
  EXPECT_LT(probe->bandwidth, 2e13);
  EXPECT_GT(probe->f32_ops, 1e6);
  EXPECT_LT(probe->f32_ops, 1e15);
  EXPECT_GT(probe->int8_ops, 1e6);
  EXPECT_LT(probe->int8_ops, 1e16);
}

// Each value of a tile is in as many lanes as the layout says, and none is left out.
TEST(VulkanProbe, KnownLayoutsHoldWholeTiles) {
  const MatrixTile tile{16, 16, 16};
  for (const auto& [name, lanes] : {std::pair{"gfx11", 32u}, {"gfx11", 64u}, {"gfx12", 32u}}) {
    const Result<std::vector<float>> values = vulkan::matrix_layout(name, tile, lanes);
    ASSERT_TRUE(values) << values.error().message;
    const auto held = static_cast<uint32_t>(values->front());
    std::vector<uint32_t> a(256, 0), c(256, 0);
    for (uint32_t i = 0; i < held * lanes; i++) a.at(static_cast<size_t>((*values)[1 + i]))++;
    const size_t behind = 1 + size_t{held} * lanes;
    EXPECT_EQ((*values)[behind], 256 / lanes);
    ASSERT_EQ(values->size(), behind + 1 + 256);
    for (uint32_t i = 0; i < 256; i++) c.at(static_cast<size_t>((*values)[behind + 1 + i]))++;
    EXPECT_EQ(a, std::vector<uint32_t>(256, held * lanes / 256)) << name;
    EXPECT_EQ(c, std::vector<uint32_t>(256, 1)) << name;
    const VulkanInfo info{.index = 0, .name = "a card", .subgroup = lanes, .matrix = tile};
    const vulkan::MatrixUnit unit = vulkan::matrix_unit_of(info, *values, 1 << 30);
    EXPECT_TRUE(unit.there()) << name;
    EXPECT_EQ(unit.units, held / 8) << name;
  }
  EXPECT_FALSE(
      vulkan::matrix_layout("gfx12", tile, 64));  // eight bytes a lane: nothing that units could hold
  EXPECT_FALSE(vulkan::matrix_layout("gfx9", tile, 32));
  EXPECT_FALSE(vulkan::matrix_layout("gfx11", {8, 8, 8}, 32));
}

}  // namespace
}  // namespace brass
