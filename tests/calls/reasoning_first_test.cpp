// Where a constraint begins, from what the template wrote of the prompt.
#include "text/calls/reasoning_first.h"

#include <gtest/gtest.h>

namespace brass::calls {
namespace {

grammar::ConstraintOptions first(std::string_view prompt, Constrained what = Constrained::kContent) {
  ReplyForm form;
  form.format = hermes();
  form.format.reasoning = {"<think>", "</think>"};
  return reasoning_first(form, prompt, what);
}

TEST(ReasoningFirst, ByHowThePromptEnds) {
  const auto open = first("<|im_start|>assistant\n");
  EXPECT_FALSE(open.in_reasoning);
  EXPECT_EQ(open.reasoning_begin, "<think>");
  EXPECT_EQ(open.reasoning_end, "</think>");
  EXPECT_EQ(open.gap, "\n\n");
  const auto inside = first("<think>old</think>x<|im_start|>assistant\n<think>\n");
  EXPECT_TRUE(inside.in_reasoning);
  EXPECT_EQ(inside.reasoning_begin, "");
  const auto closed = first("<|im_start|>assistant\n<think>\n\n</think>\n\n");
  EXPECT_FALSE(closed.in_reasoning);
  EXPECT_EQ(closed.reasoning_begin, "");
  EXPECT_EQ(closed.reasoning_end, "");
  EXPECT_EQ(first("x", Constrained::kCalls).gap, "") << "the grammar of calls has blanks in front";
  for (const auto& options : {open, inside, closed}) EXPECT_TRUE(grammar::validate(options));
}

TEST(ReasoningFirst, WithoutMarksThereIsNone) {
  const auto none = reasoning_first({hermes(), Found::kDefault, false}, "x", Constrained::kContent);
  EXPECT_FALSE(none.in_reasoning);
  EXPECT_EQ(none.reasoning_begin + none.reasoning_end, "");
}

TEST(ReasoningFirst, ChannelsComeBeforeTheLast) {
  ReplyForm form;
  form.format.channels = Channels::kHarmony;
  const auto content = reasoning_first(form, "<|start|>assistant", Constrained::kContent);
  EXPECT_TRUE(content.in_reasoning);
  EXPECT_EQ(content.reasoning_end, "<|channel|>final<|message|>");
  const auto calls = reasoning_first(form, "<|start|>assistant", Constrained::kCalls);
  EXPECT_FALSE(calls.in_reasoning);
  EXPECT_EQ(calls.reasoning_begin, "<|channel|>analysis<|message|>");
  EXPECT_EQ(calls.reasoning_end, "<|end|>");
}

}  // namespace
}  // namespace brass::calls
