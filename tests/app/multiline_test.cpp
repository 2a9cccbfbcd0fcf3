#include "app/multiline.h"

#include <gtest/gtest.h>

#include <vector>

namespace brass::app {
namespace {

// The messages that the lines make; a last one that is not complete is marked.
std::vector<std::string> messages(const std::vector<std::string>& lines) {
  MultilineInput input;
  std::vector<std::string> result;
  for (const std::string& line : lines) {
    if (input.add(line)) result.push_back(input.take());
  }
  if (input.pending()) result.push_back("pending");
  return result;
}

using Messages = std::vector<std::string>;

TEST(MultilineInput, ALineIsAMessage) {
  EXPECT_EQ(messages({"one", "", "two"}), (Messages{"one", "", "two"}));
  EXPECT_EQ(messages({"  blanks stay  "}), (Messages{"  blanks stay  "}));
}

TEST(MultilineInput, ABackslashGoesOn) {
  EXPECT_EQ(messages({"one\\", "two\\", "three", "four"}), (Messages{"one\ntwo\nthree", "four"}));
  EXPECT_EQ(messages({"\\", "x"}), (Messages{"\nx"}));
  EXPECT_EQ(messages({"a\\b"}), (Messages{"a\\b"}));
  EXPECT_EQ(messages({"one\\"}), (Messages{"pending"}));
}

TEST(MultilineInput, ABlockGoesOn) {
  EXPECT_EQ(messages({"\"\"\"", "one", "two\\", "\"\"\"", "next"}), (Messages{"one\ntwo\\", "next"}));
  EXPECT_EQ(messages({"\"\"\"one", "", "two\"\"\""}), (Messages{"one\n\ntwo"}));
  EXPECT_EQ(messages({"  \"\"\"  ", "  indented", "  \"\"\"  "}), (Messages{"  indented"}));
  EXPECT_EQ(messages({"\"\"\"all in one\"\"\"", "x"}), (Messages{"all in one", "x"}));
  EXPECT_EQ(messages({"\"\"\"\"\"\"", "x"}), (Messages{"", "x"}));
  EXPECT_EQ(messages({"\"\"\"", "\"\"\""}), (Messages{""}));
  EXPECT_EQ(messages({"\"\"\"", "", "\"\"\""}), (Messages{""}));
  EXPECT_EQ(messages({"\"\"\"", "one"}), (Messages{"pending"}));
}

TEST(MultilineInput, MarksInsideALineMeanNothing) {
  EXPECT_EQ(messages({"say \"\"\"hi\"\"\""}), (Messages{"say \"\"\"hi\"\"\""}));
  EXPECT_EQ(messages({"\"\"\"", "a \"\"\" b", "\"\"\""}), (Messages{"a \"\"\" b"}));
  EXPECT_EQ(messages({"one\\", "\"\"\"", "two"}), (Messages{"one\n\"\"\"", "two"}));
}

TEST(MultilineInput, ClearForgets) {
  MultilineInput input;
  EXPECT_FALSE(input.add("\"\"\""));
  EXPECT_TRUE(input.pending());
  input.clear();
  EXPECT_FALSE(input.pending());
  EXPECT_TRUE(input.add("plain"));
  EXPECT_EQ(input.take(), "plain");
}

}  // namespace
}  // namespace brass::app
