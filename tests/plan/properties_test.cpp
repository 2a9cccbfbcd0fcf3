#include "backend/ref/ref.h"
#include "guard_properties.h"
#include "plan_properties.h"

namespace brass {
namespace {

DeviceCase on_ref(std::string name, std::function<Caps(const Caps&)> caps) {
  const auto make = [](bool check) {
    return [check](uint32_t threads) { return make_ref_device({.threads = threads, .check_finite = check}); };
  };
  return {
      .name = std::move(name), .make = make(true), .caps = std::move(caps), .make_unchecked = make(false)};
}

// Plans that leave candidates. (One choice would not show that logits have changed.)
DeviceCase of_candidates() {
  DeviceCase made = on_ref("candidates", [](const Caps& own) { return own; });
  made.choose = 5;
  return made;
}

std::vector<DeviceCase> every_profile() {
  return {of_candidates(), on_ref("own", [](const Caps& own) { return own; }),
          on_ref("fused", [](const Caps&) { return fused_profile(); }),
          on_ref("int8_alone", [](const Caps&) { return without_rules(fused_profile(1)); })};
}

INSTANTIATE_TEST_SUITE_P(Ref, PlanProperties, testing::ValuesIn(every_profile()), name_of_device);
INSTANTIATE_TEST_SUITE_P(Ref, GuardProperties, testing::ValuesIn(every_profile()), name_of_device);

}  // namespace
}  // namespace brass
