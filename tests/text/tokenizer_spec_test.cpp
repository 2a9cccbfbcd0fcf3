// Vocabularies that files should not have: an error that names the cause, or defined behaviour.
#include <functional>
#include <limits>

#include "text/tokenizer_data.h"

namespace brass {
namespace {

std::string refusal(const VocabSpec& spec) {
  const auto made = Tokenizer::create(spec);
  return made ? "accepted" : made.error().message + " | " + made.error().hint;
}

struct Case {
  const char* expected;  // part of the error
  std::function<void(VocabSpec&)> spoil;
};

TEST(TokenizerSpec, RefusesWhatItCannotDo) {
  const float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Case> cases = {
      {"tokenizer.ggml.model is 'none'", [](VocabSpec& s) { s.model = "none"; }},
      {"tokenizer model 'rwkv' is not supported | supported are: gpt2, llama, gemma4, t5, bert",
       [](VocabSpec& s) { s.model = "rwkv"; }},
      {"pre-tokenizer 'odd' is not supported | known are: default, gpt-2",
       [](VocabSpec& s) { s.pre = "odd"; }},
      {"tokenizer.ggml.tokens: the vocabulary is empty", [](VocabSpec& s) { s.tokens.clear(); }},
      {"tokens are the same", [](VocabSpec& s) { s.tokens.assign(s.tokens.size(), "x"); }},
      {"tokenizer.ggml.token_type: 1 entries", [](VocabSpec& s) { s.kinds.resize(1); }},
      {"token 3 is of unknown type 9", [](VocabSpec& s) { s.kinds[3] = static_cast<TokenKind>(9); }},
      {"tokenizer.ggml.scores: 2 entries", [](VocabSpec& s) { s.scores = {1, 2}; }},
      {"score of token 5 is not a number",
       [=](VocabSpec& s) { s.scores.assign(s.tokens.size(), 0), s.scores[5] = kNan; }},
      {"bos_token_id: id 264 is outside",
       [](VocabSpec& s) { s.bos = static_cast<int32_t>(s.tokens.size()); }},
      {"eos_token_id: id -2 is outside", [](VocabSpec& s) { s.eos = -2; }},
      {"padding_token_id: id 2147483647 is outside", [](VocabSpec& s) { s.pad = INT32_MAX; }},
      {"token 4, a byte token, is '<0x-1>'",
       [](VocabSpec& s) { s.tokens[4] = "<0x-1>", s.kinds[4] = TokenKind::kByte; }},
      {"entry 5 ('he zz') needs the token 'zz'", [](VocabSpec& s) { s.merges.push_back("he zz"); }},
      {"entry 5 ('he he') needs the token 'hehe'", [](VocabSpec& s) { s.merges.push_back("he he"); }},
      {"entry 5 is 'hehe', not two pieces", [](VocabSpec& s) { s.merges.push_back("hehe"); }},
      {"entry 5 is 'he ', not two pieces", [](VocabSpec& s) { s.merges.push_back("he "); }},
      {"entry 5 is '', not two pieces", [](VocabSpec& s) { s.merges.push_back(""); }},
      {"a control or user-defined token, has 2000 bytes",
       [](VocabSpec& s) { s.tokens[4].assign(2000, 'x'), s.kinds[4] = TokenKind::kControl; }},
  };
  EXPECT_EQ(refusal(small_bytes()), "accepted");
  for (const Case& c : cases) {
    VocabSpec spec = small_bytes();
    c.spoil(spec);
    EXPECT_NE(refusal(spec).find(c.expected), std::string::npos) << c.expected << " <> " << refusal(spec);
  }
  VocabSpec scores = small_scores();
  scores.scores.clear();
  EXPECT_NE(refusal(scores).find("tokenizer.ggml.scores"), std::string::npos) << refusal(scores);
}

TEST(TokenizerSpec, SaysWhatAFileLeavesOpen) {
  VocabSpec spec = small_bytes();
  EXPECT_TRUE(make(spec)->warnings().empty());
  spec.pre.clear();
  ASSERT_EQ(make(spec)->warnings().size(), 1u);
  EXPECT_NE(make(spec)->warnings()[0].find("tokenizer.ggml.pre is missing"), std::string::npos);
}

// The first of equal tokens counts, empty ones never match, nothing loops or crashes.
TEST(TokenizerSpec, OddButUsable) {
  VocabSpec spec = small_bytes();
  spec.tokens.push_back("hello"), spec.kinds.push_back(TokenKind::kNormal);
  spec.tokens.push_back(""), spec.kinds.push_back(TokenKind::kNormal);
  spec.tokens.push_back(""), spec.kinds.push_back(TokenKind::kUserDefined);
  spec.tokens.push_back(""), spec.kinds.push_back(TokenKind::kControl);
  spec.tokens.push_back("\xFF\xFE"), spec.kinds.push_back(TokenKind::kNormal);
  spec.merges.push_back("h e");
  const auto tokenizer = make(spec);
  const std::string text = "hello\xFF\xFE hello";
  const auto ids = tokenizer->encode(text, {.parse_special = true});
  EXPECT_EQ(ids[0], 259);
  EXPECT_EQ(tokenizer->decode(ids, true), text);
}

// Bytes without a piece are left out, as by the original, which the warning says; they never turn into a control piece.
TEST(TokenizerSpec, BytesWithoutAPiece) {
  VocabSpec spec = small_bytes();
  spec.unk = 261;
  spec.tokens['x'] = "[gone]";
  const auto tokenizer = make(spec);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("axb"), true), "ab");
  EXPECT_EQ(tokenizer->warnings().size(), 1u);
  // Its neighbours merge as if it had not been there.
  EXPECT_EQ(tokenizer->encode("hexllo"), tokenizer->encode("hello"));
  EXPECT_TRUE(tokenizer->encode("x").empty() || tokenizer->decode(tokenizer->encode("x"), true).empty());
}

// A list of merges can name a control piece as what two pieces become; text must not get there.
TEST(TokenizerSpec, MergesNeverMakeControlPieces) {
  VocabSpec spec = small_bytes();
  spec.tokens.push_back("hh"), spec.kinds.push_back(TokenKind::kControl);
  spec.merges.insert(spec.merges.begin(), "h h");
  const auto tokenizer = make(spec);
  for (const int32_t id : tokenizer->encode("hhello hh")) EXPECT_FALSE(tokenizer->is_control(id));
}

TEST(TokenizerSpec, AVocabularyWithoutTypes) {
  VocabSpec spec = small_bytes();
  spec.kinds.clear();
  const auto tokenizer = make(spec);
  EXPECT_TRUE(tokenizer->is_control(spec.eos));
  EXPECT_FALSE(tokenizer->is_control(spec.eos + 1));
}

}  // namespace
}  // namespace brass
