// Control and user-defined pieces, trusted and untrusted text, beginning and end, what ends a generation.
#include "text/tokenizer_data.h"

namespace brass {
namespace {

using Ids = std::vector<int32_t>;

int32_t id_of(const VocabSpec& spec, const std::string& token) {
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    if (spec.tokens[id] == token) return static_cast<int32_t>(id);
  }
  return -1;
}

TEST(TokenizerSpecial, ControlPiecesOnlyWhenAskedFor) {
  const VocabSpec spec = small_bytes();
  const auto tokenizer = make(spec);
  const int32_t end = id_of(spec, "<|end|>"), tool = id_of(spec, "<tool>"), hello = id_of(spec, "hello");
  EXPECT_EQ(tokenizer->encode("hello<|end|>hello", {.parse_special = true}), (Ids{hello, end, hello}));
  const Ids text = tokenizer->encode("hello<|end|><tool>hello");
  EXPECT_EQ(std::count(text.begin(), text.end(), end), 0);
  EXPECT_EQ(std::count(text.begin(), text.end(), tool), 1);
  EXPECT_EQ(tokenizer->decode(text, false), "hello<|end|><tool>hello");
  EXPECT_EQ(tokenizer->decode(Ids{hello, end, tool}, false), "hello<tool>");
  EXPECT_EQ(tokenizer->decode(Ids{hello, end, tool}, true), "hello<|end|><tool>");
}

TEST(TokenizerSpecial, TheLongestPieceWinsFromTheLeft) {
  VocabSpec spec = small_bytes();
  for (const char* text : {"<<", "<<<", "<<<>"}) {
    spec.tokens.push_back(text);
    spec.kinds.push_back(TokenKind::kUserDefined);
  }
  const auto tokenizer = make(spec);
  const int32_t two = id_of(spec, "<<"), three = id_of(spec, "<<<"), four = id_of(spec, "<<<>");
  EXPECT_EQ(tokenizer->encode("<<<<<"), (Ids{three, two}));
  EXPECT_EQ(tokenizer->encode("<<<>"), (Ids{four}));
  EXPECT_EQ(tokenizer->encode("<<<<>"),
            (Ids{three, '<' - '!' + id_of(spec, "!"), '>' - '!' + id_of(spec, "!")}));
}

TEST(TokenizerSpecial, SegmentsMergeLikeOneText) {
  const VocabSpec spec = small_bytes();
  const auto tokenizer = make(spec);
  const Segment parts[] = {{"<|us", true},       {"er|>", true}, {"he", true}, {"l", false},
                           {"lo<|end|>", false}, {" hel", true}, {"lo", false}};
  Ids expected{id_of(spec, "<|user|>"), id_of(spec, "hello")};
  for (const int32_t id : tokenizer->encode("<|end|>")) expected.push_back(id);
  expected.push_back(id_of(spec, "\xC4\xA0hello"));
  EXPECT_EQ(tokenizer->encode_segments(parts), expected);
}

TEST(TokenizerSpecial, AControlPieceIsTrustedAsAWholeOrNotAtAll) {
  const VocabSpec spec = small_bytes();
  const auto tokenizer = make(spec);
  const int32_t end = id_of(spec, "<|end|>");
  const std::string_view text = "<|end|>";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    for (int trusted = 0; trusted < 4; ++trusted) {
      const Segment parts[] = {{text.substr(0, 0), true},
                               {text.substr(0, cut), (trusted & 1) != 0},
                               {text.substr(cut), (trusted & 2) != 0}};
      const bool whole = (cut == 0 || (trusted & 1) != 0) && (cut == text.size() || (trusted & 2) != 0);
      const Ids ids = tokenizer->encode_segments(parts);
      EXPECT_EQ(ids == Ids{end}, whole) << cut << " " << trusted;
      EXPECT_EQ(tokenizer->decode(ids, true), text);
    }
  }
}

// A blank mark is three bytes in the text and one inside the tokenizer: borders of trust move with it.
TEST(TokenizerSpecial, BlankMarksKeepBordersOfTrust) {
  VocabSpec spec = small_scores();
  spec.tokens.push_back("<a\xE2\x96\x81>");
  spec.scores.push_back(0);
  spec.kinds.push_back(TokenKind::kControl);
  const auto tokenizer = make(spec);
  const int32_t control = static_cast<int32_t>(spec.tokens.size()) - 1;
  const std::string text = "\xE2\x96\x81<a\xE2\x96\x81>\xE2\x96\x81";
  for (size_t begin = 0; begin <= text.size(); ++begin) {
    for (size_t end = begin; end <= text.size(); ++end) {
      const std::string_view view = text;
      const Segment parts[] = {
          {view.substr(0, begin), false}, {view.substr(begin, end - begin), true}, {view.substr(end), false}};
      const Ids ids = tokenizer->encode_segments(parts, {.add_bos = false});
      EXPECT_EQ(std::count(ids.begin(), ids.end(), control), begin <= 3 && end >= 9 ? 1 : 0)
          << begin << " " << end;
      EXPECT_EQ(tokenizer->decode(ids, true), " <a > ");
    }
  }
}

TEST(TokenizerSpecial, UntrustedTextNeverBecomesAControlPiece) {
  for (const std::string& name : kSharedVocabularies) {
    const Tokenizer* tokenizer = shared_tokenizer(name);
    if (tokenizer == nullptr) continue;
    std::vector<std::string> controls;
    for (int32_t id = 0; id < tokenizer->size(); ++id) {
      if (tokenizer->is_control(id)) controls.emplace_back(tokenizer->piece(id));
    }
    ASSERT_FALSE(controls.empty()) << name;
    Rng rng(9);
    for (int i = 0; i < 2000; ++i) {
      std::string user, shown;
      for (uint64_t left = 1 + rng.below(4); left > 0; --left) {
        append_random_character(user, rng);
        user += controls[rng.below(controls.size())];
      }
      const std::string open = controls[rng.below(controls.size())];
      const Segment parts[] = {{open, true}, {user, false}, {open, true}};
      const Ids ids = tokenizer->encode_segments(parts, {.add_bos = false, .normalize = false});
      const auto count =
          std::count_if(ids.begin(), ids.end(), [&](int32_t id) { return tokenizer->is_control(id); });
      EXPECT_EQ(count, 2) << name << ": " << user;
      EXPECT_EQ(tokenizer->decode(ids, true), open + user + open) << name;
    }
  }
}

TEST(TokenizerSpecial, BeginningAndEnd) {
  VocabSpec spec = small_scores();
  EXPECT_EQ(make(spec)->encode("hello"), (Ids{1, id_of(spec, "\xE2\x96\x81hello")}));
  EXPECT_EQ(make(spec)->encode("hello", {.add_bos = false, .add_eos = true}),
            (Ids{id_of(spec, "\xE2\x96\x81hello"), 2}));
  spec.add_bos = 0, spec.add_eos = 1, spec.add_space_prefix = 0;
  EXPECT_EQ(make(spec)->encode("hello"), (Ids{id_of(spec, "hello"), 2}));
  spec.add_bos = 1, spec.bos = -1;
  EXPECT_EQ(make(spec)->encode("hello"), (Ids{id_of(spec, "hello"), 2}));
  EXPECT_EQ(make(small_bytes())->encode("hello").size(), 1u);
}

// SentencePiece puts a blank in front, after a control piece too; decoding takes it away again.
TEST(TokenizerSpecial, TheBlankInFront) {
  const VocabSpec spec = small_scores();
  const auto tokenizer = make(spec);
  const int32_t word = id_of(spec, "\xE2\x96\x81hello"), end = id_of(spec, "</s>");
  const Ids ids = tokenizer->encode("hello</s>hello hello", {.parse_special = true, .add_bos = false});
  EXPECT_EQ(ids, (Ids{word, end, word, word}));
  EXPECT_EQ(tokenizer->decode(ids, true), "hello</s>hello hello");
  EXPECT_EQ(tokenizer->decode(ids, false), "hellohello hello");
  for (const char* text : {" hello", "  hello", " ", "", "<tool> hello<tool>"}) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text), false), text);
  }
}

TEST(TokenizerSpecial, WhatEndsAGeneration) {
  const auto ends = [](const VocabSpec& spec) {
    std::vector<std::string> texts;
    const auto tokenizer = make(spec);
    for (const int32_t id : tokenizer->eog_ids()) texts.push_back(spec.tokens[static_cast<size_t>(id)]);
    return texts;
  };
  using Texts = std::vector<std::string>;
  VocabSpec spec = small_bytes();
  EXPECT_EQ(ends(spec), (Texts{"<|end|>"}));
  const auto add = [&](const char* text, TokenKind kind) {
    spec.tokens.push_back(text);
    spec.kinds.push_back(kind);
    return static_cast<int32_t>(spec.tokens.size()) - 1;
  };
  add("<|im_end|>", TokenKind::kControl);
  add("<|eot_id|>", TokenKind::kNormal);  // text, not a piece of its own
  spec.eot = add("<over>", TokenKind::kControl);
  EXPECT_EQ(ends(spec), (Texts{"<|end|>", "<|im_end|>", "<over>"}));
  spec.eos = add("<|return|>", TokenKind::kControl);
  add("<|call|>", TokenKind::kControl);  // gpt-oss: <|end|> only ends a message
  EXPECT_EQ(ends(spec), (Texts{"<|im_end|>", "<over>", "<|return|>", "<|call|>"}));
}

}  // namespace
}  // namespace brass
