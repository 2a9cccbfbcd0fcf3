// The properties of every device, on ref: with its own plans, and with those of a device that fuses and
// quantizes.
#include "backend/ref/ref.h"
#include "device_properties.h"

namespace brass {
namespace {

const auto kMakeRef = [](uint32_t threads) { return make_ref_device({.threads = threads}); };

INSTANTIATE_TEST_SUITE_P(Ref, DeviceProperties,
                         testing::Values(DeviceCase{.name = "own", .make = kMakeRef},
                                         DeviceCase{.name = "fused",
                                                    .make = kMakeRef,
                                                    .caps = [](const Caps&) { return fused_profile(); }}),
                         name_of_device);

}  // namespace
}  // namespace brass
