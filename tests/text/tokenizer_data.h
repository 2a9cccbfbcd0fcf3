// Vocabularies and random texts for the tokenizer tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

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

namespace brass {

inline const std::vector<std::string> kSharedVocabularies = {
    "deepseek-coder", "gemma-4", "gpt-2", "llama-bpe", "llama-spm", "qwen2", "qwen35"};

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

}  // namespace brass
