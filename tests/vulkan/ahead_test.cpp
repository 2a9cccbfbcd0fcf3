// The choice of tokens on the device, and steps that are begun before it is known that the text takes their tokens: the same
// tokens and bits as one step after another, whatever the text does then.
#include "choose_case.h"
#include "runtime/generation.h"
#include "runtime/model_fixture.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

std::unique_ptr<Device> gpu(KvType kv = KvType::kF16, const VulkanFaults& faults = {},
                            std::map<std::string, uint64_t>* dispatches = nullptr) {
  auto device = make_vulkan_device({.k_type = kv, .v_type = kv, .faults = faults, .dispatches = dispatches});
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  return std::move(*device);
}

std::unique_ptr<Engine> open_engine(const std::string& path, std::unique_ptr<Device> device,
                                    uint32_t sequences = 2, uint32_t interval = 512) {
  auto engine = Engine::create(
      std::move(*load_model(path)), std::move(device),
      {.context = 320, .sequences = sequences, .chunk = 64, .checkpoint_interval = interval}, {});
  EXPECT_TRUE(engine.has_value()) << (engine ? "" : engine.error().message);
  return std::move(*engine);
}

// Pages alone, states with them; windows, and the states of convolutions alone.
std::vector<std::string> models(const TempFolder& folder, bool all) {
  std::vector<std::string> paths = {quantized_llama(folder)};
  std::vector<std::string> names = {"qwen35-a"};
  if (all) names.insert(names.end(), {"gptoss-a", "lfm2-a"});
  for (const std::string& name : names)
    if (const auto path = shared_data("tiny/" + name + ".gguf")) paths.push_back(*path);
  return paths;
}

std::vector<float> last_row(Engine& engine, SequenceId id, const std::vector<int32_t>& ids) {
  engine.want_logits(id, LogitRows::kLast);
  EXPECT_TRUE(engine.sync(id, ids).has_value());
  return run_all(engine, static_cast<size_t>(id) + 1)[static_cast<size_t>(id)].back();
}

// What the last token of a text makes behind a prompt, the rest token by token.
std::vector<float> by_steps(Engine& engine, const std::vector<int32_t>& text, size_t prompt) {
  const SequenceId id = *engine.create_sequence();
  std::vector<float> row =
      last_row(engine, id, {text.begin(), text.begin() + static_cast<ptrdiff_t>(prompt)});
  for (size_t i = prompt; i < text.size(); i++) {
    EXPECT_TRUE(engine.append(id, text[i]).has_value());
    row = run_all(engine, static_cast<size_t>(id) + 1)[static_cast<size_t>(id)].back();
  }
  engine.drop(id);
  return row;
}

// `n` tokens behind a prompt, one step after another, each the highest of its logits.
std::vector<int32_t> plainly(Engine& engine, std::vector<int32_t> ids, uint32_t n) {
  const SequenceId id = *engine.create_sequence();
  std::vector<float> row = last_row(engine, id, ids);
  for (uint32_t i = 0; i < n; i++) {
    ids.push_back(static_cast<int32_t>(std::ranges::max_element(row) - row.begin()));
    EXPECT_TRUE(engine.append(id, ids.back()).has_value());
    row = run_all(engine, static_cast<size_t>(id) + 1)[static_cast<size_t>(id)].back();
  }
  engine.drop(id);
  return ids;
}

// Texts that choose for themselves, in one engine.
struct Choosers {
  Engine& engine;
  std::map<SequenceId, std::vector<int32_t>> texts = {};

  SequenceId add(const std::vector<int32_t>& prompt, uint32_t expected) {
    const SequenceId id = *engine.create_sequence();
    engine.want_logits(id, LogitRows::kChoice);
    engine.expect_choices(id, expected);
    EXPECT_TRUE(engine.sync(id, prompt).has_value());
    texts[id] = prompt;
    return id;
  }
  // A step, and the tokens that it chose.
  void step() {
    const auto made = engine.step();
    ASSERT_TRUE(made.has_value()) << made.error().message;
    std::vector<std::pair<SequenceId, int32_t>> chosen;
    for (const StepRows& r : *made) chosen.emplace_back(r.sequence, *engine.choice(r.first_row));
    for (const auto& [id, token] : chosen) {
      ASSERT_TRUE(engine.append(id, token).has_value());
      texts[id].push_back(token);
    }
  }
};

TEST(VulkanAhead, ChoosesTheHighestLogit) {
  if (!vulkan_is_there()) GTEST_SKIP();
  std::map<std::string, uint64_t> dispatches;
  expect_right_choices([&] { return gpu(KvType::kF16, {}, &dispatches); });
  EXPECT_EQ(dispatches["choose"], 5u);
}

TEST(VulkanAhead, TokensAreThoseOfOneStepAfterAnother) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  for (const std::string& path : models(folder, true)) {
    SCOPED_TRACE(path);
    const auto engine = open_engine(path, gpu());
    const std::vector<int32_t> prompt = random_ids(*engine, 50, 3);
    const std::vector<int32_t> expected = plainly(*engine, prompt, 30);
    Choosers choosers{*engine};
    const SequenceId id = choosers.add(prompt, 30);
    const uint64_t before = engine->steps_ahead();
    for (uint32_t i = 0; i < 30; i++) choosers.step();
    EXPECT_EQ(choosers.texts[id], expected);
    EXPECT_GE(engine->steps_ahead() - before,
              26u);  // but for the prompt, the first, and where there is to be made room
  }
}

// The text ends, or goes another way, while a step is under way for a token that it does not take.
TEST(VulkanAhead, AStepThatIsNotTakenLeavesNoTrace) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  for (const std::string& path : models(folder, true)) {
    SCOPED_TRACE(path);
    const auto engine = open_engine(path, gpu(), 3, 8), judge = open_engine(path, gpu(), 3, 8);
    const std::vector<int32_t> prompt = random_ids(*engine, 50, 3);
    Choosers choosers{*engine};
    const SequenceId id = choosers.add(prompt, 1000);
    for (uint32_t i = 0; i < 13; i++)
      choosers.step();  // the next position is a page's last, and the one ahead a page's first
    std::vector<int32_t> text = choosers.texts[id];
    text.back() = (text.back() + 1) % 100;  // another token than was chosen
    EXPECT_EQ(last_row(*engine, id, text), by_steps(*judge, text, 50));
    // On from there, ahead again, and then a text that is cut back.
    engine->want_logits(id, LogitRows::kChoice);
    engine->expect_choices(id, 1000);
    choosers.texts[id] = text;
    const int32_t next = text[7];
    ASSERT_TRUE(engine->append(id, next).has_value());
    choosers.texts[id].push_back(next);
    for (uint32_t i = 0; i < 9; i++) choosers.step();
    text = choosers.texts[id];
    text.resize(text.size() - 5);
    EXPECT_EQ(last_row(*engine, id, text), by_steps(*judge, text, 50));
    // A fork while a step is under way, which goes its own way; the first goes on.
    choosers.texts.erase(id);
    engine->drop(id);
    const SequenceId first = choosers.add(prompt, 1000);
    for (uint32_t i = 0; i < 5; i++) choosers.step();
    const SequenceId other = *engine->fork(first);
    std::vector<int32_t> others = choosers.texts[first];
    others.back() = (others.back() + 3) % 100;
    engine->want_logits(other, LogitRows::kLast);
    ASSERT_TRUE(engine->sync(other, others).has_value());
    const auto made = engine->step();  // of both
    ASSERT_TRUE(made.has_value());
    for (const StepRows& r : *made) {
      if (r.sequence == other) {
        EXPECT_TRUE(std::ranges::equal(engine->logits(r.first_row), by_steps(*judge, others, 50)));
      } else {
        choosers.texts[first].push_back(*engine->choice(r.first_row));
      }
    }
    ASSERT_TRUE(engine->append(first, choosers.texts[first].back()).has_value());
    engine->drop(other);
    for (uint32_t i = 0; i < 12; i++) choosers.step();
    EXPECT_EQ(choosers.texts[first], plainly(*judge, prompt, 18));
  }
}

// Texts of several sequences in one step; one is dropped, and another comes, in the middle.
TEST(VulkanAhead, SeveralSequences) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  for (const std::string& path : models(folder, false)) {
    SCOPED_TRACE(path);
    const auto engine = open_engine(path, gpu(), 3);
    std::vector<std::vector<int32_t>> prompts, expected;
    for (uint64_t i = 0; i < 3; i++) {
      prompts.push_back(random_ids(*engine, static_cast<uint32_t>(20 + 21 * i), 5 + i));
      expected.push_back(plainly(*engine, prompts.back(), 24));
    }
    Choosers choosers{*engine};
    const SequenceId a = choosers.add(prompts[0], 1000), b = choosers.add(prompts[1], 1000);
    for (uint32_t i = 0; i < 8; i++) choosers.step();
    const std::vector<int32_t> left = choosers.texts[a];
    engine->drop(a);
    const SequenceId c = choosers.add(prompts[2], 1000);
    for (uint32_t i = 0; i < 14; i++) choosers.step();
    EXPECT_GT(engine->steps_ahead(), 10u);
    const auto begins = [](const std::vector<int32_t>& whole, const std::vector<int32_t>& text) {
      return text.size() > 25 && std::equal(text.begin(), text.end(), whole.begin());
    };
    EXPECT_TRUE(begins(expected[0], left));
    EXPECT_TRUE(begins(expected[1], choosers.texts[b]));
    EXPECT_TRUE(begins(expected[2], choosers.texts[c]));
  }
}

// Generations: greedy ones take the device's choice, those in which something else has a say the logits, and a caller who
// cancels in the middle gets what there is.
TEST(VulkanAhead, Generations) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  const auto engine = open_engine(quantized_llama(folder), gpu());
  const std::vector<int32_t> prompt = random_ids(*engine, 30, 3);
  const auto generate = [&](const SamplingParams& sampling, uint32_t most, uint32_t shown) {
    const SequenceId id =
        *engine->create_sequence();  // all prompts are whole ones: a last token alone has other bits
    auto g = Generation::start(*engine, id, nullptr, prompt, {.sampling = sampling, .max_tokens = most});
    EXPECT_TRUE(g.has_value());
    uint32_t pieces = 0;
    EXPECT_TRUE(run_alone(*engine, **g, [&](std::string_view) { return ++pieces < shown; }).has_value());
    engine->drop(id);
    return std::move(*g);
  };
  SamplingParams greedy, biased;
  greedy.greedy = biased.greedy = true;
  biased.logit_bias = {{1, 0.0f}};
  const uint64_t before = engine->steps_ahead();
  const auto by_logits = generate(biased, 40, 1000);
  EXPECT_EQ(by_logits->chosen_by(), ChosenBy::kSampler);
  EXPECT_EQ(engine->steps_ahead(), before);
  const auto by_device = generate(greedy, 40, 1000);
  EXPECT_EQ(by_device->chosen_by(), ChosenBy::kDevice);
  EXPECT_EQ(by_device->ids(), by_logits->ids());
  EXPECT_EQ(by_device->finish(), Finish::kLength);
  EXPECT_GT(engine->steps_ahead(), before + 34);
  const auto cancelled = generate(greedy, 40, 20);
  EXPECT_EQ(cancelled->finish(), Finish::kCancel);
  EXPECT_TRUE(std::equal(cancelled->ids().begin(), cancelled->ids().end(), by_logits->ids().begin()));
  EXPECT_EQ(generate(biased, 40, 1000)->ids(), by_logits->ids());
}

// A device that is lost while steps are under way says so from then on.
TEST(VulkanAhead, ALostDevice) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  const std::string path = quantized_llama(folder);
  const auto steps_until_lost = [&](int64_t submission) {
    const auto engine = open_engine(path, gpu(KvType::kF16, {.submission = submission}));
    const SequenceId id = *engine->create_sequence();
    engine->want_logits(id, LogitRows::kChoice);
    engine->expect_choices(id, 1000);
    EXPECT_TRUE(engine->sync(id, random_ids(*engine, 5, 3)).has_value());
    for (uint32_t step = 0;; step++) {
      const auto made = engine->step();
      if (!made) {
        EXPECT_NE(made.error().message.find("VK_ERROR_DEVICE_LOST"), std::string::npos)
            << made.error().message;
        return step;
      }
      if (step == 20) return step;
      EXPECT_TRUE(engine->append(id, *engine->choice((*made)[0].first_row)).has_value());
    }
  };
  uint32_t last = 0;
  bool grows = false;
  for (int64_t submission = 60; submission < 64; submission++) {
    const uint32_t steps = steps_until_lost(submission);
    grows = grows || steps > last;
    last = steps;
  }
  EXPECT_TRUE(grows);
}

}  // namespace
}  // namespace brass
