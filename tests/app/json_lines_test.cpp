// One answer a line, whatever the line is.
#include "app/json_lines.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "temp_folder.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> answers(const std::string& lines, const AnswerLine& answer) {
  const TempFolder folder;
  const std::string path = folder.write("requests.jsonl", lines);
  testing::internal::CaptureStdout();
  const Result<> done = answer_lines(path, answer);
  std::istringstream out(testing::internal::GetCapturedStdout());
  EXPECT_TRUE(done.has_value());
  std::vector<std::string> made;
  for (std::string line; std::getline(out, line);) made.push_back(line);
  return made;
}

TEST(JsonLines, EveryLineHasAnAnswer) {
  const std::string lines = "\"a\"\n{\n\n\"\\ud800\"\n\"\xFF\"\n17\n" + std::string(2000, '[') + "\n\"last\"";
  const auto made = answers(lines, [](const Json& request) -> Result<Json> {
    if (!request.is_string()) return fail_hint("write a string", "{} is none", request.dump());
    return Json(request.get<std::string>() + "!");
  });
  ASSERT_EQ(made.size(), 8u);
  EXPECT_EQ(made[0], "\"a!\"");
  for (const size_t bad : {1, 2, 3, 4, 6})
    EXPECT_TRUE(made[bad].starts_with("{\"error\":\"JSON")) << made[bad];
  EXPECT_EQ(made[5], "{\"error\":\"17 is none\",\"hint\":\"write a string\"}");
  EXPECT_EQ(made[7], "\"last!\"");
}

TEST(JsonLines, PartsOfCharactersAreShown) {
  const auto made = answers("1\n", [](const Json&) -> Result<Json> { return Json("\xE4\xBD"); });
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0], "\"\xEF\xBF\xBD\"");
}

TEST(JsonLines, AFileThatIsNotThere) {
  const Result<> done =
      answer_lines("/nowhere/requests.jsonl", [](const Json&) { return Result<Json>(Json()); });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, "/nowhere/requests.jsonl: cannot be opened");
}

}  // namespace
}  // namespace brass::app
