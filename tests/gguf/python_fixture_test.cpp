// A file by the format's reference writer (the `gguf` Python package, tools/oracles/gguf_fixtures.py) reads
// as that package's values say.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "gguf/gguf.h"
#include "source_dir.h"

namespace brass::gguf {
namespace {

TEST(PythonFixture, ReadsAsWritten) {
  const std::string folder = source_dir() + "/tests/gguf/fixtures/";
  const auto file = File::open(folder + "python.gguf");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->alignment(), 64u);
  std::ifstream in(folder + "python.txt");
  std::stringstream wanted;
  wanted << in.rdbuf();
  ASSERT_GT(wanted.str().size(), 500u);

  std::string found;
  for (const auto& [key, value] : file->metadata()) {
    found += fmt::format("{}\t{}\t{}\n", key, meta_type_name(value.type), print(value));
  }
  for (const TensorInfo& t : file->tensors()) {
    uint64_t sum = 0;
    for (const std::byte b : t.data) sum += static_cast<uint64_t>(b);
    found +=
        fmt::format("tensor\t{}\t{}\t{}\t{}\t{}\n", t.name, type_name(t.type), dims_text(t), t.bytes, sum);
  }
  EXPECT_EQ(found, wanted.str());
}

}  // namespace
}  // namespace brass::gguf
