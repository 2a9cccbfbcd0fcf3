// Embeddings: tiny random models against transformers' float32, and what must not change a bit of them.
#include "runtime/embedding.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "model_fixture.h"
#include "source_dir.h"

namespace brass {
namespace {

using Json = nlohmann::ordered_json;
using Texts = std::vector<std::vector<int32_t>>;

struct Reference {
  std::string name, path;
  Json values;
  Texts texts() const { return values["texts"].get<Texts>(); }
};

std::vector<Reference> references() {
  std::vector<Reference> found;
  const std::string folder = source_dir() + "/tests/runtime/fixtures/embeddings";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::filesystem::path model = entry.path();
    model.replace_extension(".gguf");
    std::ifstream in(entry.path());
    found.push_back({entry.path().stem().string(), model.string(), Json::parse(in)});
  }
  std::ranges::sort(found, {}, &Reference::name);
  EXPECT_FALSE(found.empty());
  return found;
}

std::vector<Embedding> embedded(const std::string& path, const Texts& texts, const Setting& setting,
                                std::optional<Pooling> pooling = {}, bool normalize = false) {
  const auto engine = open(path, setting, {.embeddings = true, .pooling = pooling, .normalize = normalize});
  auto found = embed(*engine, texts);
  EXPECT_TRUE(found.has_value()) << (found ? "" : found.error().message);
  return found ? std::move(*found) : std::vector<Embedding>();
}

double worst_difference(std::span<const float> found, const Json& expected) {
  EXPECT_EQ(found.size(), expected.size());
  double worst = 0;
  for (size_t i = 0; i < found.size(); i++)
    worst = std::max(worst, std::abs(static_cast<double>(found[i]) - expected[i].get<double>()));
  return worst;
}

// `bound`: of the last hidden rows' standard deviation.
void check(const Reference& r, Setting setting, double bound) {
  SCOPED_TRACE(r.name + " " + setting.device);
  setting.sequences = 3;
  const Texts texts = r.texts();
  const double spread = r.values["std"].get<double>();
  for (const Pooling pooling : {Pooling::kMean, Pooling::kFirst, Pooling::kLast}) {
    const std::vector<Embedding> found = embedded(r.path, texts, setting, pooling);
    ASSERT_EQ(found.size(), texts.size());
    for (size_t i = 0; i < texts.size(); i++) {
      ASSERT_EQ(found[i].rows, 1u);
      const Json& expected = r.values[std::string(pooling_name(pooling))][i];
      EXPECT_LT(worst_difference(found[i].row(0), expected) / spread, bound)
          << pooling_name(pooling) << " of text " << i;
    }
  }
  const std::vector<Embedding> rows = embedded(r.path, {texts[1]}, setting, Pooling::kNone);
  ASSERT_EQ(rows[0].rows, texts[1].size());
  for (uint32_t i = 0; i < rows[0].rows; i++)
    EXPECT_LT(worst_difference(rows[0].row(i), r.values["rows"][i]) / spread, bound) << "row " << i;
}

TEST(Embeddings, RefAgreesWithTransformers) {
  for (const Reference& r : references()) check(r, {.device = "ref", .kv_type = KvType::kF32}, 1e-4);
}

// With experts the cache's rounding can choose another one where two are nearly equal, which costs any bound.
TEST(Embeddings, CpuAgreesWithTransformers) {
  for (const Reference& r : references()) {
    check(r, {.device = "cpu", .kv_type = KvType::kF32}, 2e-2);
    if (r.values["arch"] != "nomic-bert-moe") check(r, {.device = "cpu"}, 2e-2);
  }
}

TEST(Embeddings, TheFilesSayHowTheyPool) {
  for (const Reference& r : references()) {
    const auto model = load_model(r.path);
    ASSERT_TRUE(model.has_value()) << model.error().message;
    EXPECT_EQ((*model)->info.architecture, r.values["arch"].get<std::string>());
    ASSERT_TRUE((*model)->info.pooling.has_value()) << r.name;
    EXPECT_EQ(pooling_name(*(*model)->info.pooling), r.values["pooling"].get<std::string>()) << r.name;
  }
}

TEST(Embeddings, NormalizedOnesHaveLengthOneAndTheSameDirection) {
  for (const Reference& r : references()) {
    for (const char* device : {"ref", "cpu"}) {
      const Setting setting{.device = device, .kv_type = KvType::kF32};
      const auto plain = embedded(r.path, r.texts(), setting, {}, false);
      const auto unit = embedded(r.path, r.texts(), setting, {}, true);
      for (size_t i = 0; i < plain.size(); i++) {
        const auto squares = [](const Embedding& e) {
          return std::inner_product(e.values.begin(), e.values.end(), e.values.begin(), 0.0);
        };
        EXPECT_NEAR(squares(unit[i]), 1, 1e-5);
        const double length = std::sqrt(squares(plain[i]));
        for (size_t d = 0; d < plain[i].values.size(); d++)
          ASSERT_NEAR(unit[i].values[d], plain[i].values[d] / length, 1e-6) << r.name << " " << device;
      }
    }
  }
}

// ---- determinism

TEST(Embeddings, CompanyOrderThreadsAndHistoryChangeNothing) {
  const std::string tiers = cpu_tier_names();
  for (const Reference& r : references()) {
    for (size_t at = 0; at < tiers.size();) {
      const size_t comma = std::min(tiers.find(", ", at), tiers.size());
      const std::string isa = tiers.substr(at, comma - at);
      at = comma + 2;
      if (!make_cpu_device({.threads = 1, .isa = isa})) {
        std::printf("[  SKIPPED ] tier %s: this machine lacks it\n", isa.c_str());
        continue;
      }
      SCOPED_TRACE(r.name + " " + isa);
      Texts texts = r.texts();
      std::vector<std::vector<float>> alone;
      for (const auto& text : texts)
        alone.push_back(embedded(r.path, {text}, {.isa = isa, .threads = 1})[0].values);
      std::ranges::reverse(texts);
      std::ranges::reverse(alone);
      for (const uint32_t threads : {1u, 3u})
        for (const uint32_t sequences : {1u, 2u, 4u}) {
          const auto together =
              embedded(r.path, texts, {.isa = isa, .threads = threads, .chunk = 16, .sequences = sequences});
          for (size_t i = 0; i < texts.size(); i++)
            EXPECT_EQ(together[i].values, alone[i]) << threads << " threads, " << sequences << " sequences";
        }
    }
  }
}

// ---- whole texts

const Reference& encoder_reference() {
  static const std::vector<Reference> all = references();
  return *std::ranges::find(all, "bert",
                            [](const Reference& r) { return r.values["arch"].get<std::string>(); });
}

TEST(Embeddings, ATextIsProcessedWholeAndAnew) {
  const Reference& r = encoder_reference();
  const auto engine = open(r.path, {.chunk = 8}, {.embeddings = true});
  const SequenceId id = *engine->create_sequence();
  const std::vector<int32_t> text = r.texts().back();
  ASSERT_GT(text.size(), 8u);
  for (int again = 0; again < 2; again++) {
    const SyncInfo info = *engine->sync(id, text);
    EXPECT_EQ(info.reused, 0u);
    EXPECT_EQ(info.to_process, text.size());
    ASSERT_EQ(engine->step()->size(), 1u);
    EXPECT_FALSE(engine->has_work());
  }
  EXPECT_FALSE(engine->append(id, 1).has_value());
}

// A causal decoder's last row needs no whole text: steps may cut it.
TEST(Embeddings, LastRowsOfDecodersComeInSteps) {
  for (const Reference& r : references()) {
    if (r.values["arch"] != "qwen3") continue;
    const auto whole = embedded(r.path, r.texts(), {}, Pooling::kLast);
    const auto cut = embedded(r.path, r.texts(), {.chunk = 7}, Pooling::kLast);
    const auto engine = open(r.path, {.chunk = 7}, {.embeddings = true});
    EXPECT_FALSE(engine->model().graph->needs_whole_texts());
    for (size_t i = 0; i < whole.size(); i++) EXPECT_EQ(whole[i].values, cut[i].values);
  }
}

TEST(Embeddings, TextsThatCannotBeAreNamed) {
  const Reference& r = encoder_reference();
  const auto engine = open(r.path, {}, {.embeddings = true});
  const std::vector<int32_t> good = {1, 2, 3}, longer(engine->context() + 1, 5), strange = {1, 100000};
  for (const auto& [bad, words] : {std::pair<std::vector<int32_t>, std::string>{{}, "empty"},
                                   {longer, "maximum context length"},
                                   {strange, "token id 100000"}}) {
    const auto found = embed(*engine, Texts{good, bad});
    ASSERT_FALSE(found.has_value());
    EXPECT_NE(found.error().message.find("text 1"), std::string::npos) << found.error().message;
    EXPECT_NE(found.error().message.find(words), std::string::npos) << found.error().message;
    // Nothing is left behind.
    EXPECT_TRUE(embed(*engine, Texts{good}).has_value());
  }
}

TEST(Embeddings, EncodersHaveNoLogits) {
  const auto decoder = load_model(source_dir() + "/tests/runtime/fixtures/qwen3-c.gguf");
  ASSERT_TRUE(decoder.has_value());
  EXPECT_TRUE(need_decoding(**decoder, "brass run").has_value());
  EXPECT_FALSE(need_decoding(**load_model(encoder_reference().path), "brass run").has_value());
  const auto model = load_model(encoder_reference().path);
  ASSERT_TRUE(model.has_value());
  const Result<> needed = need_logits(**model, "brass eval");
  ASSERT_FALSE(needed.has_value());
  EXPECT_NE(needed.error().message.find("brass eval"), std::string::npos);
  EXPECT_NE(needed.error().hint.find("brass embed"), std::string::npos);
}

// Any decoder can be asked for embeddings; its head is left out.
TEST(Embeddings, DecodersWithoutPoolingAreAsked) {
  const TempFolder folder;
  for (const std::string& path : all_models(folder)) {
    SCOPED_TRACE(path);
    const Texts texts = {{5, 9, 2, 7, 7, 1}, {3}};
    EXPECT_FALSE((*load_model(path))->info.pooling.has_value());
    const auto rows = embedded(path, texts, {.device = "ref", .kv_type = KvType::kF32}, Pooling::kNone);
    const auto mean = embedded(path, texts, {.device = "ref", .kv_type = KvType::kF32}, Pooling::kMean);
    for (size_t i = 0; i < texts.size(); i++) {
      ASSERT_EQ(rows[i].rows, texts[i].size());
      for (uint32_t d = 0; d < mean[i].width; d++) {
        double sum = 0;
        for (uint32_t row = 0; row < rows[i].rows; row++) sum += static_cast<double>(rows[i].row(row)[d]);
        ASSERT_NEAR(mean[i].row(0)[d], sum / rows[i].rows, 1e-5 * (1 + std::abs(sum)));
      }
    }
  }
}

}  // namespace
}  // namespace brass
