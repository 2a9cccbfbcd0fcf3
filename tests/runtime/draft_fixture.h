// The tiny models with blocks that predict further tokens (tools/oracles/mtp_reference.py), and what their references
// say of an engine.
#pragma once

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model_fixture.h"
#include "source_dir.h"

namespace brass {

struct DraftReference {
  std::string name, path;
  nlohmann::ordered_json values;
  std::vector<int32_t> ids() const { return values["ids"].get<std::vector<int32_t>>(); }
  bool has_experts() const { return !name.starts_with("qwen35-"); }
};

inline std::vector<DraftReference> draft_references() {
  std::vector<DraftReference> found;
  const std::string folder = source_dir() + "/tests/runtime/fixtures/drafts";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::filesystem::path model = entry.path();
    model.replace_extension(".gguf");
    std::ifstream in(entry.path());
    found.push_back({entry.path().stem().string(), model.string(), nlohmann::ordered_json::parse(in)});
  }
  std::ranges::sort(found, {}, &DraftReference::name);
  EXPECT_FALSE(found.empty());
  return found;
}

inline DraftReference draft_reference(const std::string& name) {
  for (DraftReference& r : draft_references())
    if (r.name == name) return std::move(r);
  ADD_FAILURE() << "no reference " << name;
  return {};
}

inline std::vector<float> flat(const LogitTable& rows) {
  std::vector<float> all;
  for (const std::vector<float>& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

// What the scheduled tokens of one sequence make: logits as it wants them, and hidden rows, by position.
struct TrunkRows {
  std::map<uint32_t, std::vector<float>> logits, hidden;
};
inline TrunkRows run_trunk(Engine& engine) {
  TrunkRows rows;
  while (engine.has_work()) {
    const auto made = engine.step();
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    if (!made) break;
    for (const StepRows& r : *made)
      for (uint32_t i = 0; i < r.count; i++) {
        const std::span<const float> row = engine.logits(r.first_row + i);
        rows.logits[r.first_position + i].assign(row.begin(), row.end());
      }
    for (const StepRows& r : engine.hidden_rows())
      for (uint32_t i = 0; i < r.count; i++) {
        const std::span<const float> row = engine.hidden(r.first_row + i);
        rows.hidden[r.first_position + i].assign(row.begin(), row.end());
      }
  }
  return rows;
}

// The hidden rows of a text, position by position, in a new sequence that keeps it.
inline std::pair<SequenceId, LogitTable> hidden_text(Engine& engine, const std::vector<int32_t>& ids) {
  const SequenceId id = *engine.create_sequence();
  engine.want_hidden(id, true);
  EXPECT_TRUE(engine.sync(id, ids).has_value());
  LogitTable rows;
  for (auto& [position, row] : run_trunk(engine).hidden) rows.push_back(std::move(row));
  EXPECT_EQ(rows.size(), ids.size());
  return {id, rows};
}

struct Drafted {
  LogitTable logits, hidden;  // a row each
};

// Rows from `first` on, `cut` at a time.
inline Drafted run_draft(Engine& engine, SequenceId id, uint32_t block, uint32_t first,
                         const std::vector<int32_t>& tokens, const LogitTable& hidden, uint32_t cut = 512) {
  Drafted out;
  EXPECT_EQ(tokens.size(), hidden.size());
  for (size_t at = 0; at < tokens.size(); at += cut) {
    const size_t n = std::min<size_t>(cut, tokens.size() - at);
    const auto from = hidden.begin() + static_cast<ptrdiff_t>(at);
    const std::vector<float> given = flat(LogitTable(from, from + static_cast<ptrdiff_t>(n)));
    const Result<> done = engine.draft(id, {.block = block,
                                            .first = first + static_cast<uint32_t>(at),
                                            .tokens = std::span(tokens).subspan(at, n),
                                            .hidden = given,
                                            .logits = LogitRows::kAll,
                                            .want_hidden = true});
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
    if (!done) return out;
    for (uint32_t i = 0; i < n; i++) {
      const std::span<const float> logits = engine.logits(i);
      out.logits.emplace_back(logits.begin(), logits.end());
      const std::span<const float> row = engine.hidden(i);
      out.hidden.emplace_back(row.begin(), row.end());
    }
  }
  return out;
}

inline double worst_difference(std::span<const float> found, const nlohmann::ordered_json& expected) {
  EXPECT_EQ(found.size(), expected.size());
  double worst = 0;
  for (size_t i = 0; i < std::min(found.size(), expected.size()); i++)
    worst = std::max(worst, std::abs(static_cast<double>(found[i]) - expected[i].get<double>()));
  return worst;
}

// Trunk, blocks and chain of an engine against the reference. `bound`: of the logits' standard deviation, and of hidden
// rows, which have about 1.
inline void expect_reference(const DraftReference& r, Engine& engine, double bound) {
  const auto [id, hidden] = hidden_text(engine, r.ids());
  for (size_t i = 0; i < hidden.size(); i++)
    EXPECT_LT(worst_difference(hidden[i], r.values["hidden"][i]), bound) << "trunk, position " << i;
  const double spread = r.values["std"].get<double>();
  LogitTable given = hidden;
  for (uint32_t block = 0; block < r.values["drafts"].size(); block++) {
    SCOPED_TRACE(fmt::format("block {}", block));
    const auto& expected = r.values["drafts"][block];
    const auto tokens = expected["tokens"].get<std::vector<int32_t>>();
    given.resize(tokens.size());
    Drafted made = run_draft(engine, id, block, 0, tokens, given);
    ASSERT_EQ(made.logits.size(), tokens.size());
    for (size_t i = 0; i < tokens.size(); i++) {
      EXPECT_LT(worst_difference(made.logits[i], expected["logits"][i]) / spread, bound) << "row " << i;
      EXPECT_LT(worst_difference(made.hidden[i], expected["hidden"][i]), bound) << "row " << i;
    }
    given = made.hidden;
  }
  std::vector<float> last = given.back();
  for (const auto& step : r.values["chain"]) {
    const auto position = step["position"].get<uint32_t>();
    const Drafted made = run_draft(engine, id, 0, position, {step["token"].get<int32_t>()}, {last});
    ASSERT_EQ(made.logits.size(), 1u);
    EXPECT_LT(worst_difference(made.logits[0], step["logits"]) / spread, bound)
        << "chain, position " << position;
    last = made.hidden[0];
  }
  engine.drop(id);
}

}  // namespace brass
