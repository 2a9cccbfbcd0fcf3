#include "backend/ref/ref.h"
#include "device_harness.h"
namespace brass {
namespace {
TEST(Smoke, Chunks) {
  const auto graph =
      build_tiny({.bias = true, .head_norm = true, .post_norm = true, .window = 20, .softcap = 30});
  auto caps = make_ref_device({})->caps();
  Runner a(make_ref_device({}), graph, caps), b(make_ref_device({.threads = 2}), graph, caps);
  const auto ids = random_ids(150, 301, 1);
  const Logits whole = a.text(1, ids);
  Logits one;
  for (size_t i = 0; i < ids.size(); i++) one.push_back(b.text(0, {ids[i]}, (int32_t)i)[0]);
  EXPECT_TRUE(same_bits(whole, one));
}
}  // namespace
}  // namespace brass
