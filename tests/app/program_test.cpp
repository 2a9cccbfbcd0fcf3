// The program as scripts see it: what it prints, what it says went wrong, its exit code.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "shared_data.h"
#include "source_dir.h"
#include "temp_folder.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

struct Ran {
  int code = -1;  // −1: it did not end by itself
  std::string out, err;
};

class Program : public testing::Test {
  TempFolder folder_;

 protected:
  // `arguments`: as in a shell, redirections of the output too.
  Ran run(const std::string& arguments, const std::string& input = "") const {
    const std::string in = folder_.write("in", input), out = folder_ / "out", err = folder_ / "err";
    // Tests lie in a folder of the one that holds the program.
    const auto program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "brass";
    const int status =
        std::system(fmt::format("{} <{} >{} 2>{} {}", program.string(), in, out, err, arguments).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(out), read(err)};
  }
  std::string write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text);
  }
  // A program that ends in this way, and says so.
  void expect(const Ran& ran, int code, const std::string& says) const {
    EXPECT_EQ(ran.code, code) << ran.out << ran.err;
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err << "does not say: " << says;
  }

  const std::string vocabulary_ = source_dir() + "/tests/text/fixtures/small-bert-cased.gguf";
  const std::string template_ =
      write("t.jinja", "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}");
};

TEST_F(Program, OneAnswerALineWhateverTheLineIs) {
  const std::string odd = "\"ab\"\r\n\n\"\\ud800\"\n\"\xff\"\n\"a\\u0000b\"\n\"a" + std::string(1, '\0') +
                          "b\"\n17\nnull\n{\n\"" + std::string(1 << 20, 'a') + "\"\n\"ab\"";
  const Ran ran = run("tokenize " + vocabulary_ + " --jsonl -", odd);
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), lines_of(odd).size());
  EXPECT_EQ(lines.front(), lines.back());
  for (const std::string& line : lines) {
    const Json answer = Json::parse(line);
    EXPECT_TRUE(answer.is_array() || answer.contains("error")) << line;
  }
}

TEST_F(Program, GrammarLinesHaveAnAnswerEach) {
  const Ran ran = run("grammar check --jsonl -",
                      "{\"schema\": {\"type\": \"integer\"}, \"instances\": [\"1\", \"1.5\"]}\r\n\n{}\n"
                      "{\"schema\": true, \"instances\": \"1\"}\n{\"schema\": true, \"instances\": [1]}\n"
                      "{\"schema\": {\"type\": \"strng\"}}\n{\"schema\": true}");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0], "{\"valid\":[true,false]}");
  for (const size_t i : {1, 2, 3, 4, 5}) EXPECT_TRUE(Json::parse(lines[i]).contains("error")) << lines[i];
  EXPECT_NE(lines[5].find("'type'"), std::string::npos) << lines[5];
  EXPECT_EQ(lines[6], "{\"valid\":[]}");
}

TEST_F(Program, OutputThatDoesNotArriveIsAFailure) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const std::string messages = write("m.json", R"([{"role": "user", "content": "Hi"}])");
  for (const std::string& command :
       {"render " + template_ + " --messages " + messages, "tokenize " + vocabulary_ + " ab",
        "tokenize " + vocabulary_ + " --decode --ids 58", "parse " + template_ + " --text-file " + messages,
        "grammar check " + write("s.json", "{}")}) {
    ASSERT_EQ(run(command).code, 0) << command;
    expect(run(command + " >/dev/full"), 1, "brass: ");
    expect(run(command + " >&-"), 1, "brass: ");
  }
}

TEST_F(Program, NothingThatIsGivenIsPassedOver) {
  const std::string file = write("x.json", "[]");
  for (const char* flags : {"", "ab --jsonl -", "ab --text-file x", "--ids 1", "--decode", "--decode ab",
                            "--decode --ids 1 ab", "--decode --ids 1 --jsonl -", "--text-file x --jsonl -"})
    EXPECT_EQ(run(fmt::format("tokenize {} {}", vocabulary_, flags)).code, 2) << flags;
  EXPECT_EQ(run("grammar check " + file + " --jsonl -").code, 2);
  EXPECT_EQ(run("grammar check --jsonl - --instance " + file).code, 2);
  EXPECT_EQ(run("render " + template_ + " --messages " + file + " --jsonl -").code, 2);
}

TEST_F(Program, TextsThatBeginLikeFlags) {
  const Ran text = run("tokenize " + vocabulary_ + " --json -- -hello");
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("\" -\""), std::string::npos) << text.out;
  for (const char* word : {"-hello", "-x", "-nine"})
    expect(run("tokenize " + vocabulary_ + " " + word), 2, "goes behind '--'");
  EXPECT_EQ(run("tokenize -h").code, 0);
}

TEST_F(Program, TheOtherFileOfALeverIsReadBeforeAnythingIsMeasured) {
  const auto model = shared_data("tiny/llama-a.gguf"), other = shared_data("tiny/qwen3-a.gguf");
  if (!model || !other) GTEST_SKIP() << "no shared data";
  const Ran ran = run("bench " + *model + " --levers --other " + *other + " --json");
  expect(ran, 2, "is not the same model");
  EXPECT_EQ(ran.out, "");
  expect(run("bench " + *model + " --levers --other /nowhere.gguf"), 1, "/nowhere.gguf: no such file");
}

TEST_F(Program, GrammarsAreReadBeforeTheModel) {
  const std::string run_it = "run /nowhere.gguf x ";
  expect(run(run_it + "--choices a,b,a"), 1, "/nowhere.gguf: no such file");
  expect(run(run_it + "--choices 'a\\,b,-1'"), 1, "/nowhere.gguf: no such file");
  expect(run(run_it + "--choices a,,b"), 2, "flag --choices: choices[1]: an empty text");
  expect(run(run_it + "--choices ''"), 2, "flag --choices: choices[0]");
  expect(run(run_it + "--grammar " + write("marked", "\xEF\xBB\xBFroot ::= \"a\"\r\n")), 1, "no such file");
  expect(run(run_it + "--grammar " + write("bad.gbnf", "root ::= (\"a\"")), 2, "bad.gbnf: grammar: line 1");
  expect(run(run_it + "--json-schema " + write("marked.json", "\xEF\xBB\xBF{}")), 1, "no such file");
  expect(run(run_it + "--json-schema " + write("empty.json", "")), 2, "empty.json: JSON line 1");
  expect(run(run_it + "--json-schema " + write("false.json", "false")), 2, "no value fulfils the schema");
  expect(run(run_it + "--json-schema " + write("type.json", R"({"type": "strng"})")), 2, "keyword 'type'");
  expect(run(run_it + "--regex '(a'"), 2, "flag --regex");
}

TEST_F(Program, FilesOfAnotherFormAreNamed) {
  const std::string good = write("good.json", R"([{"role": "user", "content": "Hi"}])");
  const std::string other = write("other.json", R"({"message": []})"), word = write("word.json", "\"tools\"");
  expect(run("render " + template_ + " --messages " + other), 1, other);
  expect(run("render " + template_ + " --messages " + word), 1, "word.json");
  for (const std::string& file : {other, word, write("none.json", ""), std::string("/nowhere.json")}) {
    expect(run("render " + template_ + " --messages " + good + " --tools " + file), 1, file);
    expect(run("parse " + template_ + " --text-file " + good + " --tools " + file), 1, file);
  }
  const std::string request =
      write("request.json", R"({"messages": [{"role": "user", "content": "Hi"}], "tools": null})");
  EXPECT_EQ(run("render " + template_ + " --messages " + request + " --tools " + request).out, "[user]Hi");
}

// A reply says who found its tokens, on a device that finds them and on one that does not.
TEST_F(Program, SaysWhoChose) {
  const std::string model = source_dir() + "/tests/runtime/fixtures/llamabias-a.gguf";
  const auto chosen_by = [&](const std::string& flags) {
    const Ran ran = run("run " + model + " --ids 1,2,3 -n 3 --seed 1 --json " + flags);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? Json::parse(ran.out)["chosen_by"].get<std::string>() : "";
  };
  EXPECT_EQ(chosen_by("--device ref --greedy"), "device");
  EXPECT_EQ(chosen_by("--device ref"), "candidates");
  EXPECT_EQ(chosen_by("--device ref --top-k 0"), "sampler");
  EXPECT_EQ(chosen_by("--device ref --logit-bias 1=0"), "sampler");
  EXPECT_EQ(chosen_by("--device cpu"), "sampler");
  EXPECT_EQ(chosen_by("--device cpu --greedy"), "sampler");
  const Ran plan = run("explain " + model + " --device ref --phase sampled");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("candidates[R,256]"), std::string::npos) << plan.out;
}

}  // namespace
}  // namespace brass::app
