// What choose makes of rows of logits that are given, on any device.
#pragma once

#include "device_harness.h"

namespace brass {

// Of each row of `logits`, multiplied by 1e10: the choice, as the device leaves it.
inline std::vector<float> choices_of(std::unique_ptr<Device> device, const Logits& logits) {
  const auto n = static_cast<uint32_t>(logits.size()), width = static_cast<uint32_t>(logits[0].size());
  std::vector<float> values;
  for (const auto& row : logits) values.insert(values.end(), row.begin(), row.end());
  GraphBuilder b;
  ValueId x = b.input("x", width, values);
  x = b.op(OpKind::kGatherRows, "rows", {x}, Rows::kR, width);
  const auto graph = b.finish(b.op(OpKind::kScale, "scale", {x}, Rows::kR, width, {}, ScaleAttrs{1e10f}));
  const auto uploaded = device->upload(*graph, {}, [](const Weight&) {});
  EXPECT_TRUE(uploaded.has_value() && device->allocate(*graph, {}).has_value());
  const auto plan = device->compile(graph, {.t = bucket(n), .r = bucket(n), .choose = true});
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  const auto handle = device->prepare(*plan);
  EXPECT_TRUE(handle.has_value());
  std::vector<int32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<int32_t> sequences(n, 0);
  const Batch batch{rows, rows, sequences, rows, std::span<const PageTable>()};
  const Result<> ran = device->run(*handle, batch);
  EXPECT_TRUE(ran.has_value()) << (ran ? "" : ran.error().message);
  std::vector<float> out;
  for (uint32_t r = 0; r < n; r++) out.push_back(device->read(*handle, (*plan)->choice, r)[0]);
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

}  // namespace brass
