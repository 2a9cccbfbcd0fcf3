// decode(encode(x)) = x, on random UTF-8 and on bytes that are not.
#include <set>

#include "sanitized.h"
#include "source_dir.h"
#include "text/tokenizer_data.h"

namespace brass {
namespace {

constexpr int kTexts = 10000;
const EncodeOptions kAsIs{.add_bos = false, .normalize = false};

// The byte values that a vocabulary has no piece for. None of them occurs in UTF-8.
std::set<int> lost_bytes(const Tokenizer& tokenizer) {
  std::set<int> lost;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    if (tokenizer.decode(tokenizer.encode(text, kAsIs), true) != text) lost.insert(byte);
  }
  return lost;
}

TEST(TokenizerRoundTrip, RandomText) {
  for (const std::string& name : kSharedVocabularies) {
    const Tokenizer* tokenizer = shared_tokenizer(name);
    if (tokenizer == nullptr) continue;
    Rng rng(7);
    for (int i = 0; i < kTexts; ++i) {
      const std::string text = random_utf8(rng);
      const auto ids = tokenizer->encode(text, kAsIs);
      ASSERT_EQ(tokenizer->decode(ids, true), text) << name << ", text " << i;
      for (const int32_t id : ids) ASSERT_FALSE(tokenizer->is_control(id)) << name << ", text " << i;
    }
  }
}

TEST(TokenizerRoundTrip, RandomBytes) {
  for (const std::string& name : kSharedVocabularies) {
    const Tokenizer* tokenizer = shared_tokenizer(name);
    if (tokenizer == nullptr) continue;
    const std::set<int> lost = lost_bytes(*tokenizer);
    const std::set<int> expected = {0xC0, 0xC1, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9,
                                    0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF};
    EXPECT_EQ(lost, name == "deepseek-coder" ? expected : std::set<int>()) << name;
    Rng rng(8);
    int compared = 0;
    for (int i = 0; i < kTexts; ++i) {
      const std::string text = random_bytes(rng);
      const auto ids = tokenizer->encode(text, kAsIs);
      const bool whole = std::none_of(text.begin(), text.end(),
                                      [&](char c) { return lost.contains(static_cast<uint8_t>(c)); });
      if (!whole || (tokenizer->find_special("\xE2\x96\x81") < 0 && has_blank_mark(text))) continue;
      ++compared;
      ASSERT_EQ(tokenizer->decode(ids, true), text) << name << ", text " << i;
    }
    EXPECT_GT(compared, kTexts / 2) << name;
  }
}

TEST(TokenizerRoundTrip, OneLetter) {
  constexpr size_t kBytes = kSanitized ? 100000 : 1000000;
  for (const std::string& name : kSharedVocabularies) {
    const Tokenizer* tokenizer = shared_tokenizer(name);
    if (tokenizer == nullptr) continue;
    for (const std::string unit : {"a", " ", "!", "_", "\n", "中", "\xCC\x81"}) {
      std::string text;
      while (text.size() < kBytes) text += unit;
      const double begin = thread_seconds();
      const auto ids = tokenizer->encode(text, kAsIs);
      EXPECT_LT(thread_seconds() - begin, 1.0) << name << ", '" << unit << "'";
      EXPECT_TRUE(tokenizer->decode(ids, true) == text) << name << ", '" << unit << "'";
    }
  }
}

TEST(TokenizerRoundTrip, Speed) {
  const std::string page = read_text(source_dir() + "/LICENSE");
  std::string text;
  while (text.size() < 2000000) text += page;
  for (const std::string& name : kSharedVocabularies) {
    const Tokenizer* tokenizer = shared_tokenizer(name);
    if (tokenizer == nullptr) continue;
    tokenizer->encode(page);
    const double begin = thread_seconds();
    const size_t count = tokenizer->encode(text).size();
    const double speed = static_cast<double>(text.size()) / (thread_seconds() - begin) / 1e6;
    std::printf("%-14s %6.1f MB/s, %.2f bytes a token\n", name.c_str(), speed,
                static_cast<double>(text.size()) / static_cast<double>(count));
    EXPECT_GT(speed, 1.0) << name;
  }
}

}  // namespace
}  // namespace brass
