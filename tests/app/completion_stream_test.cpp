#include "app/completion_stream.h"

#include <gtest/gtest.h>

namespace brass::app {
namespace {

const std::string kRole = R"(data: {"choices":[{"delta":{"role":"assistant","content":""}}]})"
                          "\n\n";
std::string chunk(const std::string& text) {
  return R"(data: {"choices":[{"delta":{"content":")" + text +
         R"("}}]})"
         "\n\n";
}
const std::string kUsage =
    R"(data: {"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":7}}})"
    "\n\n";
const std::string kDone = "data: [DONE]\n\n";

TEST(CompletionStream, TheFirstTextIsNotTheRole) {
  CompletionStream s;
  s.push(kRole, 0.1);
  s.push(chunk("a"), 0.5);
  s.push(chunk("b"), 0.7);
  s.push(kUsage + kDone, 0.9);
  ASSERT_TRUE(s.finish());
  EXPECT_DOUBLE_EQ(s.ttft(), 0.5);
  EXPECT_DOUBLE_EQ(s.decode(), 0.7 - 0.5);
  EXPECT_EQ(s.text(), "ab");
  EXPECT_EQ(s.reply_tokens(), 9u) << "as the server counts";
  EXPECT_EQ(s.prompt_tokens(), 40u);
  EXPECT_EQ(s.cached_tokens(), 7u);
}

TEST(CompletionStream, ReasoningIsText) {
  for (const char* key : {"reasoning_content", "reasoning"}) {
    CompletionStream s;
    s.push(kRole, 0.1);
    s.push(std::string(R"(data: {"choices":[{"delta":{"content":null,")") + key +
               R"(":"hm"}}]})"
               "\n\n",
           0.3);
    s.push(chunk("a"), 0.5);
    ASSERT_TRUE(s.finish());
    EXPECT_DOUBLE_EQ(s.ttft(), 0.3) << key;
    EXPECT_EQ(s.reply_tokens(), 2u) << "nobody counted, so chunks are";
    EXPECT_FALSE(s.counted_by_server());
  }
}

TEST(CompletionStream, EventsMayBeCutAnywhere) {
  const std::string all = ": a comment\r\n\r\nevent: x\r\n" + kRole + chunk("ä\\n") +
                          "data:{\"choices\":\ndata:[{\"text\":\"c\"}]}\n\n" + kUsage + kDone;
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    CompletionStream s;
    s.push(all.substr(0, cut), 1);
    s.push(all.substr(cut), 2);
    ASSERT_TRUE(s.finish()) << cut;
    EXPECT_EQ(s.text(), "ä\nc") << cut;
    EXPECT_EQ(s.text_times().size(), 2u) << cut;
  }
}

TEST(CompletionStream, ErrorsAreTheServersWords) {
  CompletionStream s;
  s.push(chunk("a") + "data: {\"error\":{\"message\":\"out of pages\"}}\n\n", 1);
  ASSERT_FALSE(s.finish());
  EXPECT_NE(s.finish().error().message.find("out of pages"), std::string::npos);
  CompletionStream empty;
  empty.push(kRole + kDone, 1);
  EXPECT_FALSE(empty.finish());
  CompletionStream broken;
  broken.push("data: {\n\n", 1);
  EXPECT_FALSE(broken.finish());
  CompletionStream strange;  // types that nobody promised
  strange.push(
      "data: {\"choices\":{\"a\":1},\"usage\":[3]}\n\ndata: "
      "{\"choices\":[3,{\"delta\":4}],\"usage\":{\"prompt_tokens\":-5}}\n\n" +
          chunk("a"),
      1);
  EXPECT_TRUE(strange.finish());
  EXPECT_FALSE(strange.prompt_tokens());
}

}  // namespace
}  // namespace brass::app
