// WordPiece and Unigram: small vocabularies of several kinds (tools/oracles/vocab_gguf.py) against what the
// originals made of adversarial texts (tools/oracles/tokenizer_oracle.py), and what files leave out.
#include <nlohmann/json.hpp>
#include <sstream>

#include "sanitized.h"
#include "source_dir.h"
#include "text/tokenizer_data.h"

namespace brass {
namespace {

using Ids = std::vector<int32_t>;

const std::vector<std::string> kSmall = {"bert-uncased", "bert-cased", "bert-accents",
                                         "t5-table",     "t5-bytes",   "t5-plain"};

std::string fixture(const std::string& name) { return source_dir() + "/tests/text/fixtures/" + name; }

VocabSpec small_spec(const std::string& name) {
  const auto file = gguf::File::open(fixture("small-" + name + ".gguf"));
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message);
  auto spec = gguf::read_vocab(*file);
  EXPECT_TRUE(spec.has_value()) << (spec ? "" : spec.error().message);
  return *spec;
}

std::string refusal(const VocabSpec& spec) {
  const auto made = Tokenizer::create(spec);
  return made ? "accepted" : made.error().message;
}

TEST(TokenizerModels, TheOriginalsFixtures) {
  for (const std::string& name : kSmall) {
    const auto tokenizer = make(small_spec(name));
    std::istringstream in(read_text(fixture("tokenizer_small-" + name + ".jsonl")));
    int compared = 0;
    for (std::string line; std::getline(in, line); ++compared) {
      const auto entry = nlohmann::json::parse(line);
      const EncodeOptions options{
          .parse_special = entry["s"], .add_bos = false, .add_eos = false, .normalize = entry["n"]};
      EXPECT_EQ(tokenizer->encode(entry["t"].get<std::string>(), options), entry["ids"].get<Ids>())
          << name << ": " << line;
    }
    EXPECT_GE(compared, 150) << name;
  }
}

TEST(TokenizerModels, LinearOnLongRuns) {
  constexpr size_t kBytes = kSanitized ? 30000 : 1000000;
  for (const std::string& name : kSmall) {
    const auto tokenizer = make(small_spec(name));
    for (const std::string unit :
         {"a", "A", " ", "é", "e\xCC\x81", "\xCC\x81", "中", "\xFF", "!", "a ", "\xE2\x96\x81"}) {
      std::string text;
      while (text.size() < kBytes) text += unit;
      const double begin = thread_seconds();
      tokenizer->encode(text);
      EXPECT_LT(thread_seconds() - begin, 1.0) << name << ", '" << unit << "'";
    }
  }
}

TEST(TokenizerModels, BytesThatAreNoText) {
  for (const std::string& name : kSmall) {
    const auto tokenizer = make(small_spec(name));
    Rng rng(3);
    for (int i = 0; i < 2000; ++i) {
      for (const int32_t id : tokenizer->encode(random_bytes(rng), {.add_bos = false, .add_eos = false}))
        ASSERT_TRUE(tokenizer->is_valid(id) && tokenizer->piece(id) != "[CLS]" &&
                    tokenizer->piece(id) != "</s>");
    }
  }
}

// A WordPiece vocabulary of a few pieces, with what a file may leave out left out.
VocabSpec few_words(std::vector<std::string> words) {
  VocabSpec spec;
  spec.model = "bert";
  spec.tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
  spec.kinds.assign(4, TokenKind::kControl);
  for (std::string& word : words) spec.tokens.push_back(std::move(word));
  spec.kinds.resize(spec.tokens.size(), TokenKind::kNormal);
  return spec;
}

TEST(TokenizerModels, WordPieceFindsItsOwnEnds) {
  VocabSpec spec = few_words({"▁hello", "▁hell", "o", "▁!", "▁中"});
  const auto tokenizer = make(spec);
  EXPECT_EQ(tokenizer->encode("Hello, helloo hellö!中"), (Ids{2, 4, 1, 4, 6, 4, 7, 8, 3}));
  EXPECT_EQ(
      tokenizer->encode("hello [SEP] hello", {.parse_special = true, .add_bos = false, .add_eos = false}),
      (Ids{4, 3, 4}));
  EXPECT_EQ(tokenizer->encode("[SEP]", {.add_bos = false, .add_eos = false}), (Ids{1, 1, 1}));
  EXPECT_EQ(tokenizer->decode(Ids{2, 4, 5, 6, 7, 3}, false), "hello hello !");
  EXPECT_EQ(tokenizer->bos(), 2);
  EXPECT_EQ(tokenizer->eos(), 3);
  spec.add_eos = 0;
  EXPECT_EQ(make(spec)->encode("hello"), (Ids{2, 4}));
  spec.add_sep = 1;
  EXPECT_EQ(make(spec)->encode("hello"), (Ids{2, 4, 3}));
  spec.sep = 0, spec.cls = 3;
  EXPECT_EQ(make(spec)->encode("hello"), (Ids{3, 4, 0}));
}

TEST(TokenizerModels, WordPieceKeepsCaseWhereTheVocabularyHasIt) {
  VocabSpec spec = few_words({"▁Hello", "▁hello", "▁é", "▁e"});
  const auto cased = make(spec);
  EXPECT_EQ(cased->encode("Hello hello é", {.add_bos = false, .add_eos = false}), (Ids{4, 5, 6}));
  ASSERT_EQ(cased->warnings().size(), 1u);
  EXPECT_NE(cased->warnings()[0].find("normalizer.lowercase"), std::string::npos);
  spec.lowercase = 1;
  EXPECT_EQ(make(spec)->encode("Hello é", {.add_bos = false, .add_eos = false}), (Ids{5, 7}));
  spec.strip_accents = 0;
  EXPECT_EQ(make(spec)->encode("Hello É", {.add_bos = false, .add_eos = false}), (Ids{5, 6}));
}

TEST(TokenizerModels, LongWordsAreUnknown) {
  const auto tokenizer = make(few_words({"▁a", "a"}));
  EXPECT_EQ(tokenizer->encode(std::string(100, 'a')).size(), 102u);
  EXPECT_EQ(tokenizer->encode(std::string(101, 'a')), (Ids{2, 1, 3}));
}

TEST(TokenizerModels, WhatIsMissingIsNamed) {
  VocabSpec bert = few_words({"▁a"});
  bert.tokens[1] = "[x]";
  EXPECT_NE(refusal(bert).find("tokenizer.ggml.unknown_token_id"), std::string::npos);
  EXPECT_NE(refusal(few_words({"a", "##b"})).find("begins a word"), std::string::npos);
  VocabSpec t5 = small_spec("t5-plain");
  EXPECT_EQ(refusal(t5), "accepted");
  t5.unk = -1;
  EXPECT_EQ(refusal(t5), "accepted");  // its type says which piece it is
  for (TokenKind& kind : t5.kinds) kind = kind == TokenKind::kUnknown ? TokenKind::kControl : kind;
  EXPECT_NE(refusal(t5).find("tokenizer.ggml.unknown_token_id"), std::string::npos);
  t5.scores.clear();
  EXPECT_NE(refusal(t5).find("tokenizer.ggml.scores"), std::string::npos);
}

// Tables that are cut, or that point anywhere: refused by name, or no harm.
TEST(TokenizerModels, BrokenTables) {
  VocabSpec spec = small_spec("t5-table");
  const std::vector<uint8_t> whole = spec.precompiled_charsmap;
  ASSERT_GT(whole.size(), 1000u);
  for (const size_t size : {size_t{1}, size_t{3}, size_t{4}, size_t{100}, whole.size() - 1}) {
    spec.precompiled_charsmap.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal(spec).find("tokenizer.ggml.precompiled_charsmap"), std::string::npos) << size;
  }
  Rng rng(9);
  for (int i = 0; i < 200; ++i) {
    spec.precompiled_charsmap = whole;
    for (int changes = 0; changes < 40; ++changes)
      spec.precompiled_charsmap[4 + rng.below(whole.size() - 5)] = static_cast<uint8_t>(rng.below(256));
    const auto made = Tokenizer::create(spec);
    if (!made) continue;
    for (int texts = 0; texts < 20; ++texts) (*made)->encode(random_utf8(rng));
  }
}

// Texts between special pieces are texts of their own, as in Hugging Face's tokenizers.
TEST(TokenizerModels, SpecialPiecesCutTexts) {
  for (const std::string name : {"t5-plain", "bert-uncased"}) {
    VocabSpec spec = small_spec(name);
    const auto tool = static_cast<int32_t>(spec.tokens.size());
    spec.tokens.push_back("<tool>"), spec.kinds.push_back(TokenKind::kUserDefined);
    if (!spec.scores.empty()) spec.scores.push_back(0);
    const auto tokenizer = make(spec);
    const EncodeOptions bare{.add_bos = false, .add_eos = false};
    Ids expected = tokenizer->encode("the hello", bare);
    expected.push_back(tool);
    const Ids rest = tokenizer->encode("hello", bare);
    expected.insert(expected.end(), rest.begin(), rest.end());
    EXPECT_EQ(tokenizer->encode("the hello <tool>hello", bare), expected) << name;
    EXPECT_EQ(tokenizer->decode(expected, false), "the hello<tool>hello") << name;
  }
}

TEST(TokenizerModels, UnigramEndsAText) {
  VocabSpec spec = small_spec("t5-plain");
  spec.bos = spec.eos = -1;
  const auto tokenizer = make(spec);
  ASSERT_GE(tokenizer->eos(), 0);
  EXPECT_EQ(tokenizer->piece(tokenizer->eos()), "</s>");
  EXPECT_EQ(tokenizer->encode("the").back(), tokenizer->eos());
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("  the   the "), false), "the the");
}

}  // namespace
}  // namespace brass
