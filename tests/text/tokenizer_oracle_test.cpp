// What the original tokenizers make of adversarial texts (tools/oracles/tokenizer_oracle.py wrote the
// fixtures).
#include <nlohmann/json.hpp>
#include <sstream>

#include "source_dir.h"
#include "text/tokenizer_data.h"

namespace brass {
namespace {

TEST(TokenizerOracle, Fixtures) {
  for (const std::string& name : kSharedVocabularies) {
    const std::string lines = read_text(source_dir() + "/tests/text/fixtures/tokenizer_" + name + ".jsonl");
    ASSERT_FALSE(lines.empty()) << name;
    const Tokenizer* tokenizer = shared_tokenizer(name);
    if (tokenizer == nullptr) continue;
    std::istringstream in(lines);
    int compared = 0;
    for (std::string line; std::getline(in, line); ++compared) {
      const auto entry = nlohmann::json::parse(line);
      const EncodeOptions options{
          .parse_special = entry["s"], .add_bos = false, .add_eos = false, .normalize = entry["n"]};
      EXPECT_EQ(tokenizer->encode(entry["t"].get<std::string>(), options),
                entry["ids"].get<std::vector<int32_t>>())
          << name << ": " << line;
    }
    EXPECT_GE(compared, 100) << name;
  }
}

}  // namespace
}  // namespace brass
