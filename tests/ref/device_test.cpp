// What ref says, takes and refuses as a device; and that its loops give the same bits on every machine.
#include <cstdlib>

#include "backend/ref/loops.h"
#include "backend/ref/ref.h"
#include "device_harness.h"

namespace brass {
namespace {

TEST(RefDevice, CapsSayEverything) {
  const auto device = make_ref_device({.threads = 2});
  EXPECT_EQ(device->caps().name, "ref");
  EXPECT_EQ(device->caps().matrix_types.size(), all_formats().size());
  EXPECT_TRUE(device->caps().operations.contains(OpKind::kQuantAct));
  EXPECT_TRUE(device->caps().rules.empty());
  EXPECT_EQ(device->caps().threads, 1u);
  EXPECT_NE(device->describe().find("2 threads"), std::string::npos);
}

TEST(RefDevice, UploadReportsBytesAndKeepsThem) {
  const auto graph = build_tiny(plain_model());
  const auto device = make_ref_device({});
  uint64_t last = 0, whole = 0, total = 0;
  for (const Weight& w : graph->weights) total += w.bytes();
  const Result<> uploaded = device->upload(
      *graph,
      [&](uint64_t done, uint64_t of) {
        EXPECT_GT(done, last);
        last = done;
        whole = of;
      },
      [](const Weight& w) { ADD_FAILURE() << "released " << w.name; });
  EXPECT_TRUE(uploaded.has_value());
  EXPECT_EQ(last, total);
  EXPECT_EQ(whole, total);
}

TEST(RefDevice, UnknownTypeIsRefusedByName) {
  GraphBuilder b;
  const WeightId w = b.weight("odd", WeightKind::kMatrix, Type::I32, 2, 2, std::vector<std::byte>(16));
  const auto graph = b.finish(b.op(OpKind::kEmbed, "embed", {}, Rows::kT, 2, {w}));
  const Result<> uploaded = make_ref_device({})->upload(*graph, {}, {});
  ASSERT_FALSE(uploaded.has_value());
  EXPECT_NE(uploaded.error().message.find("tensor 'odd'"), std::string::npos);
}

TEST(RefDevice, LostSourceFailsTheRun) {
  const auto graph = build_tiny(plain_model());
  bool lost = false;
  const auto device = make_ref_device({.check_source = [&]() -> Result<> {
    if (lost) return fail("model.gguf: shrank");
    return {};
  }});
  ASSERT_TRUE(device->upload(*graph, {}, {}).has_value());
  const PoolSpec pool{1, KvType::kF16, KvType::kInt8};
  ASSERT_TRUE(device->allocate(*graph, {&pool, 1}).has_value());
  const PlanHandle plan = *device->prepare(*compile(graph, {1, 1}, device->caps()));
  const std::vector<int32_t> zero = {0};
  const std::vector<PageId> table = {0};
  const std::vector<PageTable> tables = {table};
  const Batch batch{zero, zero, zero, zero, tables};
  EXPECT_TRUE(device->run(plan, batch).has_value());
  lost = true;
  const Result<> ran = device->run(plan, batch);
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().message, "model.gguf: shrank");
}

TEST(RefDeviceDeathTest, BadBatchesAbort) {
  const auto graph = build_tiny(plain_model());
  Runner r(make_ref_device({}), graph, make_ref_device({})->caps());
  EXPECT_DEATH(r.step({{0, 301, 0}}), "token 301 of 301");
  EXPECT_DEATH(r.step({{0, -1, 0}}), "token -1");
  EXPECT_DEATH(r.step({{0, 1, 512}}), "position 512 of sequence 0 is past its 8 pages");
  EXPECT_DEATH(r.step({{9, 1, 0}}), "sequence 9");
  r.table(0, 0)[0] = 99;
  EXPECT_DEATH(r.step({{0, 1, 0}}), "page 99 of 32");
  r.table(0, 0)[0] = -1;
  EXPECT_DEATH(r.step({{0, 1, 0}}), "page -1");
}

TEST(RefDevice, PageBytesAreThoseOfF32) {
  const auto graph = build_tiny(plain_model());
  EXPECT_EQ(make_ref_device({})->page_bytes(graph->groups[0], KvType::kInt8, KvType::kF16),
            64u * 2 * 2 * 2 * 64 * 4);
}

std::vector<const ref::Loops*> runnable_loops() {
  std::vector<const ref::Loops*> loops = {&ref::kLoopsBase};
  if (__builtin_cpu_supports("avx2")) loops.push_back(&ref::kLoopsAvx2);
  if (__builtin_cpu_supports("avx512f")) loops.push_back(&ref::kLoopsAvx512);
  return loops;
}

TEST(RefLoops, EveryWidthGivesTheSameBits) {
  constexpr size_t kStride = 1040;
  const std::vector<float> a = random_floats(19 * kStride, 1), b = random_floats(23 * kStride, 2);
  for (const uint32_t n : {16u, 64u, 1024u})
    for (const uint32_t rows : {1u, 3u, 19u})
      for (const uint32_t tokens : {1u, 2u, 5u, 23u}) {
        std::vector<double> expected(rows * tokens, 0.25), summed(kStride, 0.5);
        ref::kLoopsBase.dots(a.data(), kStride, rows, b.data(), kStride, tokens, n, expected.data(), tokens);
        ref::kLoopsBase.weighted_sum(b.data(), rows, a.data(), kStride, n, summed.data());
        for (const ref::Loops* loops : runnable_loops()) {
          std::vector<double> dots(rows * tokens, 0.25), sums(kStride, 0.5);
          loops->dots(a.data(), kStride, rows, b.data(), kStride, tokens, n, dots.data(), tokens);
          loops->weighted_sum(b.data(), rows, a.data(), kStride, n, sums.data());
          EXPECT_EQ(dots, expected) << loops->name << ' ' << n << ' ' << rows << ' ' << tokens;
          EXPECT_EQ(sums, summed) << loops->name << ' ' << n << ' ' << rows;
        }
      }
}

}  // namespace
}  // namespace brass
