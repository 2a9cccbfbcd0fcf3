// The printed plan of a small model, for two kinds of device, kept as text (golden/). When a change to the
// plan is meant, the message says what to copy where.
#include "plan/explain.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "golden_text.h"
#include "graph_builder.h"
#include "profiles.h"
#include "source_dir.h"

namespace brass {
namespace {

void expect_golden(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(source_dir()) / "tests/plan/golden" / name;
  const auto actual = std::filesystem::temp_directory_path() / name;
  if (!expect_golden_text(path, text, "cp " + actual.string() + " " + path.string()))
    std::ofstream(actual) << text;
}

std::string explained(const TinyModel& model, PlanKey key, const Caps& caps, uint64_t depth) {
  return explain(**compile(build_tiny(model), key, caps), key.t, key.r, depth);
}

TEST(Explain, Golden) {
  TinyModel one_layer = gemma_like();
  one_layer.layers = 2;
  expect_golden("decode_plain.txt", explained(one_layer, {1, 1}, plain_profile(), 100));
  expect_golden("decode_fused.txt", explained(one_layer, {1, 1}, fused_profile(), 100));
  expect_golden("prefill_fused.txt", explained(one_layer, {64, 1}, fused_profile(), 0));
  expect_golden("prefill_no_logits_fused.txt", explained(one_layer, {64, 0}, fused_profile(), 64));
}

TEST(Explain, RowsAreThePlan) {
  const auto plan = *compile(build_tiny(gemma_like()), {1, 1}, fused_profile());
  const std::vector<StepRow> rows = explain_rows(*plan, 1, 1, 10);
  ASSERT_EQ(rows.size(), plan->steps.size());
  for (size_t i = 0; i < rows.size(); i++) {
    EXPECT_EQ(rows[i].barrier, plan->steps[i].barrier);
    EXPECT_EQ(rows[i].rule.empty(), plan->steps[i].ops.size() == 1);
    EXPECT_EQ(rows[i].cost.weight_bytes, step_cost(*plan, plan->steps[i], {1, 1, 10}).weight_bytes);
  }
}

TEST(Explain, ExpertsAreThoseThatAStepReads) {
  const auto graph = build_tiny(expert_model());
  const auto text = [&](uint32_t t) { return explain(**compile(graph, {t, 1}, fused_profile()), t, 1, 0); };
  EXPECT_NE(text(1).find("Q4_0 672x96 (3.0 of 7 experts)"), std::string::npos) << text(1);
  EXPECT_NE(text(2).find("Q4_0 672x96 (4.7 of 7 experts)"), std::string::npos) << text(2);
}

}  // namespace
}  // namespace brass
