// Every family's plan as text: which steps, kernels, rules, barriers and operands, in decode and in a prompt. Layers
// that equal an earlier one but for their number are one line. BRASS_WRITE_GOLDEN=1 writes the texts (golden/families)
// anew; the difference is for the eye.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

#include "golden_text.h"
#include "model/model.h"
#include "plan/explain.h"
#include "profiles.h"
#include "shared_data.h"
#include "source_dir.h"

namespace brass {
namespace {

namespace fs = std::filesystem;

int32_t layer_of(const Plan& plan, const Step& step) { return plan.ops[step.ops.back()].layer; }

// "blk.3.attn_q[T,64]@1280*" → "attn_q[T,64]*".
std::string plain(const std::string& text) {
  static const std::regex kBlock(R"(blk\.\d+\.)"), kOffset(R"(@\d+)"),
      kGroup(R"((kv|state|latent|window)\w*:\d+)");
  return std::regex_replace(std::regex_replace(std::regex_replace(text, kBlock, ""), kOffset, ""), kGroup,
                            "$1");
}

// Steps by layer, in order; the parts before and after the layers are "start" and "end".
std::string structure(const Plan& plan, uint64_t t, uint64_t r) {
  const std::vector<StepRow> rows = explain_rows(plan, t, r, 0);
  std::vector<std::pair<std::string, std::string>> parts;  // name, text
  for (size_t i = 0; i < rows.size(); i++) {
    const int32_t layer = layer_of(plan, plan.steps[i]);
    const std::string name = layer >= 0 ? fmt::format("layer {}", layer) : parts.size() > 1 ? "end" : "start";
    if (parts.empty() || parts.back().first != name) parts.emplace_back(name, "");
    const StepRow& row = rows[i];
    parts.back().second +=
        fmt::format("  {} {:24} {}{} {}\n", row.barrier ? '|' : ' ', plain(row.step), plain(row.kernel),
                    row.rule.empty() || row.kernel.starts_with(row.rule) ? "" : " (" + row.rule + ")",
                    plain(row.operands));
  }
  std::map<std::string, std::string> seen;  // text → name
  std::string out;
  for (const auto& [name, text] : parts) {
    const auto [first, is_new] = seen.emplace(text, name);
    out += is_new ? name + "\n" + text : name + ": as " + first->second + "\n";
  }
  return out;
}

std::string plan_text(const std::shared_ptr<const Graph>& graph, const std::string& title, PlanKey key) {
  const auto plan = compile(graph, key, fused_profile());
  if (!plan) return plan.error().message;
  return fmt::format("== {}\n{}", title, structure(**plan, key.t, key.r));
}

// Of a model with drafts, the trunk makes its hidden rows; a draft's prompt is its keys and values.
std::string family_text(const Model& model) {
  const bool hidden = !model.drafts.empty();
  std::string out = plan_text(model.graph, "decode", {1, 1, hidden});
  out += plan_text(model.graph, "prefill:32", {32, 1, hidden});
  for (const auto& draft : model.drafts) {
    out += plan_text(draft, draft->part, {1, 1, true});
    out += plan_text(draft, draft->part + ", prompt", {32, 0, false});
  }
  return out;
}

void expect_golden(const fs::path& path, const std::string& text) {
  if (std::getenv("BRASS_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  expect_golden_text(path, text, "run again with BRASS_WRITE_GOLDEN=1");
}

TEST(FamilyGolden, Explain) {
  const fs::path source(source_dir());
  std::vector<std::pair<fs::path, ModelPurpose>> files;
  const auto collect = [&](const fs::path& folder, const ModelPurpose& purpose = {}) {
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".gguf") files.emplace_back(entry.path(), purpose);
  };
  collect(source / "tests/runtime/fixtures");
  collect(source / "tests/runtime/fixtures/embeddings", {.embeddings = true});
  collect(source / "tests/runtime/fixtures/drafts", {.draft = true});
  if (const auto tiny = shared_data("tiny")) collect(*tiny);
  std::ranges::sort(files, {}, [](const auto& file) { return file.first; });
  ASSERT_FALSE(files.empty());
  for (const auto& [file, purpose] : files) {
    const auto model = load_model(file, purpose);
    ASSERT_TRUE(model.has_value()) << model.error().message;
    expect_golden(source / "tests/plan/golden/families" / (file.stem().string() + ".txt"),
                  family_text(**model));
  }
}

}  // namespace
}  // namespace brass
