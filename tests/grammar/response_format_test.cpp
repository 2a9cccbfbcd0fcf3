// What a request says of its reply's form.
#include "text/grammar/response_format.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "grammar/large_schema.h"
#include "grammar_support.h"
#include "sanitized.h"

namespace brass::grammar {
namespace {

using Json = nlohmann::ordered_json;

Result<std::shared_ptr<const Grammar>> read(const char* format) {
  return grammar_from_response_format(Json::parse(format));
}

bool takes(const char* format, std::string_view text) {
  const auto made = read(format);
  EXPECT_TRUE(made) << format << ": " << (made ? "" : made.error().message);
  return made && *made != nullptr && accepts(Matcher(compile(*made, nullptr)), text);
}

std::string fault(const char* format) {
  const auto made = read(format);
  EXPECT_TRUE(made || made.error().wrong_use);
  return made ? "" : made.error().message;
}

TEST(ResponseFormat, SaysWhatTheReplyIs) {
  for (const char* free : {"null", R"({"type": "text"})"}) {
    const auto made = read(free);
    ASSERT_TRUE(made);
    EXPECT_EQ(*made, nullptr);
  }
  EXPECT_TRUE(takes(R"({"type": "json_object"})", R"({"a": [1, null]})"));
  EXPECT_FALSE(takes(R"({"type": "json_object"})", "[1]"));
  constexpr const char* kChat =
      R"({"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": {"type": "integer", "minimum": 7}}})";
  EXPECT_TRUE(takes(kChat, "7"));
  EXPECT_FALSE(takes(kChat, "6"));
  EXPECT_TRUE(takes(R"({"type": "json_schema", "name": "n", "schema": {"const": "x"}})", "\"x\""));
}

TEST(ResponseFormat, ErrorsNameTheFieldAndTheKeyword) {
  EXPECT_TRUE(fault("{}").starts_with("response_format.type:"));
  EXPECT_TRUE(fault("[]").starts_with("response_format.type:"));
  EXPECT_TRUE(fault(R"({"type": "xml"})").starts_with("response_format.type: 'xml'"));
  EXPECT_EQ(fault(R"({"type": "json_schema"})"), "response_format.schema: is needed");
  EXPECT_EQ(fault(R"({"type": "json_schema", "json_schema": 1})"),
            "response_format.json_schema.schema: is needed");
  const std::string refused = fault(
      R"({"type": "json_schema", "json_schema": {"schema": {"properties": {"x": {"minLength": -1}}}}})");
  EXPECT_TRUE(refused.starts_with("response_format.json_schema.schema: #/properties/x")) << refused;
  EXPECT_NE(refused.find("minLength"), std::string::npos) << refused;
}

// Five kilobytes take milliseconds (bench_masks); a wide bound, for machines are busy.
TEST(ResponseFormat, ALargeSchemaIsReadQuickly) {
  const Json schema = large_schema(5000);
  ASSERT_GE(schema.dump().size(), 5000u);
  const auto begin = std::chrono::steady_clock::now();
  const auto made = grammar_from_schema(schema);
  ASSERT_TRUE(made) << (made ? "" : made.error().message);
  const Matcher matcher(compile(*made, nullptr));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_TRUE(begins(matcher, "{\"group_0\""));
  if (!kSanitized) {
    EXPECT_LT(seconds.count(), 0.5);
  }
}

}  // namespace
}  // namespace brass::grammar
