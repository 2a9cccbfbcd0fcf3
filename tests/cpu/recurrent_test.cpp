// States of recurrent layers on the CPU device: their pages.
#include "backend/cpu/device.h"
#include "device_harness.h"

namespace brass {
namespace {

// The state group holds pages of its own size, which are copied whole, whatever is asked of a part.
TEST(CpuStates, PagesAreCopiedWhole) {
  GraphBuilder b;
  const ValueId u = b.input("u", 7, random_floats(7 * 4, 1));
  const WeightId taps = b.vector("taps", random_floats(7 * 3, 2));
  b.group({.name = "kv", .kind = GroupKind::kKv, .layers = {{1, 3, 3}}});
  b.group({.name = "state", .kind = GroupKind::kState, .states = {14, 33}});
  const auto graph = b.finish(b.op(OpKind::kConv1d, "conv", {u}, Rows::kT, 7, {taps}, ConvAttrs{1, 0, 3}));
  std::unique_ptr<Device> device = std::move(*make_cpu_device({.threads = 1}));
  EXPECT_EQ(device->page_bytes(graph->groups[1], KvType::kF16, KvType::kF16), 64u + 192u);
  const std::vector<PoolSpec> pools = {{2, KvType::kF16, KvType::kF16}, {3, KvType::kF16, KvType::kF16}};
  ASSERT_TRUE(device->allocate(*graph, pools).has_value());
  const std::vector<float> state = random_floats(14 + 33, 3), none(14 + 33, 0.0f);
  EXPECT_EQ(device->export_page(1, 1), none);
  device->import_page(1, 1, state);
  device->copy_page(1, 1, 0);
  device->copy_part(1, 0, 2, 5);
  for (const PageId page : {0, 1, 2}) EXPECT_EQ(bits_of(device->export_page(1, page)), bits_of(state));
  device->import_page(1, 0, none);
  EXPECT_EQ(device->export_page(1, 0), none);
  EXPECT_EQ(bits_of(device->export_page(1, 2)), bits_of(state));
}

}  // namespace
}  // namespace brass
