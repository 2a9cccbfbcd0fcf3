// What choose makes of rows of logits that are given, on any device.
#pragma once

#include <cmath>
#include <limits>

#include "device_harness.h"

namespace brass {

// The graph that has these logits, multiplied by `factor`, where that is not 1.
inline std::shared_ptr<OwnedGraph> graph_of(const Logits& logits, float factor) {
  const auto width = static_cast<uint32_t>(logits[0].size());
  std::vector<float> values;
  for (const auto& row : logits) values.insert(values.end(), row.begin(), row.end());
  GraphBuilder b;
  ValueId x = b.input("x", width, values);
  x = b.op(OpKind::kGatherRows, "rows", {x}, Rows::kR, width);
  if (factor != 1) x = b.op(OpKind::kScale, "scale", {x}, Rows::kR, width, {}, ScaleAttrs{factor});
  return b.finish(x);
}

// Of each row of a graph's logits: what the device leaves of them where so much is to be chosen.
inline Logits chosen_of(Device& device, const std::shared_ptr<const Graph>& graph, uint32_t n,
                        uint32_t choose) {
  const auto plan = device.compile(graph, {.t = bucket(n), .r = bucket(n), .choose = choose});
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  const auto handle = device.prepare(*plan);
  EXPECT_TRUE(handle.has_value());
  std::vector<int32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<int32_t> sequences(n, 0);
  const Batch batch{rows, rows, sequences, rows, std::span<const PageTable>()};
  const Result<> ran = device.run(*handle, batch);
  EXPECT_TRUE(ran.has_value()) << (ran ? "" : ran.error().message);
  Logits out;
  for (uint32_t r = 0; r < n; r++) {
    const std::span<const float> row = device.read(*handle, (*plan)->choice, r);
    out.emplace_back(row.begin(), row.end());
  }
  return out;
}

inline void load(Device& device, const Graph& graph) {
  const auto uploaded = device.upload(graph, {}, [](const Weight&) {});
  EXPECT_TRUE(uploaded.has_value() && device.allocate(graph, {}).has_value());
}

// Of each row of `logits`, multiplied by 1e10: the choice, as the device leaves it.
inline std::vector<float> choices_of(std::unique_ptr<Device> device, const Logits& logits) {
  const auto graph = graph_of(logits, 1e10f);
  load(*device, *graph);
  std::vector<float> out;
  for (const auto& row : chosen_of(*device, graph, static_cast<uint32_t>(logits.size()), 1))
    out.push_back(row.at(0));
  return out;
}

// The largest, the first of equal ones, wherever it stands; all equal; below zero; one that is not finite, and several.
inline void expect_right_choices(const std::function<std::unique_ptr<Device>()>& device) {
  for (const uint32_t width : {1u, 3u, 64u, 1000u, 20011u}) {
    Logits logits;
    std::vector<float> expected;
    for (const uint32_t at : {0u, width / 3, width / 2, width - 1}) {
      logits.push_back(random_floats(width, width + at));
      logits.back()[at] = 50.0f;
      expected.push_back(static_cast<float>(at));
    }
    logits.push_back(random_floats(width, 9));
    logits.back()[width / 4] = logits.back()[width - 1] = 50.0f;
    expected.push_back(static_cast<float>(width / 4));
    logits.push_back(std::vector<float>(width, -3.0f));
    expected.push_back(0);
    logits.push_back(random_floats(width, 10));
    logits.back()[width / 2] = 1e30f;
    logits.back()[width - 1] = -1e30f;
    expected.push_back(-1 - static_cast<float>(width / 2));
    EXPECT_EQ(choices_of(device(), logits), expected) << width << " logits";
  }
}

// Many equal logits, zeros of both signs, rising and falling ones, all equal; one, some and many that are not finite.
inline Logits difficult_logits(uint32_t width) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kFaults[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity,
                               -std::numeric_limits<float>::quiet_NaN()};
  Rng rng(width);
  const auto row = [&](const std::function<float(uint32_t)>& f) {
    std::vector<float> values(width);
    for (uint32_t i = 0; i < width; i++) values[i] = f(i);
    return values;
  };
  const auto some = [&](uint64_t one_of) {
    return row([&](uint32_t) {
      return rng.below(one_of) == 0 ? kFaults[rng.below(4)] : static_cast<float>(rng.normal());
    });
  };
  Logits all = {random_floats(width, width, 5.0f),
                row([&](uint32_t) { return static_cast<float>(rng.below(9)) - 6; }),
                row([&](uint32_t) { return rng.below(2) == 0 ? 0.0f : -0.0f; }),
                row([](uint32_t i) { return static_cast<float>(i); }),
                row([](uint32_t i) { return -1.0f - static_cast<float>(i); }),
                row([](uint32_t) { return -3.0f; }),
                some(1000),
                some(2)};
  all[1][width / 2] = kFaults[rng.below(4)];
  return all;
}

// By a sort: the numbers, then the logits.
inline std::vector<float> sorted_candidates(const std::vector<float>& logits, uint32_t count) {
  std::vector<std::pair<double, uint32_t>> ranked;  // the largest first
  for (uint32_t i = 0; i < logits.size(); i++)
    ranked.emplace_back(std::isfinite(logits[i]) ? -static_cast<double>(logits[i]) : -1e300, i);
  std::ranges::sort(ranked);
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < count; i++) numbers.push_back(ranked[i].second);
  std::ranges::sort(numbers);
  std::vector<float> row;
  for (const uint32_t number : numbers) row.push_back(static_cast<float>(number));
  for (const uint32_t number : numbers) row.push_back(logits[number]);
  return row;
}

inline constexpr uint32_t kCandidateWidths[] = {1, 3, 64, 1000, 20011, 50021};
inline constexpr uint32_t kCandidateCounts[] = {2, 40, kMostCandidates};

// The device takes weights that are not finite.
inline void expect_right_candidates(const std::function<std::unique_ptr<Device>()>& make) {
  for (const uint32_t width : kCandidateWidths) {
    const Logits logits = difficult_logits(width);
    const auto graph = graph_of(logits, 1);
    const std::unique_ptr<Device> device = make();
    load(*device, *graph);
    for (const uint32_t count : kCandidateCounts) {
      Logits expected;
      for (const auto& row : logits) expected.push_back(sorted_candidates(row, std::min(count, width)));
      EXPECT_TRUE(same_bits(chosen_of(*device, graph, static_cast<uint32_t>(logits.size()), count), expected))
          << count << " of " << width << " logits";
    }
  }
}

}  // namespace brass
