// Vocabularies and random texts for the tokenizer tests.
#pragma once

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "gguf/vocab.h"
#include "shared_data.h"
#include "text/tokenizer.h"
#include "text/tokenizer_utf8.h"

namespace brass {

inline const std::vector<std::string> kSharedVocabularies = {
    "deepseek-coder", "gemma-4", "gpt-2", "llama-bpe", "llama-spm", "qwen2", "qwen35"};

// CPU time of this thread: other work on the machine does not count.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What a vocabulary file says, or nothing (after saying why) if it is not there. Unpacks .xz with the xz
// program.
inline std::optional<VocabSpec> shared_spec(const std::string& name) {
  const std::string file = "vocab/ggml-vocab-" + name + ".gguf";
  std::optional<std::string> path;
  std::string unpacked;
  if (name == "gemma-4") {
    const auto packed = shared_data(file + ".xz");
    if (!packed) return std::nullopt;
    unpacked = testing::TempDir() + "ggml-vocab-" + name + "-" + std::to_string(getpid()) + ".gguf";
    if (std::system(("xz -dc '" + *packed + "' > '" + unpacked + "'").c_str()) != 0) {
      std::printf("[  SKIPPED ] the xz program is needed to unpack %s\n", packed->c_str());
      return std::nullopt;
    }
    path = unpacked;
  } else {
    path = shared_data(file);
    if (!path) return std::nullopt;
  }
  std::optional<VocabSpec> spec;
  {
    auto opened = gguf::File::open(*path);
    EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().message);
    if (opened) {
      auto read = gguf::read_vocab(*opened);
      EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().message);
      if (read) spec = std::move(*read);
    }
  }
  if (!unpacked.empty()) std::remove(unpacked.c_str());
  return spec;
}

// The tokenizer of a shared vocabulary, made once for all tests; nullptr if the file is not there.
inline const Tokenizer* shared_tokenizer(const std::string& name) {
  static std::vector<std::pair<std::string, std::unique_ptr<Tokenizer>>> made;
  for (const auto& [known, tokenizer] : made) {
    if (known == name) return tokenizer.get();
  }
  std::unique_ptr<Tokenizer> tokenizer;
  if (const auto spec = shared_spec(name)) {
    auto created = Tokenizer::create(*spec);
    EXPECT_TRUE(created.has_value()) << name << ": " << (created ? "" : created.error().message);
    if (created) tokenizer = std::move(*created);
  }
  made.emplace_back(name, std::move(tokenizer));
  return made.back().second.get();
}

// A valid character of any plane, common ones more often.
inline void append_random_character(std::string& out, Rng& rng) {
  static const char* const kPieces[] = {
      " ",      "  ",   "\n", "\r\n", "\t",       "'s",           "'LL",  "the",
      "Hello",  "1",    "42", "7",    "!",        "?!",           "é",    "e\xCC\x81",
      "привет", "你好", "🦙", "　",   "\xC2\x85", "\xE2\x80\xA8", "한국", "\xE1\x84\x80\xE1\x85\xA1",
      "ſ",      "õ",    "<|", "a"};
  const uint64_t draw = rng.below(10);
  if (draw < 7) {
    out += kPieces[rng.below(std::size(kPieces))];
    return;
  }
  const uint64_t limits[] = {0x80, 0x800, 0x10000, 0x110000};
  char32_t code = static_cast<char32_t>(rng.below(limits[draw == 7 ? 0 : rng.below(4)]));
  if ((code >= 0xD800 && code < 0xE000) || code == 0x2581) code = 'x';  // U+2581 is a blank for SentencePiece
  tokens::append_utf8(out, code);
}

inline std::string random_utf8(Rng& rng) {
  std::string text;
  for (uint64_t left = rng.below(30); left > 0; --left) append_random_character(text, rng);
  return text;
}

// Characters with bytes broken, lost or put in.
inline std::string random_bytes(Rng& rng) {
  std::string text = random_utf8(rng);
  for (uint64_t left = 1 + rng.below(6); left > 0; --left) {
    const auto at = rng.below(text.size() + 1);
    const char byte = static_cast<char>(rng.below(256));
    if (rng.below(2) == 0 || at == text.size()) {
      text.insert(at, 1, byte);
    } else if (rng.below(2) == 0) {
      text[at] = byte;
    } else {
      text.erase(at, 1);
    }
  }
  return text;
}

// Whether a text has U+2581, which SentencePiece vocabularies take for a blank.
inline bool has_blank_mark(const std::string& text) { return text.find("\xE2\x96\x81") != std::string::npos; }

// How GPT-2 spells a byte; written apart from the tokenizer's own table.
inline std::string spell_byte(int byte) {
  static const std::vector<std::string> kSpelling = [] {
    std::vector<std::string> spelling;
    char32_t next = 256;
    for (int b = 0; b < 256; ++b) {
      const bool kept = (b > 32 && b < 127) || (b > 160 && b != 173);
      spelling.emplace_back();
      tokens::append_utf8(spelling.back(), kept ? static_cast<char32_t>(b) : next++);
    }
    return spelling;
  }();
  return kSpelling[static_cast<size_t>(byte)];
}

// A small byte-level vocabulary: the bytes, a few words, <|end|> and <|user|> (control), <tool>
// (user-defined).
inline VocabSpec small_bytes() {
  VocabSpec spec;
  spec.model = "gpt2";
  spec.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) spec.tokens.push_back(spell_byte(byte));
  for (const char* merge : {"h e", "l l", "he ll", "hell o", "\xC4\xA0 hello"}) {
    spec.merges.push_back(merge);
    std::string piece = merge;
    piece.erase(piece.find(' '), 1);
    spec.tokens.push_back(piece);
  }
  spec.kinds.assign(spec.tokens.size(), TokenKind::kNormal);
  const auto add = [&](const char* text, TokenKind kind) {
    spec.tokens.push_back(text);
    spec.kinds.push_back(kind);
  };
  add("<|end|>", TokenKind::kControl);
  add("<|user|>", TokenKind::kControl);
  add("<tool>", TokenKind::kUserDefined);
  spec.eos = 261;
  return spec;
}

// A small SentencePiece vocabulary with byte pieces; the same words.
inline VocabSpec small_scores() {
  VocabSpec spec;
  spec.model = "llama";
  const auto add = [&](std::string text, float score, TokenKind kind) {
    spec.tokens.push_back(std::move(text));
    spec.scores.push_back(score);
    spec.kinds.push_back(kind);
  };
  add("<unk>", 0, TokenKind::kUnknown);
  add("<s>", 0, TokenKind::kControl);
  add("</s>", 0, TokenKind::kControl);
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), 0, TokenKind::kByte);
  const char* const kWords[] = {"he",           "ll", "hell", "hello", "\xE2\x96\x81hello",
                                "\xE2\x96\x81", "h",  "e",    "l",     "o",
                                "s>",           "s",  ">",    "<"};
  for (size_t i = 0; i < std::size(kWords); ++i) add(kWords[i], -static_cast<float>(i), TokenKind::kNormal);
  add("<tool>", 0, TokenKind::kUserDefined);
  spec.unk = 0, spec.bos = 1, spec.eos = 2;
  return spec;
}

inline std::unique_ptr<Tokenizer> make(const VocabSpec& spec) {
  auto made = Tokenizer::create(spec);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return made ? std::move(*made) : nullptr;
}

}  // namespace brass
