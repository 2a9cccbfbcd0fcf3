// Streaming: whole characters only, and in the end the same text.
#include "text/tokenizer_stream.h"

#include "text/tokenizer_data.h"

namespace brass {
namespace {

// Ill-formed stretches as U+FFFD, from the definition: the longest prefix of a character, else one byte.
std::string repaired(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const tokens::Utf8Step step = tokens::utf8_step(text, at);
    out += step.state == tokens::Utf8State::kValid ? text.substr(at, step.length) : "\xEF\xBF\xBD";
    at += step.length;
  }
  return out;
}

TEST(TokenizerStream, EqualsDecodeAndNeverHalfACharacter) {
  for (const std::string& name : kSharedVocabularies) {
    const Tokenizer* tokenizer = shared_tokenizer(name);
    if (tokenizer == nullptr) continue;
    Rng rng(10);
    StreamDecoder stream(*tokenizer, {.special = true});
    for (int i = 0; i < 2000; ++i) {
      auto ids = tokenizer->encode(i % 2 == 0 ? random_utf8(rng) : random_bytes(rng));
      for (uint64_t left = rng.below(3); left > 0; --left) {
        ids.insert(ids.begin() + static_cast<std::ptrdiff_t>(rng.below(ids.size() + 1)),
                   static_cast<int32_t>(rng.below(static_cast<uint64_t>(tokenizer->size()))));
      }
      std::string text;
      for (const int32_t id : ids) {
        const std::string_view more = stream.push(id);
        ASSERT_EQ(tokens::valid_utf8_end(more, 0), more.size()) << name;
        text += more;
      }
      text += stream.flush();
      ASSERT_EQ(text, repaired(tokenizer->decode(ids, true))) << name << ", text " << i;
    }
  }
}

TEST(TokenizerStream, WaitsForACharacterAndGivesUpOnlyAtTheEnd) {
  const auto tokenizer = make(small_bytes());
  StreamDecoder stream(*tokenizer);
  const auto ids = tokenizer->encode("\xF0\x9F\xA6\x99");
  ASSERT_EQ(ids.size(), 4u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stream.push(ids[static_cast<size_t>(i)]), "");
  EXPECT_EQ(stream.push(ids[3]), "\xF0\x9F\xA6\x99");
  EXPECT_EQ(stream.flush(), "");
  stream.push(ids[0]);
  stream.push(ids[1]);
  EXPECT_EQ(stream.push('h'), "\xEF\xBF\xBDh");  // cannot become a character any more
  stream.push(ids[0]);
  EXPECT_EQ(stream.flush(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.push('h'), "h");
  EXPECT_EQ(stream.push(-1), "");
  EXPECT_EQ(stream.push(1 << 30), "");
}

TEST(TokenizerStream, TheBlankInFront) {
  const auto tokenizer = make(small_scores());
  const auto ids = tokenizer->encode("hello hello", {.add_bos = false});
  StreamDecoder reply(*tokenizer);
  EXPECT_EQ(reply.push(ids[0]), "hello");
  EXPECT_EQ(reply.push(ids[1]), " hello");
  StreamDecoder more(*tokenizer, {.continues_text = true});
  EXPECT_EQ(more.push(ids[0]), " hello");
}

}  // namespace
}  // namespace brass
