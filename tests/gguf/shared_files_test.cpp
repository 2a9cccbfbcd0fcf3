// The reader over real files: every tiny model and every vocabulary of the reference data.
#include <gtest/gtest.h>
#include <time.h>

#include <filesystem>

#include "gguf/gguf.h"
#include "gguf/vocab.h"
#include "shared_data.h"

namespace brass::gguf {
namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> out;
  const auto path = shared_data(folder);
  if (!path) return out;
  for (const auto& entry : std::filesystem::directory_iterator(*path)) {
    if (entry.path().extension() == ".gguf") out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

TEST(SharedFiles, TinyModelsOpen) {
  for (const std::string& path : files_in("tiny")) {
    const auto file = File::open(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_FALSE(file->tensors().empty()) << path;
    const auto architecture = file->get_string("general.architecture");
    ASSERT_TRUE(architecture) << architecture.error().message;
    EXPECT_TRUE(file->get_uint(*architecture + ".block_count", 1)) << path;
    EXPECT_NE(file->find("token_embd.weight"), nullptr) << path;
    const auto vocab = read_vocab(*file);
    ASSERT_TRUE(vocab) << vocab.error().message;
    uint64_t bytes = 0;
    for (const TensorInfo& tensor : file->tensors()) bytes += tensor.bytes;
    EXPECT_LT(bytes, file->total_bytes());
    EXPECT_GT(bytes, file->total_bytes() / 2) << path;
  }
}

TEST(SharedFiles, VocabulariesReadQuickly) {
  for (const std::string& path : files_in("vocab")) {
    const double start = cpu_seconds();
    const auto file = File::open(path);
    const double opened = cpu_seconds() - start;
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->tensors().empty());
    const auto vocab = read_vocab(*file);
    ASSERT_TRUE(vocab) << vocab.error().message;
    EXPECT_GT(vocab->tokens.size(), 30000u) << path;
    EXPECT_EQ(vocab->kinds.size(), vocab->tokens.size()) << path;
    EXPECT_GE(vocab->bos, -1);
    EXPECT_LT(opened, 0.05) << path;
    std::printf("%s: %zu tokens, %zu merges, opened in %.2f ms, read in %.2f ms\n",
                std::filesystem::path(path).filename().c_str(), vocab->tokens.size(), vocab->merges.size(),
                opened * 1e3, (cpu_seconds() - start - opened) * 1e3);
  }
}

}  // namespace
}  // namespace brass::gguf
