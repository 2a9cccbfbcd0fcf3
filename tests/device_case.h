// A device that a suite of properties runs on.
#pragma once

#include "device_harness.h"
#include "profiles.h"

namespace brass {

struct DeviceCase {
  std::string name;
  std::function<std::unique_ptr<Device>(uint32_t threads)> make;
  std::function<Caps(const Caps&)> caps = [](const Caps& own) { return own; };  // that plans are compiled for
  std::vector<KvType> kv_types = {KvType::kF32};
  // One that takes weights that are not finite; empty: the device cannot.
  std::function<std::unique_ptr<Device>(uint32_t threads)> make_unchecked = {};
  uint32_t choose = 0;  // of the logits, that plans are to (PlanKey::choose)
};
inline void PrintTo(const DeviceCase& c, std::ostream* out) { *out << c.name; }
inline std::string name_of_device(const testing::TestParamInfo<DeviceCase>& info) { return info.param.name; }

class DeviceTest : public testing::TestWithParam<DeviceCase> {
 protected:
  static Runner runner(const std::shared_ptr<const Graph>& graph, uint32_t threads = 1,
                       const std::function<void(Caps&)>& change_caps = {}, Runner::Change change = {},
                       KvType kv_type = KvType::kF32) {
    std::unique_ptr<Device> device = GetParam().make(threads);
    Caps caps = GetParam().caps(device->caps());
    if (change_caps) change_caps(caps);
    Runner made(std::move(device), graph, caps, std::move(change), 4, 8, kv_type);
    made.choose(GetParam().choose);
    return made;
  }
};

}  // namespace brass
