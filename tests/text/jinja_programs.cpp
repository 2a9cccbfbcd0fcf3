// Random programs against Jinja2's results: a sample of what tools/oracles/jinja_fuzz.py compares.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "source_dir.h"
#include "text/jinja_support.h"

namespace brass::jinja {
namespace {

// Each line is a program and Jinja2's text, or null where that is an error; the first line is the context.
void check_programs(const std::string& name) {
  std::ifstream in(source_dir() + "/tests/text/fixtures/" + name);
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  const auto head = parse_json_exact(line);
  ASSERT_TRUE(head);
  const std::string context = json_text((*head)["context"]);
  size_t programs = 0;
  for (; std::getline(in, line); programs++) {
    const auto program = parse_json(line);
    ASSERT_TRUE(program);
    const auto rendered = render((*program)["template"].get<std::string>(), context, {.clock = 1234567890});
    const nlohmann::ordered_json text = rendered ? nlohmann::ordered_json(rendered->text) : nullptr;
    EXPECT_EQ(text, (*program)["out"])
        << (*program)["template"] << (rendered ? "" : "\n" + rendered.error().message);
  }
  EXPECT_GT(programs, 500u);
}

TEST(JinjaPrograms, EqualJinja2) { check_programs("jinja_programs.jsonl"); }

// Blocks, `self`, autoescape, integers of more than 64 bits (--only blocks).
TEST(JinjaPrograms, OfBlocksEqualJinja2) { check_programs("jinja_blocks.jsonl"); }

}  // namespace
}  // namespace brass::jinja
