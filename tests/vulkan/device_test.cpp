// A Vulkan device against the properties of every plan. Without a card these run on lavapipe (Debian:
// mesa-vulkan-drivers); where there is no Vulkan at all, they say so.
#include "backend/vulkan/device.h"

#include "plan_properties.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

DeviceCase on_vulkan() {
  const auto make = [](bool check) {
    return [=](uint32_t) {
      auto device = make_vulkan_device({.check_finite = check});
      EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
      return std::move(*device);
    };
  };
  return {.name = "own", .make = make(true), .make_unchecked = make(false)};
}

std::vector<DeviceCase> cases() {
  return vulkan_is_there() ? std::vector<DeviceCase>{on_vulkan()} : std::vector<DeviceCase>{};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PlanProperties);
INSTANTIATE_TEST_SUITE_P(Vulkan, PlanProperties, testing::ValuesIn(cases()), name_of_device);

}  // namespace
}  // namespace brass
