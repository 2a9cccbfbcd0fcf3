// Rotation tables from a file's keys. Expected frequencies: the papers' formulas in Python's f64; whole models with
// scaled rotation are judged in tests/runtime.
#include <gtest/gtest.h>

#include "gguf/synth.h"
#include "model/rope_scaling.h"
#include "temp_folder.h"

namespace brass {
namespace {

using gguf::MetaValue;

constexpr uint32_t kRotated = 16;

struct Rope {
  std::vector<std::pair<std::string, MetaValue>> keys;
  std::vector<gguf::SynthTensor> tensors = {};
  RopeForm form = {};

  Result<RopeTableAttrs> read() const {
    const TempFolder folder;
    gguf::SynthSpec spec{.architecture = "x", .metadata = keys, .tensors = tensors};
    spec.metadata.emplace_back("x.context_length", MetaValue(uint32_t{4096}));
    const std::string path = folder / "rope.gguf";
    TRY_VOID(gguf::synthesize(spec, path));
    const gguf::File file = TRY(gguf::File::open(path));
    Builder b(file, "x");
    return read_rope(b, kRotated, form);
  }
  std::string error() const {
    const auto table = read();
    return table ? "" : table.error().message;
  }
};

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++) EXPECT_NEAR(found[i], expected[i], 1e-6f * expected[i]) << i;
}

Rope yarn() {
  return {{{"x.rope.scaling.type", MetaValue("yarn")}, {"x.rope.scaling.factor", MetaValue(8.0f)}}};
}

TEST(Rope, YarnRampIsWholeOrNot) {
  Rope r = yarn();
  expect_near(r.read()->inv_freq,
              {1.0f, 0.31622777f, 0.1f, 0.024705294f, 0.005625f, 0.0010870329f, 0.000125f, 3.9528471e-05f});
  r.form.whole_ramp = false;
  expect_near(r.read()->inv_freq, {1.0f, 0.31622777f, 0.1f, 0.028112081f, 0.0059831334f, 0.00097285776f,
                                   0.000125f, 3.9528471e-05f});
}

TEST(Rope, YarnMagnitude) {
  Rope r = yarn();
  EXPECT_FLOAT_EQ(r.read()->magnitude, 1.2079442f);  // 0.1 ln 8 + 1
  r.keys.emplace_back("x.rope.scaling.attn_factor", MetaValue(0.5f));
  EXPECT_FLOAT_EQ(r.read()->magnitude, 0.60397208f);
  r.keys.emplace_back("x.rope.scaling.yarn_log_multiplier", MetaValue(1.0f));
  EXPECT_NE(r.error().find("yarn_log_multiplier"), std::string::npos) << r.error();
  r.form.log_multiplier = true;
  EXPECT_FLOAT_EQ(r.read()->magnitude, 0.5f);
  r.keys.emplace_back("x.rope.scaling.yarn_attn_factor", MetaValue(3.0f));
  EXPECT_FLOAT_EQ(r.read()->magnitude, 1.5f);
}

TEST(Rope, WhatIsNotSupportedIsNamed) {
  Rope r = yarn();
  r.keys.emplace_back("x.rope.scaling.yarn_ext_factor", MetaValue(0.5f));
  EXPECT_NE(r.error().find("yarn_ext_factor"), std::string::npos) << r.error();
  const Rope dynamic{{{"x.rope.scaling.type", MetaValue("dynamic")}}};
  EXPECT_NE(dynamic.error().find("'dynamic', which is not supported"), std::string::npos) << dynamic.error();
}

// Factors of 2 and 4 (no noise: magnitude is not 0 but next to nothing).
Rope longrope() {
  const auto factors = [](const char* name, float value) {
    return gguf::SynthTensor{name, {kRotated / 2}, Type::F32, 1e-12f, value};
  };
  return {{{"x.rope.scaling.original_context_length", MetaValue(uint32_t{1000})},
           {"x.rope.scaling.attn_factor", MetaValue(1.25f)}},
          {factors("rope_factors_short.weight", 2), factors("rope_factors_long.weight", 4)}};
}

TEST(Rope, LongFactorsGoByTheContext) {
  const RopeTableAttrs table = *longrope().read();
  const RopeTableAttrs plain = plain_rope(kRotated, 10000);
  EXPECT_EQ(table.magnitude, 1.25f);
  const auto fitted = [&](uint32_t context) {
    Graph graph;
    graph.ops.push_back({.kind = OpKind::kRopeTable, .name = "table", .attrs = table});
    EXPECT_TRUE(graph.fit_context(context));
    EXPECT_FALSE(graph.fit_context(context));  // settled
    return graph.ops[0].as<RopeTableAttrs>().inv_freq;
  };
  std::vector<float> half = plain.inv_freq, quarter = plain.inv_freq;
  for (float& f : half) f /= 2;
  for (float& f : quarter) f /= 4;
  expect_near(fitted(1000), half);
  expect_near(fitted(1001), quarter);
}

TEST(Rope, LongFactorsComeInPairs) {
  Rope r = longrope();
  r.tensors.pop_back();
  EXPECT_NE(r.error().find("rope_factors_long.weight"), std::string::npos) << r.error();
  const Rope named{{{"x.rope.scaling.type", MetaValue("longrope")}}};
  EXPECT_NE(named.error().find("rope_factors_"), std::string::npos) << named.error();
}

}  // namespace
}  // namespace brass
