// Keys and values in every type, on a Vulkan device: what a page holds is what was written, within the type's rounding, by
// every program that writes; attention reads what the page holds, judged by ref over the same values.
#include <cmath>

#include "backend/ref/ref.h"
#include "base/half.h"
#include "device_harness.h"
#include "profiles.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

constexpr uint32_t kPages = 3;
constexpr int32_t kSequence = 2;

struct Types {
  KvType k, v;
};
std::vector<Types> types() {
  return {{KvType::kInt8, KvType::kInt8}, {KvType::kBF16, KvType::kBF16}, {KvType::kInt8, KvType::kF16},
          {KvType::kF32, KvType::kInt8},  {KvType::kF16, KvType::kBF16},  {KvType::kF32, KvType::kF32}};
}
std::string name_of(const Types& t) { return fmt::format("{},{}", kv_type_name(t.k), kv_type_name(t.v)); }

Runner on_gpu(const std::shared_ptr<const Graph>& graph, const Types& t, bool int8_activations = true) {
  auto device = make_vulkan_device({.k_type = t.k, .v_type = t.v});
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  Caps caps = (*device)->caps();
  if (!int8_activations) caps.int8_terms.clear(), caps.rules.clear();
  return Runner(std::move(*device), graph, caps, {}, 4, kPages, t.k, t.v);
}

std::vector<std::vector<float>> pages_of(Runner& r, uint32_t group) {
  std::vector<std::vector<float>> pages;
  for (const PageId page : r.table(kSequence, group)) pages.push_back(r.device().export_page(group, page));
  return pages;
}

std::vector<TinyModel> models() {
  TinyModel ragged = ragged_model();  // a head is a run of 32 and another of 8
  ragged.q_heads = 4, ragged.kv_heads = 2, ragged.head_dim = 40;
  return {plain_model(), qwen_like(), sink_like(), ragged};
}

// What is lost of x, where the largest of the values around it is `largest`.
double most_lost(KvType type, double x, double largest) {
  switch (type) {
    case KvType::kF32:
      return 0;
    case KvType::kF16:
      return std::abs(x) / 1024 + 1e-7;
    case KvType::kBF16:
      return std::abs(x) / 256;
    case KvType::kInt8:
      return largest / 127 * 0.501;
  }
  return 0;
}

void expect_rounded(std::span<const float> found, std::span<const float> wrote, uint32_t dim, KvType type) {
  for (size_t i = 0; i < wrote.size(); i += dim)
    for (size_t begin = i; begin < i + dim; begin += 32) {
      const auto run = wrote.subspan(begin, std::min<size_t>(32, i + dim - begin));
      double largest = 0;
      for (const float x : run) largest = std::max(largest, std::abs(static_cast<double>(x)));
      for (size_t j = 0; j < run.size(); j++) {
        ASSERT_LE(std::abs(static_cast<double>(found[begin + j]) - run[j]), most_lost(type, run[j], largest))
            << kv_type_name(type) << ", value " << begin + j << " was " << run[j];
        if (type == KvType::kBF16) {
          ASSERT_EQ(found[begin + j], bf16_to_f32(f32_to_bf16(run[j])));
        }
      }
    }
}

// The first layer's keys and values depend on nothing that was cached.
TEST(VulkanKvTypes, PagesHoldWhatWasWritten) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const TinyModel& model : {qwen_like(), models().back()}) {
    const auto graph = build_tiny(model);
    const KvLayer& layer = graph->groups[0].layers[0];
    const size_t keys = size_t{kPageTokens} * layer.heads * layer.k_dim,
                 values = size_t{kPageTokens} * layer.heads * layer.v_dim;
    const std::vector<int32_t> ids = random_ids(70, model.vocab, 3);
    for (const size_t chunk : {70, 5, 1}) {
      const auto written = [&](const Types& t) {
        Runner r = on_gpu(graph, t);
        for (size_t i = 0; i < ids.size(); i += chunk)
          r.text(kSequence, {ids.begin() + static_cast<long>(i), ids.begin() + static_cast<long>(i + chunk)},
                 static_cast<int32_t>(i));
        return pages_of(r, 0);
      };
      const auto exact = written({KvType::kF32, KvType::kF32});
      for (const Types& t : types()) {
        SCOPED_TRACE(name_of(t) + fmt::format(", heads of {}, chunks of {}", layer.k_dim, chunk));
        const auto found = written(t);
        for (size_t p = 0; p < exact.size(); p++) {
          expect_rounded({found[p].data(), keys}, {exact[p].data(), keys}, layer.k_dim, t.k);
          expect_rounded({found[p].data() + keys, values}, {exact[p].data() + keys, values}, layer.v_dim,
                         t.v);
        }
        EXPECT_NE(found[0][keys + 1], 0.0f);
      }
    }
  }
}

// Pages come and go as rows of f32, over and over the same.
TEST(VulkanKvTypes, ImportedPagesAreExportedAgain) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const auto graph = build_tiny(models().back());
  const KvLayer& layer = graph->groups[0].layers[0];
  const size_t keys = size_t{kPageTokens} * layer.heads * layer.k_dim;
  for (const Types& t : types()) {
    SCOPED_TRACE(name_of(t));
    Runner r = on_gpu(graph, t);
    std::vector<float> rows = random_floats(r.device().export_page(0, 0).size(), 5);
    std::ranges::fill(std::span(rows).first(layer.k_dim), 0.0f);
    r.device().import_page(0, 1, rows);
    const std::vector<float> once = r.device().export_page(0, 1);
    expect_rounded(std::span(once).first(keys), std::span(rows).first(keys), layer.k_dim, t.k);
    r.device().import_page(0, 2, once);
    const std::vector<float> twice = r.device().export_page(0, 2);
    for (size_t i = 0; i < once.size(); i++) ASSERT_NEAR(twice[i], once[i], 1e-6 * std::abs(once[i]));
  }
}

// ref attends over the values that the GPU's pages hold; only what the step itself adds is rounded on one side alone.
TEST(VulkanKvTypes, AttentionReadsWhatThePageHolds) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const TinyModel& model : models()) {
    const auto graph = build_tiny(model);
    const std::vector<int32_t> ids = random_ids(150, model.vocab, 3);
    for (const Types& t : types()) {
      SCOPED_TRACE(name_of(t) + fmt::format(", heads of {}", graph->groups[0].layers[0].k_dim));
      Runner gpu = on_gpu(graph, t, false);
      auto device = make_ref_device({});
      Caps caps = gpu.device().caps();
      caps.int8_terms.clear(), caps.rules.clear();
      Runner ref(std::move(device), graph, caps, {}, 4, kPages);
      gpu.text(kSequence, {ids.begin(), ids.begin() + 130});
      for (uint32_t g = 0; g < graph->groups.size(); g++) {
        const auto pages = pages_of(gpu, g);
        for (size_t p = 0; p < pages.size(); p++)
          ref.device().import_page(g, ref.table(kSequence, g)[p], pages[p]);
      }
      for (const size_t rows : {1, 2, 12}) {
        const std::vector<int32_t> next(ids.begin() + 130, ids.begin() + 130 + static_cast<long>(rows));
        const Logits found = gpu.text(kSequence, next, 130), expected = ref.text(kSequence, next, 130);
        double worst = 0, squares = 0;
        for (size_t i = 0; i < found[0].size(); i++) {  // of the first row: one position is new
          worst = std::max(worst, std::abs(static_cast<double>(found[0][i]) - expected[0][i]));
          squares += static_cast<double>(expected[0][i]) * expected[0][i];
        }
        const double error = worst / std::sqrt(squares / static_cast<double>(found[0].size()));

        const bool exact = t.k == KvType::kF32 && t.v == KvType::kF32 && rows <= 8;
        EXPECT_LT(error, exact ? 1e-3 : 2e-2) << rows << " rows";
      }
    }
  }
}

}  // namespace
}  // namespace brass
