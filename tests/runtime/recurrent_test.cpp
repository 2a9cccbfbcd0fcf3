// Models whose layers keep a state: what a conversation goes on from, and that it is the same as starting anew.
#include "model_fixture.h"

namespace brass {
namespace {

std::vector<float> last_logits(Engine& engine) {
  std::vector<LogitTable> rows = run_all(engine, 3);
  for (LogitTable& table : rows)
    if (!table.empty()) return table.back();
  return {};
}

// The last logits of a text that nothing was kept of.
std::vector<float> anew(Engine& engine, const std::vector<int32_t>& text) {
  const SequenceId id = *engine.create_sequence();
  EXPECT_EQ(engine.sync(id, text)->reused, 0u);
  std::vector<float> logits = last_logits(engine);
  engine.drop(id);
  return logits;
}

// What is scheduled ends in the logits of `text` processed anew.
void expect_as_anew(Engine& engine, const std::vector<int32_t>& text) {
  const std::vector<float> found = last_logits(engine);
  EXPECT_EQ(found, anew(engine, text));
}

TEST(Recurrent, AConversationProcessesNoTokenTwice) {
  for (const std::string& path : recurrent_models()) {
    SCOPED_TRACE(path);
    const auto engine = open(path, {.chunk = 48, .sequences = 2});
    const SequenceId id = *engine->create_sequence();
    std::vector<int32_t> text = random_ids(*engine, 130, 1);
    for (int turn = 0; turn < 3; turn++) {
      const SyncInfo info = *engine->sync(id, text);
      EXPECT_EQ(info.to_process, turn == 0 ? 130u : 20u) << "only what the user adds";
      expect_as_anew(*engine, text);
      for (int i = 0; i < 15; i++) {  // the reply
        text.push_back(i);
        ASSERT_TRUE(engine->append(id, i).has_value());
        last_logits(*engine);
      }
      for (const int32_t token : random_ids(*engine, 20, 2 + static_cast<uint64_t>(turn)))
        text.push_back(token);
    }
  }
}

TEST(Recurrent, AnotherReplyBeginsBehindThePrompt) {
  for (const std::string& path : recurrent_models()) {
    SCOPED_TRACE(path);
    const auto engine = open(path, {.sequences = 2});
    const SequenceId id = *engine->create_sequence();
    const std::vector<int32_t> prompt = random_ids(*engine, 90, 3);
    ASSERT_TRUE(engine->sync(id, prompt).has_value());
    last_logits(*engine);
    for (int i = 0; i < 10; i++) {
      ASSERT_TRUE(engine->append(id, i).has_value());
      last_logits(*engine);
    }
    // The same prompt again: its last token only, for its logits.
    EXPECT_EQ(engine->sync(id, prompt)->reused, 89u);
    expect_as_anew(*engine, prompt);
    // The reply written down otherwise, as templates do that drop what was thought: from before its first token.
    std::vector<int32_t> other = prompt;
    for (const int32_t token : random_ids(*engine, 30, 4)) other.push_back(token);
    const SyncInfo info = *engine->sync(id, other);
    EXPECT_GE(info.reused, 89u);
    expect_as_anew(*engine, other);
    // A text that differs early has no state to go on from.
    std::vector<int32_t> early = other;
    early[5] = (early[5] + 1) % 256;
    EXPECT_EQ(engine->sync(id, early)->cause, "no state kept");
    expect_as_anew(*engine, early);
  }
}

TEST(Recurrent, AForkLeavesTheOtherAlone) {
  for (const std::string& path : recurrent_models()) {
    SCOPED_TRACE(path);
    const auto engine = open(path, {.sequences = 3});
    const SequenceId id = *engine->create_sequence();
    std::vector<int32_t> left = random_ids(*engine, 70, 5);
    ASSERT_TRUE(engine->sync(id, left).has_value());
    last_logits(*engine);
    const SequenceId copy = *engine->fork(id);
    std::vector<int32_t> right = left;
    for (int i = 0; i < 5; i++) {
      left.push_back(i);
      right.push_back(i + 20);
      ASSERT_TRUE(engine->append(copy, right.back()).has_value());
      expect_as_anew(*engine, right);
      ASSERT_TRUE(engine->append(id, left.back()).has_value());
      expect_as_anew(*engine, left);
    }
  }
}

}  // namespace
}  // namespace brass
