#include <gtest/gtest.h>

#include "backend/cpu/device.h"

namespace brass {
namespace {

// What no machine of these decades leaves, and the order that every one keeps.
TEST(CpuProbe, RatesArePlausibleOnEveryThreadCount) {
  for (const uint32_t threads : {1u, 2u}) {
    const auto device = make_cpu_device({.threads = threads});
    ASSERT_TRUE(device);
    const Result<DeviceProbe> probe = (*device)->probe();
    ASSERT_TRUE(probe) << probe.error().message;
    EXPECT_GT(probe->bandwidth, 2e8);
    EXPECT_LT(probe->bandwidth, 1e12 * threads);
    EXPECT_GT(probe->int8_ops, 5e7);
    EXPECT_LT(probe->int8_ops, 1e14 * threads);
    EXPECT_GT(probe->f32_ops, 5e7);
    EXPECT_LT(probe->f32_ops, 1e13 * threads);
  }
}

}  // namespace
}  // namespace brass
