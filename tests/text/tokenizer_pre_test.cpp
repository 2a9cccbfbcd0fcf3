// Pre-tokenizers: every row runs, loses nothing and takes linear time; where words end, by the published
// rules.
#include "text/tokenizer_pre.h"

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sanitized.h"
#include "source_dir.h"
#include "text/tokenizer_data.h"

namespace brass {
namespace {

using tokens::PreTokenizer;
using Words = std::vector<std::string>;

Words words_of(const PreTokenizer& pre, std::string_view text) {
  PreTokenizer::Scratch scratch;
  std::vector<size_t> ends;
  pre.split(text, ends, scratch);
  Words words;
  size_t begin = 0;
  for (const size_t end : ends) {
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

Words words_of(std::string_view name, std::string_view text) {
  return words_of(**PreTokenizer::create(name), text);
}

TEST(TokenizerPre, WordsAreTheText) {
  for (const std::string_view name : PreTokenizer::names()) {
    const auto pre = PreTokenizer::create(name);
    ASSERT_TRUE(pre.has_value()) << name;
    Rng rng(11);
    for (int i = 0; i < 200; ++i) {
      const std::string text = random_utf8(rng);
      std::string joined;
      for (const std::string& word : words_of(**pre, text)) {
        EXPECT_FALSE(word.empty()) << name;
        joined += word;
      }
      EXPECT_EQ(joined, text) << name;
    }
  }
}

TEST(TokenizerPre, LinearOnLongRuns) {
  constexpr size_t kBytes = kSanitized ? 30000 : 300000;
  for (const std::string_view name :
       {"default",      "gpt-2",       "llama-bpe",  "qwen2",     "qwen35",   "smollm",     "deepseek-coder",
        "deepseek-llm", "deepseek-v3", "falcon",     "bloom",     "viking",   "tekken",     "gpt-4o",
        "youtu",        "bailingmoe",  "seed-coder", "kimi-k2",   "jais-2",   "exaone-moe", "tiny_aya",
        "superbpe",     "afmoe",       "laguna",     "chameleon", "ufakzeka", "minicpm5",   "spark2_5"}) {
    const auto pre = PreTokenizer::create(name);
    ASSERT_TRUE(pre.has_value()) << name;
    for (const std::string unit : {"a", "A", " ", "\n", "\r\n", "1", "½", "!", "'", "中", "\xCC\x81", "　",
                                   "\x01", " \n", "Aa", "a ", "12a"}) {
      std::string text;
      while (text.size() < kBytes) text += unit;
      for (const char* end : {"", "x", "!"}) {
        const double begin = thread_seconds();
        words_of(**pre, text + end);
        EXPECT_LT(thread_seconds() - begin, 2.0) << name << ", '" << unit << "' then '" << end << "'";
      }
    }
  }
}

// What `tokenizers` makes of the published patterns (tools/oracles/pre_fixtures.py).
TEST(TokenizerPre, WordsAreThoseOfTheOriginals) {
  std::istringstream in(read_text(source_dir() + "/tests/text/fixtures/pre_words.jsonl"));
  std::map<std::string, int> compared;
  for (std::string line; std::getline(in, line);) {
    const auto entry = nlohmann::json::parse(line);
    const auto name = entry["pre"].get<std::string>();
    const Words expected = entry["words"].get<Words>();
    std::string text;
    for (const std::string& word : expected) text += word;
    EXPECT_EQ(words_of(name, text), expected) << name << ": " << line;
    compared[name]++;
  }
  EXPECT_EQ(compared.size(), 20u);
  for (const auto& [name, count] : compared) EXPECT_GE(count, 90) << name;
}

TEST(TokenizerPre, ContractionsAndDigits) {
  EXPECT_EQ(words_of("gpt-2", "I'LL don't 12345"), (Words{"I", "'", "LL", " don", "'t", " 12345"}));
  EXPECT_EQ(words_of("llama-bpe", "I'LL don't 12345"), (Words{"I", "'LL", " don", "'t", " ", "123", "45"}));
  EXPECT_EQ(words_of("qwen2", "I'LL 123"), (Words{"I", "'LL", " ", "1", "2", "3"}));
  EXPECT_EQ(words_of("smollm", "a 12"), (Words{"a", " ", "1", "2"}));
  EXPECT_EQ(words_of("falcon", "12345"), (Words{"123", "45"}));
  EXPECT_EQ(words_of("gpt-4o", "HelloWorld's"), (Words{"Hello", "World's"}));
  EXPECT_EQ(words_of("deepseek-coder", "a, b\n\n你好x"), (Words{"a", ",", " b", "\n", "\n", "你好", "x"}));
}

// \s is White_Space: NEL and U+3000 are, U+180E, U+200B and U+FEFF are not.
TEST(TokenizerPre, WhiteSpace) {
  EXPECT_EQ(words_of("gpt-2", "a\xC2\x85\xE3\x80\x80 b"), (Words{"a", "\xC2\x85\xE3\x80\x80", " b"}));
  EXPECT_EQ(words_of("gpt-2", "a \xE1\xA0\x8E\xE2\x80\x8B\xEF\xBB\xBF b"),
            (Words{"a", " \xE1\xA0\x8E\xE2\x80\x8B\xEF\xBB\xBF", " b"}));
  EXPECT_EQ(words_of("gpt-2", "a   b"), (Words{"a", "  ", " b"}));
  EXPECT_EQ(words_of("gpt-2", "a   "), (Words{"a", "   "}));
}

// The quirk of two rules in turn: blanks before a digit end a text of their own.
TEST(TokenizerPre, RulesApplyInTurn) {
  EXPECT_EQ(words_of("smollm", "a   1"), (Words{"a", "   ", "1"}));
  EXPECT_EQ(words_of("gpt-2", "a   1"), (Words{"a", "  ", " 1"}));
}

}  // namespace
}  // namespace brass
