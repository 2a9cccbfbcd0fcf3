// The guard bands around the plans of whole models: the one made here, and the shared tiny ones.
#include "guard_bands.h"
#include "runtime/model_fixture.h"
#include "sanitized.h"

namespace brass {
namespace {

TEST(Guard, StepsOfModelsTouchOnlyWhatTheyDeclare) {
  const TempFolder folder;
  std::vector<std::string> paths = test_models(folder);
  if (kSanitized && paths.size() > 4) paths.resize(4);  // every access is checked there anyway
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const auto model = load_model(path);
    ASSERT_TRUE(model.has_value()) << model.error().message;
    const std::vector<std::pair<KvType, std::function<std::unique_ptr<Device>()>>> devices = {
        {KvType::kF32, [] { return make_ref_device({.threads = 2}); }},
        {KvType::kF16, [] { return std::move(*make_cpu_device({.threads = 2})); }}};
    for (const auto& [kv_type, make] : devices)
      expect_guarded(make, make()->caps(), (*model)->graph, (*model)->info.vocabulary, kv_type);
  }
}

}  // namespace
}  // namespace brass
