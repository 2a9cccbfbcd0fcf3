#include "hub/names.h"

#include <gtest/gtest.h>

namespace brass::hub {
namespace {

TEST(Names, DefaultComesFromTheFile) {
  EXPECT_EQ(default_name("SmolLM2-135M-Instruct.Q4_1.gguf"), "smollm2-135m-instruct.q4_1");
  EXPECT_EQ(default_name("/a/b/Qwen3 8B (fixed).gguf"), "qwen3-8b-fixed-");
  EXPECT_EQ(default_name("dir/m-00002-of-00003.gguf"), "m");
  EXPECT_EQ(default_name("..gguf"), "model");
  EXPECT_EQ(default_name("../.hidden.gguf"), "hidden");
  EXPECT_EQ(default_name("\xff\xfe"), "model");
  EXPECT_EQ(default_name(""), "model");
  for (const std::string& path : {std::string("x.gguf"), std::string("Ünï.gguf"), std::string("--.gguf"),
                                  std::string("a\nb.gguf"), std::string("..."), std::string(500, 'x')}) {
    EXPECT_TRUE(check_name(default_name(path))) << default_name(path);
  }
}

TEST(Names, OnlyHarmlessOnesAreAllowed) {
  EXPECT_EQ(check_name("Llama-3.1_8B+x"), "llama-3.1_8b+x");
  const std::string bad[] = {"",
                             "..",
                             ".",
                             "a/b",
                             "../a",
                             "/etc/passwd",
                             "a\\b",
                             ".a",
                             "-rf",
                             "a b",
                             "a\nb",
                             "a\x1b[2J",
                             "ä",
                             std::string("a\0b", 3),
                             "a:b",
                             "a*",
                             std::string(129, 'a')};
  for (const std::string& name : bad) {
    const auto checked = check_name(name);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().message.find('\x1b'), std::string::npos);
  }
}

TEST(Names, FileNames) {
  EXPECT_TRUE(is_plain_file_name("Model A.gguf"));
  for (const std::string name : {"", ".", "..", "a/b", "/a", "a\nb"})
    EXPECT_FALSE(is_plain_file_name(name)) << name;
}

TEST(Names, SplitNames) {
  const auto split = parse_split_name("d/m-00002-of-00003.gguf");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->count, 3u);
  EXPECT_EQ(split->part(0), "d/m-00001-of-00003.gguf");
  EXPECT_EQ(split->part(2), "d/m-00003-of-00003.gguf");
  for (const std::string name :
       {"m.gguf", "m-00001-of-00001.gguf", "m-00004-of-00003.gguf", "m-00000-of-00003.gguf",
        "-00001-of-00003.gguf", "d/-00001-of-00003.gguf", "m-0001-of-0003.gguf", "m-00001-of-00003.bin",
        "m-0000x-of-00003.gguf", ""}) {
    EXPECT_FALSE(parse_split_name(name)) << name;
  }
}

TEST(Names, ClosestFirst) {
  const std::vector<std::string> known = {"gemma-3-270m", "qwen2.5-coder-0.5b", "smollm2-135m-instruct.q4_1"};
  EXPECT_EQ(closest_names("smolm2", known, 1)[0], "smollm2-135m-instruct.q4_1");
  EXPECT_EQ(closest_names("GEMMA3", known, 1)[0], "gemma-3-270m");
  EXPECT_EQ(closest_names("coder", known, 1)[0], "qwen2.5-coder-0.5b");
  EXPECT_EQ(closest_names("x", known).size(), 3u);
  EXPECT_TRUE(closest_names("x", {}).empty());
}

}  // namespace
}  // namespace brass::hub
