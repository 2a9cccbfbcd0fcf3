// The reference vectors of the shared vocabularies: texts and the ids that llama.cpp makes of them.
#include <sstream>

#include "text/tokenizer_data.h"

namespace brass {
namespace {

std::vector<std::string> split_cases(const std::string& text) {
  const std::string mark = "\n__ggml_vocab_test__\n";
  std::vector<std::string> cases;
  size_t at = 0;
  for (size_t next; (next = text.find(mark, at)) != std::string::npos; at = next + mark.size()) {
    cases.push_back(text.substr(at, next - at));
  }
  if (at < text.size()) cases.push_back(text.substr(at));
  return cases;
}

std::vector<std::vector<int32_t>> read_ids(const std::string& text) {
  std::vector<std::vector<int32_t>> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream numbers(line);
    lines.emplace_back();
    for (int32_t id; numbers >> id;) lines.back().push_back(id);
  }
  return lines;
}

TEST(TokenizerVectors, AllSharedVocabularies) {
  for (const std::string& name : kSharedVocabularies) {
    const Tokenizer* tokenizer = shared_tokenizer(name);
    if (tokenizer == nullptr) continue;
    const std::string base = *shared_data("vocab") + "/ggml-vocab-" + name + ".gguf";
    const auto texts = split_cases(read_text(base + ".inp"));
    const auto expected = read_ids(read_text(base + ".out"));
    ASSERT_EQ(texts.size(), expected.size()) << name;
    ASSERT_GT(texts.size(), 40u) << name;
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(tokenizer->encode(texts[i], {.add_bos = false, .normalize = false}), expected[i])
          << name << ", case " << i << ": '" << texts[i] << "'";
    }
  }
}

}  // namespace
}  // namespace brass
