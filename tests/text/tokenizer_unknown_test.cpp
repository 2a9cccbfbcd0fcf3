// Vocabularies without byte pieces, as the sentencepiece library cuts for them
// (tools/oracles/unknown_fixtures.py).
#include <nlohmann/json.hpp>

#include "source_dir.h"
#include "text/tokenizer_data.h"

namespace brass {
namespace {

VocabSpec spec_of(const nlohmann::json& entry) {
  VocabSpec spec;
  spec.model = "llama";
  spec.tokens = entry["tokens"].get<std::vector<std::string>>();
  spec.scores = entry["scores"].get<std::vector<float>>();
  for (const int kind : entry["kinds"]) spec.kinds.push_back(static_cast<TokenKind>(kind));
  spec.unk = entry["unk"], spec.bos = entry["bos"], spec.eos = entry["eos"];
  spec.add_space_prefix = entry["space_in_front"] ? 1 : 0;
  return spec;
}

TEST(TokenizerUnknown, NeighboursJoinAsInSentencePiece) {
  const auto vocabularies =
      nlohmann::json::parse(read_text(source_dir() + "/tests/text/fixtures/tokenizer_unknown.json"));
  int joined = 0;
  for (const auto& entry : vocabularies) {
    const VocabSpec spec = spec_of(entry);
    const auto tokenizer = make(spec);
    for (const auto& item : entry["cases"]) {
      const auto expected = item["ids"].get<std::vector<int32_t>>();
      EXPECT_EQ(tokenizer->encode(item["t"].get<std::string>(), {.add_bos = false}), expected)
          << item["t"] << (entry["space_in_front"] ? ", with a blank in front" : "");
      joined += std::count(expected.begin(), expected.end(), spec.unk) == 1 ? 1 : 0;
    }
  }
  EXPECT_GT(joined, 20);
}

// A piece of its own between two unknown characters keeps them apart.
TEST(TokenizerUnknown, SpecialPiecesKeepThemApart) {
  VocabSpec spec = small_scores();
  for (size_t id = 0; id < spec.tokens.size(); ++id)
    if (spec.kinds[id] == TokenKind::kByte) spec.kinds[id] = TokenKind::kUnused;
  spec.add_space_prefix = 0;
  const auto tokenizer = make(spec);
  const auto tool = static_cast<int32_t>(spec.tokens.size()) - 1;
  EXPECT_EQ(tokenizer->encode("éé<tool>éé", {.add_bos = false}), (std::vector<int32_t>{0, tool, 0}));
  EXPECT_EQ(tokenizer->encode("é", {.add_bos = false}), (std::vector<int32_t>{0}));
}

}  // namespace
}  // namespace brass
