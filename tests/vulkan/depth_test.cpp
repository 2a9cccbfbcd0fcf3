// Attention of few rows behind many pages on a Vulkan device: where a row's positions go by more pages than there are splits,
// what is computed is what ref computes, and neither the number of rows nor joined steps change a bit.
#include <cmath>

#include "backend/ref/ref.h"
#include "device_harness.h"
#include "plan/rules.h"
#include "profiles.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

constexpr uint32_t kPages = 12;
constexpr int32_t kSequence = 1;

struct Case {
  const char* name;
  TinyModel model;
  KvType kv;
};
// Of 8 splits, each of two pages.
std::vector<Case> cases() {
  const TinyModel alone{.q_heads = 32, .kv_heads = 32, .head_dim = 16};
  const TinyModel groups{.q_heads = 128, .kv_heads = 32, .head_dim = 32, .head_norm = true};
  const TinyModel sevens{.q_heads = 224, .kv_heads = 32, .head_dim = 16, .neox = false};
  const TinyModel wide{
      .q_heads = 64, .kv_heads = 32, .head_dim = 128, .window = 650, .softcap = 5, .sinks = true};
  const TinyModel ragged{.q_heads = 64, .kv_heads = 32, .head_dim = 40, .head_norm = true};
  return {{"heads alone", alone, KvType::kF16},       {"groups of four", groups, KvType::kInt8},
          {"groups of seven", sevens, KvType::kBF16}, {"wide heads, a window", wide, KvType::kF16},
          {"ragged heads", ragged, KvType::kInt8},    {"ragged heads", ragged, KvType::kF32}};
}

Runner on_gpu(const std::shared_ptr<const Graph>& graph, KvType kv,
              const std::function<void(Caps&)>& change) {
  auto device = make_vulkan_device({.poison = true, .k_type = kv, .v_type = kv});
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  Caps caps = (*device)->caps();
  change(caps);
  return Runner(std::move(*device), graph, caps, {}, 2, kPages, kv);
}

// The same keys and values in every page of either device, but NaN where no row has been: behind `seen` positions.
void fill(Runner& r, const Graph& graph, uint32_t seen) {
  for (uint32_t g = 0; g < graph.groups.size(); g++)
    for (uint32_t i = 0; i < kPages; i++) {
      const PageId page = r.table(kSequence, g)[i];
      std::vector<float> rows = random_floats(r.device().export_page(g, page).size(), 100 * g + i + 1);
      size_t at = 0;
      for (const KvLayer& layer : graph.groups[g].layers)
        for (const uint32_t dim : {layer.k_dim, layer.v_dim})
          for (uint32_t p = 0; p < kPageTokens; p++)
            for (uint32_t d = 0; d < layer.heads * dim; d++, at++)
              if (i * kPageTokens + p >= seen) rows[at] = std::nanf("");
      ASSERT_EQ(at, rows.size());
      r.device().import_page(g, page, rows);
    }
}
constexpr uint32_t kSeen = 700;  // in the 11th page

TEST(VulkanDepth, ManyPagesAgreeWithRef) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const auto& [name, model, kv] : cases()) {
    SCOPED_TRACE(fmt::format("{}, {}", name, kv_type_name(kv)));
    const auto graph = build_tiny(model);
    const std::vector<int32_t> ids = random_ids(3, model.vocab, 3);
    Runner gpu = on_gpu(graph, kv, [](Caps& caps) { caps.int8_terms.clear(), caps.rules.clear(); });
    fill(gpu, *graph, kSeen);
    Caps caps = gpu.device().caps();
    caps.int8_terms.clear(), caps.rules.clear();
    Runner ref(make_ref_device({}), graph, caps, {}, 2, kPages);
    for (uint32_t g = 0; g < graph->groups.size(); g++)
      for (uint32_t i = 0; i < kPages; i++)
        ref.device().import_page(g, ref.table(kSequence, g)[i],
                                 gpu.device().export_page(g, gpu.table(kSequence, g)[i]));
    const Logits found = gpu.text(kSequence, ids, kSeen), expected = ref.text(kSequence, ids, kSeen);
    double worst = 0, squares = 0;
    for (size_t i = 0; i < found[0].size(); i++) {
      worst = std::max(worst, std::abs(static_cast<double>(found[0][i]) - expected[0][i]));
      squares += static_cast<double>(expected[0][i]) * expected[0][i];
    }
    EXPECT_LT(worst / std::sqrt(squares / static_cast<double>(found[0].size())),
              kv == KvType::kF32 ? 1e-4 : 5e-3);
  }
}

TEST(VulkanDepth, RowsAndJoinedStepsChangeNoBit) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const auto& [name, model, kv] : cases()) {
    SCOPED_TRACE(fmt::format("{}, {}", name, kv_type_name(kv)));
    const auto graph = build_tiny(model);
    const std::vector<int32_t> ids = random_ids(6, model.vocab, 3);
    const auto rows = [&](size_t chunk, bool joined) {
      Runner r = on_gpu(graph, kv, [&](Caps& caps) {
        if (!joined) caps.rules.clear();
        for (const std::string_view rule : {kFoldNorm, kNormLinear}) caps.rules.erase(rule);
      });
      fill(r, *graph, kSeen);
      Logits all;
      for (size_t i = 0; i < ids.size(); i += chunk)
        for (auto& row : r.text(
                 kSequence, {ids.begin() + static_cast<long>(i), ids.begin() + static_cast<long>(i + chunk)},
                 static_cast<int32_t>(kSeen + i)))
          all.push_back(std::move(row));
      return all;
    };
    const Logits expected = rows(1, true);
    for (const auto& row : expected)
      for (const float x : row) ASSERT_TRUE(std::isfinite(x));
    EXPECT_TRUE(same_bits(expected, rows(6, true)));
    EXPECT_TRUE(same_bits(expected, rows(1, false)));
  }
}

}  // namespace
}  // namespace brass
