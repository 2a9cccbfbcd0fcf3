// Vocabularies that contradict themselves are refused by the key that is wrong.
#include "gguf/vocab.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gguf/writer.h"

namespace brass::gguf {
namespace {

Writer good() {
  Writer w;
  w.set("tokenizer.ggml.model", "llama");
  w.set("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "<0x0A>"});
  w.set("tokenizer.ggml.scores", std::vector<float>{0, 0, 0});
  w.set("tokenizer.ggml.token_type", std::vector<int32_t>{2, 3, 6});
  return w;
}

std::string error_after(const std::string& key, const MetaValue& value) {
  Writer w = good();
  w.set(key, value);
  const auto bytes = w.to_bytes().value();
  const auto file = File::from_memory(bytes, "x.gguf");
  const auto vocab = read_vocab(*file);
  return vocab ? "" : vocab.error().message;
}

TEST(Vocab, GoodOneReads) { EXPECT_EQ(error_after("x", 1), ""); }

TEST(Vocab, IdsOutsideAreNamed) {
  for (const std::string name :
       {"bos", "eos", "eot", "eom", "unknown", "seperator", "separator", "padding", "mask", "cls"}) {
    const std::string key = "tokenizer.ggml." + name + "_token_id";
    EXPECT_EQ(error_after(key, uint32_t{2}), "");
    EXPECT_EQ(error_after(key, uint32_t{3}),
              "x.gguf: key \"" + key + "\": token id 3 is outside the vocabulary of 3 tokens");
    EXPECT_NE(error_after(key, int32_t{-2}), "");
    EXPECT_NE(error_after(key, uint64_t{1} << 63), "");
    EXPECT_NE(error_after(key, "2"), "");
  }
}

TEST(Vocab, SizesHaveToAgree) {
  EXPECT_EQ(error_after("tokenizer.ggml.scores", std::vector<float>{0, 0}),
            "x.gguf: key \"tokenizer.ggml.scores\": has 2 values, but tokenizer.ggml.tokens has 3 tokens");
  EXPECT_EQ(
      error_after("tokenizer.ggml.token_type", std::vector<int32_t>{1, 1, 1, 1}),
      "x.gguf: key \"tokenizer.ggml.token_type\": has 4 values, but tokenizer.ggml.tokens has 3 tokens");
}

TEST(Vocab, ContentsAreChecked) {
  EXPECT_NE(error_after("tokenizer.ggml.scores", std::vector<float>{0, NAN, 0}).find("element 1: is f32 nan"),
            std::string::npos);
  EXPECT_EQ(error_after("tokenizer.ggml.token_type", std::vector<int32_t>{1, 7, 1}),
            "x.gguf: key \"tokenizer.ggml.token_type\": token 1 has the unknown type 7");
  EXPECT_EQ(error_after("tokenizer.ggml.token_type", std::vector<int32_t>{0, 1, 1}), "");
  for (const std::string piece : {"<0x-1>", "<0xGG>", "<0x041>", "<0x4>", "0x41", "", "<0x4 >"}) {
    EXPECT_NE(error_after("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", piece})
                  .find("token 2 is a byte"),
              std::string::npos)
        << piece;
  }
  EXPECT_EQ(error_after("tokenizer.ggml.tokens", std::vector<std::string>{"a", "a", "a"}),
            "x.gguf: key \"tokenizer.ggml.tokens\": all 3 tokens are the same: \"a\"");
  EXPECT_EQ(error_after("tokenizer.ggml.tokens", std::vector<std::string>{}),
            "x.gguf: key \"tokenizer.ggml.tokens\": is empty");
  EXPECT_EQ(error_after("tokenizer.ggml.tokens", std::vector<uint32_t>{1, 2, 3}),
            "x.gguf: key \"tokenizer.ggml.tokens\": is an array of 3 u32 values, not an array of strings");
  EXPECT_EQ(error_after("tokenizer.ggml.precompiled_charsmap", "text"),
            "x.gguf: key \"tokenizer.ggml.precompiled_charsmap\": is not an array of bytes");
  EXPECT_EQ(error_after("tokenizer.chat_template", uint32_t{1}),
            "x.gguf: key \"tokenizer.chat_template\": is u32 1, not a string");
  EXPECT_EQ(error_after("tokenizer.chat_templates", std::vector<std::string>{"rag"}),
            "x.gguf: key \"tokenizer.chat_templates\": names \"tokenizer.chat_template.rag\", which the file "
            "lacks");
  EXPECT_EQ(error_after("tokenizer.ggml.add_bos_token", uint32_t{1}),
            "x.gguf: key \"tokenizer.ggml.add_bos_token\": is u32 1, not a bool");
}

TEST(Vocab, NoneIsEmpty) {
  Writer w;
  w.set("tokenizer.chat_template", "t");
  for (int round = 0; round < 2; round++) {
    const auto bytes = w.to_bytes().value();
    const auto vocab = read_vocab(*File::from_memory(bytes, "x.gguf"));
    ASSERT_TRUE(vocab) << vocab.error().message;
    EXPECT_EQ(vocab->model, "none");
    EXPECT_TRUE(vocab->tokens.empty());
    EXPECT_EQ(vocab->chat_template, "t");
    w.set("tokenizer.ggml.model", "none");
  }
  w.set("tokenizer.ggml.model", "gpt2");
  const auto bytes = w.to_bytes().value();
  const auto vocab = read_vocab(*File::from_memory(bytes, "x.gguf"));
  ASSERT_FALSE(vocab);
  EXPECT_EQ(vocab.error().message, "x.gguf: key \"tokenizer.ggml.tokens\": is missing from the file");
}

}  // namespace
}  // namespace brass::gguf
