// Drives a Device with a graph that has one operation with a state.
#pragma once

#include <gtest/gtest.h>

#include <array>

#include "device_harness.h"

namespace brass {

// Rows of one sequence in a step: ids [begin, end) of its text, and where its state comes from and goes to.
struct StateRows {
  int32_t begin, end;
  StatePages pages;
  std::vector<std::pair<int32_t, PageId>> snapshots = {};  // row of the text, page
  uint32_t padding = 0;                                    // rows of nobody before these
};

class StateRunner {
 public:
  static constexpr uint32_t kPages = 12;

  StateRunner(std::unique_ptr<Device> device, std::shared_ptr<const Graph> graph,
              std::vector<std::string> without = {})
      : device_(std::move(device)), graph_(std::move(graph)), without_(std::move(without)) {
    const Result<> valid = graph_->validate();
    EXPECT_TRUE(valid.has_value()) << (valid ? "" : valid.error().message);
    EXPECT_TRUE(device_->upload(*graph_, {}, [](const Weight&) {}).has_value());
    const PoolSpec pool{kPages, KvType::kF32, KvType::kF32};
    EXPECT_TRUE(device_->allocate(*graph_, {&pool, 1}).has_value());
  }

  // The output of every row, padding included; each part is a sequence of its own. Row i of a text is row i of the
  // inputs, wherever it stands.
  Logits step(const std::vector<StateRows>& parts) {
    std::vector<int32_t> ids, sequences;
    std::vector<StatePages> states;
    std::vector<PageId> snapshots;
    for (const StateRows& part : parts) {
      for (uint32_t i = 0; i < part.padding; i++) {
        ids.push_back(0);
        sequences.push_back(-1);
        snapshots.push_back(-1);
      }
      for (int32_t i = part.begin; i < part.end; i++) {
        ids.push_back(i);
        sequences.push_back(static_cast<int32_t>(states.size()));
        snapshots.push_back(-1);
        for (const auto& [row, page] : part.snapshots)
          if (row == i) snapshots.back() = page;
      }
      states.push_back(part.pages);
    }
    const std::vector<PageTable> tables(states.size());
    const auto t = static_cast<uint32_t>(ids.size());
    const auto plan = device_->compile(graph_, {t, 1}, without_);
    EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
    const PlanHandle handle = *device_->prepare(*plan);
    const std::vector<int32_t> rows = {0};
    if (std::ranges::all_of(snapshots, [](PageId page) { return page < 0; })) snapshots.clear();
    const Result<> ran = device_->run(handle, {.ids = ids,
                                               .positions = ids,
                                               .sequences = sequences,
                                               .rows = rows,
                                               .page_tables = tables,
                                               .states = states,
                                               .snapshots = snapshots});
    EXPECT_TRUE(ran.has_value()) << (ran ? "" : ran.error().message);
    Logits out;
    for (uint32_t i = 0; i < t; i++) {
      const std::span<const float> row = device_->read(handle, graph_->logits, i);
      out.emplace_back(row.begin(), row.end());
    }
    return out;
  }

  std::vector<float> state(PageId page) const { return device_->export_page(0, page); }
  Device& device() { return *device_; }

 private:
  std::unique_ptr<Device> device_;
  std::shared_ptr<const Graph> graph_;
  std::vector<std::string> without_;  // rules
};

inline constexpr uint32_t kStateTexts = 256;  // rows of input

// A second layer in the same group, before the one that is used: offsets within a page are not zero.
inline uint32_t state_group(GraphBuilder& b, uint32_t values) {
  return b.group({.name = "state", .kind = GroupKind::kState, .states = {21, values}});
}

inline std::shared_ptr<const Graph> conv_graph(uint32_t channels, uint32_t taps, bool bias, bool silu) {
  GraphBuilder b;
  const ValueId u = b.input("u", channels, random_floats(size_t{kStateTexts} * channels, 1));
  const uint32_t group = state_group(b, channels * (taps - 1));
  std::vector<WeightId> weights = {b.vector("taps", random_floats(size_t{channels} * taps, 2))};
  if (bias) weights.push_back(b.vector("bias", random_floats(channels, 3)));
  return b.finish(b.op(OpKind::kConv1d, "conv", {u}, Rows::kT, channels, weights,
                       ConvAttrs{.group = group, .layer = 1, .taps = taps, .bias = bias, .silu = silu}));
}

inline std::shared_ptr<const Graph> delta_graph(uint32_t k_heads, uint32_t v_heads, uint32_t k_dim,
                                                uint32_t v_dim, bool tiled) {
  GraphBuilder b;
  const uint32_t width = 2 * k_heads * k_dim + v_heads * v_dim;
  const ValueId qkv = b.input("qkv", width, random_floats(size_t{kStateTexts} * width, 1));
  const ValueId beta = b.input("b", v_heads, random_floats(size_t{kStateTexts} * v_heads, 2, 2));
  const ValueId a = b.input("a", v_heads, random_floats(size_t{kStateTexts} * v_heads, 3, 4));
  const uint32_t group = state_group(b, v_heads * k_dim * v_dim);
  std::vector<float> decay = random_floats(v_heads, 4), dt = random_floats(v_heads, 5, 3);
  for (float& x : decay) x = -0.2f * std::fabs(x) - 0.01f;
  return b.finish(b.op(OpKind::kDeltaNet, "delta", {qkv, beta, a}, Rows::kT, v_heads * v_dim,
                       {b.vector("A", decay), b.vector("dt", dt)},
                       DeltaAttrs{group, 1, k_heads, v_heads, k_dim, v_dim, tiled}));
}

inline std::shared_ptr<const Graph> ssm_graph(uint32_t heads, uint32_t dim, uint32_t state, uint32_t groups) {
  GraphBuilder b;
  const uint32_t width = heads * dim + 2 * groups * state;
  const ValueId x = b.input("xBC", width, random_floats(size_t{kStateTexts} * width, 1));
  const ValueId dt = b.input("dt", heads, random_floats(size_t{kStateTexts} * heads, 2, 4));
  const uint32_t group = state_group(b, heads * dim * state);
  std::vector<float> decay = random_floats(heads, 4), skip = random_floats(heads, 5),
                     bias = random_floats(heads, 6, 3);
  for (float& a : decay) a = -0.2f * std::fabs(a) - 0.01f;
  return b.finish(b.op(OpKind::kSsmScan, "scan", {x, dt}, Rows::kT, heads * dim,
                       {b.vector("A", decay), b.vector("D", skip), b.vector("dt", bias)},
                       SsmAttrs{group, 1, heads, dim, state, groups}));
}

struct StateCase {
  std::string name;
  std::function<std::shared_ptr<const Graph>()> graph;
};
inline void PrintTo(const StateCase& c, std::ostream* out) { *out << c.name; }

// Ragged and usual shapes.
inline std::vector<StateCase> state_cases() {
  std::vector<StateCase> cases;
  const auto add = [&](std::string name, auto make) { cases.push_back({std::move(name), make}); };
  add("conv_1_tap", [] { return conv_graph(5, 1, true, false); });
  add("conv_2_taps", [] { return conv_graph(16, 2, false, false); });
  add("conv_3_taps_wide", [] { return conv_graph(200, 3, false, true); });
  add("conv_4_taps", [] { return conv_graph(77, 4, true, true); });
  add("conv_9_taps", [] { return conv_graph(130, 9, true, false); });
  add("delta_1_head_16", [] { return delta_graph(1, 1, 16, 16, true); });
  add("delta_2_4_heads_tiled_24", [] { return delta_graph(2, 4, 24, 24, true); });
  add("delta_2_4_heads_grouped_24", [] { return delta_graph(2, 4, 24, 24, false); });
  add("delta_1_5_heads_7_to_41", [] { return delta_graph(1, 5, 7, 41, false); });
  add("delta_2_heads_128", [] { return delta_graph(1, 2, 128, 128, true); });
  add("delta_3_heads_40_to_96", [] { return delta_graph(3, 3, 40, 96, true); });
  add("ssm_1_head_16", [] { return ssm_graph(1, 16, 16, 1); });
  add("ssm_4_heads_24", [] { return ssm_graph(4, 24, 24, 2); });
  add("ssm_5_heads_41_by_9", [] { return ssm_graph(5, 41, 9, 1); });
  add("ssm_2_heads_64_by_128", [] { return ssm_graph(2, 64, 128, 1); });
  add("ssm_3_heads_128_by_16", [] { return ssm_graph(3, 128, 16, 3); });
  return cases;
}

}  // namespace brass
