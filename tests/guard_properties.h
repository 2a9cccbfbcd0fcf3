// "A kernel touches only its declared ranges": of every step of the plans of small models, and seen to be
// judged. A test program includes this and instantiates GuardProperties with its devices.
#pragma once

#include "device_case.h"
#include "guard_bands.h"
#include "sanitized.h"

namespace brass {

class GuardProperties : public DeviceTest {
 protected:
  static Caps caps_for(uint32_t threads) {
    const std::unique_ptr<Device> device = GetParam().make(threads);
    return GetParam().caps(device->caps());
  }

  static bool equal(const Range& a, const Range& b) {
    return a.space == b.space && a.begin == b.begin && a.end == b.end;
  }
  static bool holds(const std::vector<Range>& ranges, const Range& range) {
    return std::ranges::any_of(ranges, [&](const Range& r) { return equal(r, range); });
  }

  // Declarations with one range left out, and with one for writing that begins four bytes too late (a step
  // need not read all that it declares: of many rows only those that are wanted).
  static std::vector<Step> wrong_declarations(const Step& step) {
    std::vector<Step> wrong;
    const auto spoil = [&](std::vector<Range> Step::* list, const Range& range) {
      wrong.push_back(step);
      std::erase_if(wrong.back().*list, [&](const Range& r) { return equal(r, range); });
      if (list == &Step::reads || range.space == Range::Space::kKv) return;
      wrong.push_back(step);
      for (Range& r : wrong.back().*list)
        if (equal(r, range)) r.begin += 4;
    };
    // What a joined step writes and reads again it need not find there.
    for (const Range& range : step.reads)
      if (!holds(step.writes, range)) spoil(&Step::reads, range);
    for (const Range& range : step.writes) spoil(&Step::writes, range);
    return wrong;
  }
};

TEST_P(GuardProperties, StepsTouchOnlyWhatTheyDeclare) {
  for (const auto& [name, model] :
       std::vector<std::pair<std::string, TinyModel>>{{"plain", plain_model()},
                                                      {"qwen", qwen_like()},
                                                      {"gemma", gemma_like()},
                                                      {"encoder", encoder_like()},
                                                      {"ragged", ragged_model()},
                                                      {"small", small_model()},
                                                      {"experts", expert_model()}}) {
    if (kSanitized && name != "small" && name != "experts") continue;  // every access is checked there anyway
    SCOPED_TRACE(name);
    const auto graph = build_tiny(model);
    if (GetParam().choose > 0 && graph->logits < 0) continue;  // there is nothing to choose from
    for (const uint32_t threads : {1u, 2u}) {
      if (kSanitized && threads == 1) continue;  // two make the same accesses
      expect_guarded([&] { return GetParam().make(threads); }, caps_for(threads), graph, model.vocab,
                     GetParam().kv_types[0], GetParam().choose);
    }
  }
}

TEST_P(GuardProperties, WrongDeclarationsAreSeen) {
  const TinyModel model = small_model();
  GuardBands guarded(GetParam().make(2), build_tiny(model), caps_for(2), GetParam().kv_types[0],
                     GetParam().choose);
  size_t tried = 0;
  for (const auto& rows : guarded_steps(model.vocab)) {
    guarded.run(rows, [&](const Plan& plan, size_t s, const GuardBands::Judge& judge) {
      for (const Step& wrong : wrong_declarations(plan.steps[s])) {
        tried++;
        EXPECT_FALSE(judge(wrong).empty())
            << "T=" << plan.key.t << " R=" << plan.key.r << " step '" << plan.ops[wrong.ops[0]].name
            << "': " << plan.steps[s].reads.size() - wrong.reads.size() << " reads and "
            << plan.steps[s].writes.size() - wrong.writes.size() << " writes left out";
      }
    });
  }
  EXPECT_GT(tried, 200u);
}

}  // namespace brass
