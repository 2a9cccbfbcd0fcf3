#include "text/tokenizer_nfc.h"

#include <utf8proc.h>

#include <set>
#include <sstream>

#include "source_dir.h"
#include "text/tokenizer_data.h"

namespace brass {
namespace {

std::string nfc(std::string_view text) {
  std::string storage;
  return std::string(tokens::to_nfc(text, storage));
}

// utf8proc's own one-call form, which is quadratic on long runs of marks.
std::string reference(const std::string& text) {
  utf8proc_uint8_t* made = nullptr;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                   static_cast<utf8proc_ssize_t>(text.size()), &made,
                                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  EXPECT_GE(length, 0);
  std::string out(reinterpret_cast<const char*>(made),
                  static_cast<size_t>(std::max<utf8proc_ssize_t>(length, 0)));
  free(made);
  return out;
}

// Of characters that Unicode 9 did not have: a text, and what `tokenizers` makes of it (tools/oracles/nfc_fixture.py).
struct LaterText {
  char32_t code;
  std::string text, normal;
};

std::vector<LaterText> later_texts() {
  std::vector<LaterText> out;
  std::istringstream lines(read_text(source_dir() + "/tests/text/fixtures/nfc_later.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    LaterText one;
    std::string* to = nullptr;
    for (std::string word; words >> word;) {
      if (word == ":") {
        to = &one.normal;
        continue;
      }
      const auto code = static_cast<char32_t>(std::stoul(word, nullptr, 16));
      if (to == nullptr) {
        one.code = code, to = &one.text;
      } else {
        tokens::append_utf8(*to, code);
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

TEST(TokenizerNfc, LaterCharactersStay) {
  const std::vector<LaterText> texts = later_texts();
  ASSERT_GT(texts.size(), 300u);
  for (const LaterText& one : texts) ASSERT_EQ(nfc(one.text), one.normal) << one.text;
}

TEST(TokenizerNfc, EveryCharacter) {
  std::set<char32_t> later;
  for (const LaterText& one : later_texts()) later.insert(one.code);
  for (char32_t code = 1; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    tokens::append_utf8(text, code);
    if (later.contains(code)) continue;
    ASSERT_EQ(nfc(text), reference(text)) << static_cast<uint32_t>(code);
    ASSERT_EQ(nfc("e" + text + "\xCC\x81"), reference("e" + text + "\xCC\x81"))
        << static_cast<uint32_t>(code);
  }
}

TEST(TokenizerNfc, RandomSequences) {
  // Where composition happens: Latin, marks, Indic vowel signs, Hangul jamo, kana, CJK compatibility.
  const std::pair<char32_t, char32_t> kRanges[] = {{'a', 'z'},         {0xC0, 0x17F},    {0x300, 0x345},
                                                   {0x9BE, 0x9D7},     {0xDCA, 0xDDF},   {0x1100, 0x11FF},
                                                   {0xAC00, 0xAC20},   {0x304B, 0x309A}, {0xF900, 0xF920},
                                                   {0x1D15E, 0x1D170}, {0x320, 0x330},   {0x5D0, 0x5EA}};
  Rng rng(12);
  for (int i = 0; i < 50000; ++i) {
    std::string text;
    for (uint64_t left = 1 + rng.below(12); left > 0; --left) {
      const auto& [low, high] = kRanges[rng.below(std::size(kRanges))];
      tokens::append_utf8(text, low + static_cast<char32_t>(rng.below(high - low + 1)));
    }
    ASSERT_EQ(nfc(text), reference(text)) << text;
    ASSERT_EQ(nfc(nfc(text)), nfc(text)) << text;
  }
}

TEST(TokenizerNfc, LeavesIllFormedStretchesAlone) {
  EXPECT_EQ(nfc("e\xFF\xCC\x81"), "e\xFF\xCC\x81");
  EXPECT_EQ(nfc("e\xCC\x81\xCC"), "\xC3\xA9\xCC");
  EXPECT_EQ(nfc("\xFF"
                "e\xCC\x81"),
            "\xFF\xC3\xA9");
}

TEST(TokenizerNfc, LongRunsOfMarks) {
  std::string text = "a";
  while (text.size() < 400000) text += "\xCC\x81\xCC\xA3";  // above, below: out of order again and again
  const double begin = thread_seconds();
  EXPECT_EQ(nfc(text).size(), text.size());  // a + dot below composes: 3 bytes for 1 + 2
  EXPECT_LT(thread_seconds() - begin, 1.0);
}

TEST(TokenizerNfc, OnlyWhereTheOriginalDoesIt) {
  for (const auto& [pre, composes] : {std::pair{"qwen2", true},
                                      {"qwen35", true},
                                      {"command-r", true},
                                      {"mpt", true},
                                      {"llama-bpe", false},
                                      {"gpt-2", false},
                                      {"starcoder", false},
                                      {"falcon", false}}) {
    VocabSpec spec = small_bytes();
    spec.pre = pre;
    const auto tokenizer = make(spec);
    const std::string loose = "e\xCC\x81", composed = "\xC3\xA9";
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(loose), true), composes ? composed : loose) << pre;
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(loose, {.normalize = false}), true), loose) << pre;
    const Segment parts[] = {{"e", true}, {"\xCC\x81", false}};
    EXPECT_EQ(tokenizer->decode(tokenizer->encode_segments(parts), true), composes ? composed : loose) << pre;
  }
}

}  // namespace
}  // namespace brass
