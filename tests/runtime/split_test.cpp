// Two devices that share a model compute what one alone does, bit for bit where both are of the same kind.
#include "backend/split/split.h"

#include <algorithm>

#include "model_fixture.h"
#include "sanitized.h"

namespace brass {
namespace {

std::unique_ptr<Device> one_device(const std::string& kind) {
  if (kind == "ref") return make_ref_device({.threads = 1});
  Result<std::unique_ptr<Device>> device = make_cpu_device({.threads = 2});
  EXPECT_TRUE(device.has_value());
  return std::move(*device);
}

std::unique_ptr<Engine> open_split(const std::string& path, const std::string& kind,
                                   const Placement& placement, uint32_t chunk,
                                   const ModelPurpose& purpose = {}) {
  Result<std::unique_ptr<Model>> model = load_model(path, purpose);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().message);
  const KvType kv = kind == "ref" ? KvType::kF32 : KvType::kF16;
  Result<std::unique_ptr<Engine>> engine =
      Engine::create(std::move(*model), make_split_device(one_device(kind), one_device(kind), placement),
                     {.sequences = 2, .chunk = chunk, .k_type = kv, .v_type = kv}, {});
  EXPECT_TRUE(engine.has_value()) << (engine ? "" : engine.error().message);
  return engine ? std::move(*engine) : nullptr;
}

// Those that leave something to both devices. (The last block's rows whose output is wanted are always the first one's.)
std::vector<Placement> placements_of(const std::string& path) {
  const Result<std::unique_ptr<Model>> model = load_model(path);
  EXPECT_TRUE(model.has_value());
  const Graph& graph = *(*model)->graph;
  const uint32_t layers = (*model)->info.layers;
  std::vector<Placement> all;
  for (const Placement& placement :
       {Placement{.first_layers = 1}, Placement{.first_layers = (layers + 1) / 2},
        Placement{.first_layers = layers}, Placement{.first_experts = layers},
        Placement{.first_layers = 1, .first_experts = layers}}) {
    const std::vector<DeviceIndex> devices = place_operations(graph, placement);
    if (std::ranges::count(devices, 1u) > 0 && std::ranges::count(all, placement) == 0)
      all.push_back(placement);
  }
  return all;
}

class Split : public testing::TestWithParam<std::string> {};

// Prompts in chunks, then token by token, two sequences together.
LogitTable all_logits(Engine& engine, const std::vector<int32_t>& ids) {
  LogitTable rows = logits_of(engine, ids);
  const SequenceId a = *engine.create_sequence(), b = *engine.create_sequence();
  EXPECT_TRUE(engine.sync(a, std::span(ids).first(5)).has_value());
  EXPECT_TRUE(engine.sync(b, std::span(ids).first(9)).has_value());
  for (size_t i = 0; i < 4; i++) {
    for (const LogitTable& more : run_all(engine, 2)) rows.insert(rows.end(), more.begin(), more.end());
    EXPECT_TRUE(engine.append(a, ids[5 + i]).has_value());
    EXPECT_TRUE(engine.append(b, ids[9 + i]).has_value());
  }
  return rows;
}

TEST_P(Split, GivesTheBitsOfOneDevice) {
  const TempFolder folder;
  size_t tried = 0;
  for (const std::string& path : all_models(folder)) {
    if (kSanitized && tried++ % 6 != 0) continue;
    const std::unique_ptr<Engine> alone =
        open(path, {.device = GetParam(),
                    .chunk = 24,
                    .sequences = 2,
                    .kv_type = GetParam() == "ref" ? KvType::kF32 : KvType::kF16});
    const std::vector<int32_t> ids = random_ids(*alone, 70, 3);
    const LogitTable wanted = all_logits(*alone, ids);
    for (const Placement& placement : placements_of(path)) {
      SCOPED_TRACE(fmt::format("{}, first blocks {}, first experts {}", path, placement.first_layers,
                               placement.first_experts));
      const std::unique_ptr<Engine> shared = open_split(path, GetParam(), placement, 24);
      ASSERT_NE(shared, nullptr);
      EXPECT_EQ(all_logits(*shared, ids), wanted);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Split, testing::Values("ref", "cpu"));

// Each device keeps what it reads: together one model and one cache, but for the embedding that both may hold.
TEST(SplitMemory, APageIsSharedOut) {
  const TempFolder folder;
  const std::string path = quantized_llama(folder);
  const std::unique_ptr<Engine> alone = open(path, {.device = "ref", .kv_type = KvType::kF32});
  const std::unique_ptr<Engine> shared = open_split(path, "ref", {.first_layers = 2}, 512);
  EXPECT_EQ(shared->kv_bytes() / 2, alone->kv_bytes());  // of two sequences
  const std::vector<int32_t> ids = random_ids(*alone, 40, 5);
  logits_of(*alone, ids);
  logits_of(*shared, ids);
  const std::vector<float> page = alone->device().export_page(0, 0);
  EXPECT_EQ(shared->device().export_page(0, 0), page);
  std::vector<float> other = page;
  for (float& x : other) x += 1;
  shared->device().import_page(0, 1, other);
  EXPECT_EQ(shared->device().export_page(0, 1), other);
  EXPECT_EQ(shared->device().export_page(0, 0), page);
}

TEST(SplitMemory, NothingToShareIsAnError) {
  const TempFolder folder;
  Result<std::unique_ptr<Model>> model = load_model(quantized_llama(folder));
  ASSERT_TRUE(model.has_value());
  const auto engine = Engine::create(
      std::move(*model), make_split_device(one_device("ref"), one_device("ref"), {.first_experts = 1000}),
      {.k_type = KvType::kF32, .v_type = KvType::kF32}, {});
  ASSERT_FALSE(engine.has_value());
  EXPECT_NE(engine.error().message.find("no part of the model is left for ref"), std::string::npos)
      << engine.error().message;
}

// The plan that is executed holds each operation once, and its cost is that of one device's and what goes between.
TEST(SplitPlan, CostsWhatOneDevicesDoes) {
  const TempFolder folder;
  const std::string path = quantized_llama(folder);
  const std::unique_ptr<Engine> alone = open(path, {.device = "ref", .kv_type = KvType::kF32});
  const std::unique_ptr<Engine> shared = open_split(path, "ref", {.first_layers = 1}, 512);
  const auto whole = alone->plan_for(1, 1), parts = shared->plan_for(1, 1);
  ASSERT_TRUE(whole.has_value() && parts.has_value());
  const Sizes sizes{.t = 1, .r = 1, .s = 100};
  const Cost a = plan_cost(**whole, sizes), b = plan_cost(**parts, sizes);
  EXPECT_EQ(a.weight_bytes, b.weight_bytes);
  EXPECT_EQ(a.kv_read, b.kv_read);
  EXPECT_EQ((*parts)->segments.size(), 2u);
  EXPECT_EQ((*parts)->moved_bytes(1), 256 * sizeof(float));  // the residual
}

}  // namespace
}  // namespace brass
