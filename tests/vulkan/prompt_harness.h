// What tests of steps of many rows share: one step on a GPU, twice, and on ref; graphs of single products.
#pragma once

#include <cmath>

#include "backend/ref/ref.h"
#include "device_harness.h"
#include "vulkan_fixture.h"

namespace brass {

using Programs = std::map<std::string, uint64_t>;  // how often each was recorded

inline std::unique_ptr<Device> gpu_device(VulkanOptions options, Programs* programs = nullptr) {
  options.dispatches = programs;
  auto device = make_vulkan_device(options);
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  return std::move(*device);
}

inline bool has_matrix_unit() {
  const auto devices = vulkan_devices();
  return devices && std::ranges::any_of(
                        *devices, [](const VulkanInfo& d) { return d.refused.empty() && d.matrix.rows > 0; });
}

// What prompt_test.cpp judges; packed dot products are dots_test.cpp's.
inline Prompts best_prompts() { return has_matrix_unit() ? Prompts::kMatrix : Prompts::kPlain; }

// Of the programs whose names begin so.
inline uint64_t count(const Programs& programs, const std::string& name) {
  uint64_t n = 0;
  for (const auto& [program, times] : programs) n += program.starts_with(name) ? times : 0;
  return n;
}

// The largest difference ÷ the root mean square of what is expected.
inline double difference(const Logits& found, const Logits& expected) {
  EXPECT_EQ(found.size(), expected.size());
  double worst = 0, squares = 0;
  size_t n = 0;
  for (size_t t = 0; t < expected.size(); t++)
    for (size_t i = 0; i < expected[t].size(); i++, n++) {
      const double d = std::abs(static_cast<double>(found[t][i]) - expected[t][i]);
      worst = d > worst || std::isnan(d) ? d : worst;
      squares += static_cast<double>(expected[t][i]) * expected[t][i];
    }
  return worst / std::sqrt(squares / static_cast<double>(n));
}

// What the last of these steps makes on the GPU (twice, over NaN the second time) and on ref.
struct Made {
  Logits gpu, ref;
  Programs programs;
};
inline Made make(const std::shared_ptr<const Graph>& graph, const std::vector<std::vector<TokenRow>>& steps,
                 KvType kv = KvType::kF32, Prompts prompts = best_prompts()) {
  Made made;
  Logits again;
  for (const bool poison : {false, true}) {
    auto device =
        gpu_device({.prompts = prompts, .poison = poison, .k_type = kv, .v_type = kv}, &made.programs);
    const Caps caps = device->caps();
    Runner gpu(std::move(device), graph, caps, {}, 4, 8, kv);
    for (const auto& rows : steps) (poison ? again : made.gpu) = gpu.step(rows);
  }
  EXPECT_TRUE(same_bits(made.gpu, again)) << "two runs differ, the second over NaN";
  auto ref = make_ref_device({});
  const Caps caps = ref->caps();
  Runner runner(std::move(ref), graph, caps);
  for (const auto& rows : steps) made.ref = runner.step(rows);
  return made;
}

inline std::vector<TokenRow> text(int32_t sequence, uint32_t n, uint32_t vocab, uint64_t seed,
                                  int32_t position = 0) {
  std::vector<TokenRow> rows;
  for (const int32_t id : random_ids(n, vocab, seed)) rows.push_back({sequence, id, position++});
  return rows;
}

// ---- products

// y = W x with W [rows × cols] in the format; x: rows of a table of very different sizes.
inline std::shared_ptr<const Graph> product_graph(Type type, uint32_t rows, uint32_t cols, bool bias) {
  GraphBuilder b;
  std::vector<float> values = random_floats(size_t{50} * cols, 11);
  for (size_t i = 0; i < values.size(); i++)
    values[i] *= std::exp2(static_cast<float>(static_cast<int>(i / cols) - 25));
  const ValueId x = b.input("x", cols, values);
  std::vector<WeightId> weights = {b.matrix("w", type, rows, cols, 0.1f)};
  if (bias) weights.push_back(b.vector("bias", random_floats(rows, 12, 1e-3f)));
  return b.finish(b.op(OpKind::kLinear, "product", {x}, Rows::kT, rows, weights, LinearAttrs{bias}));
}

// Each row against its own size, as rows are scaled by themselves.
inline double worst_row(const Made& made) {
  double worst = 0;
  for (size_t t = 0; t < made.ref.size(); t++)
    worst = std::max(worst, difference({made.gpu[t]}, {made.ref[t]}));
  return worst;
}

// ---- models

// A text in one step, in pieces and beside others: the same bits of its last row.
inline void expect_cuts_change_no_bit(const TinyModel& model, Prompts prompts) {
  const auto graph = build_tiny(model);
  const std::vector<TokenRow> whole = text(0, 130, model.vocab, 5);
  const auto last_of = [&](const std::vector<size_t>& cuts, uint32_t neighbours) {
    auto device = gpu_device({.prompts = prompts});
    const Caps caps = device->caps();
    Runner gpu(std::move(device), graph, caps, {}, 4, 8, KvType::kF16);
    Logits logits;
    size_t begin = 0;
    for (const size_t end : cuts) {
      std::vector<TokenRow> rows(whole.begin() + static_cast<long>(begin),
                                 whole.begin() + static_cast<long>(end));
      for (TokenRow& row : rows) row.want = false;
      rows.back().want = true;
      for (TokenRow row : text(1, neighbours, model.vocab, 6)) {
        row.want = false;
        rows.insert(rows.begin(), row);
      }
      std::ranges::stable_sort(rows, [](const TokenRow& a, const TokenRow& b) {
        return std::pair(-a.sequence, a.position) < std::pair(-b.sequence, b.position);
      });
      logits = gpu.step(rows);
      begin = end;
    }
    return logits;
  };
  const Logits expected = last_of({130}, 0);
  EXPECT_TRUE(same_bits(last_of({64, 130}, 0), expected));
  EXPECT_TRUE(same_bits(last_of({9, 50, 77, 130}, 0), expected));
  EXPECT_TRUE(same_bits(last_of({50, 130}, 20), expected));
}

}  // namespace brass
