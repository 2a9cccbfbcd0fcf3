// Files that lie, shrink, are cut off or are no files: errors, never a signal, a hang or a large allocation.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "counting_new.h"
#include "exercise.h"
#include "gguf/synth.h"
#include "guarded.h"
#include "temp_folder.h"

namespace brass::gguf {
namespace {

constexpr size_t kAllowedAllocation = 64 << 20;

// A small file that has a bit of everything, tensors in the end.
std::vector<std::byte> sample() {
  static std::vector<std::byte> weights(64 * 18);
  Writer w;
  w.set("general.architecture", "llama");
  w.set("general.alignment", uint32_t{32});
  w.set("llama.block_count", uint32_t{2});
  w.set("llama.rope.freq_base", 10000.0f);
  w.set("llama.epsilon", 1e-5);
  w.set("llama.flag", true);
  w.set("llama.small", int8_t{-3});
  w.set("llama.heads", std::vector<uint16_t>{4, 8});
  w.set("llama.nested",
        MetaArray{MetaType::Array, {std::vector<int64_t>{1}, std::vector<std::string>{"x", "y"}}});
  w.set("tokenizer.ggml.model", "llama");
  w.set("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "</s>", "<0x41>", "hello"});
  w.set("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, 0, -1});
  w.set("tokenizer.ggml.token_type", std::vector<int32_t>{2, 3, 3, 6, 1});
  w.set("tokenizer.ggml.merges", std::vector<std::string>{"a b", "ab c"});
  w.set("tokenizer.ggml.bos_token_id", uint32_t{1});
  w.set("tokenizer.ggml.precompiled_charsmap", std::vector<uint8_t>{1, 2, 3});
  w.set("tokenizer.chat_template", "{{ x }}");
  w.set("tokenizer.chat_template.tools", "{{ y }}");
  w.add_tensor("token_embd.weight", Type::F32, {8, 5}, std::span(weights).first(160));
  w.add_tensor("blk.0.attn_q.weight", Type::Q4_0, {32, 2}, std::span(weights).first(36));
  w.add_tensor("blk.0.norm", Type::F32, {8}, std::span(weights).first(32));
  return w.to_bytes().value();
}

TEST(HostileFile, SampleIsGood) {
  const auto bytes = sample();
  const auto file = File::from_memory(bytes, "x.gguf");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(read_vocab(*file)) << read_vocab(*file).error().message;
}

TEST(HostileFile, CutAtEveryByte) {
  const auto bytes = sample();
  size_t needed = 0;
  {
    const auto file = File::from_memory(bytes, "x.gguf");
    for (const TensorInfo& t : file->tensors()) needed = std::max(needed, t.file_offset + t.bytes);
  }
  for (size_t size = 0; size < bytes.size(); size++) {
    const Guarded cut(std::span<const std::byte>(bytes).first(size));
    const AllocationPeak peak;
    const auto file = File::from_memory(cut.bytes(), "x.gguf");
    EXPECT_EQ(file.has_value(), size >= needed) << size;
    if (file) exercise(*file);
    EXPECT_LT(peak.bytes(), 1u << 20);
  }
}

// One of the ways in which files break; several in a row make harder cases.
void mutate(std::vector<std::byte>& bytes, Rng& rng) {
  constexpr uint64_t kNasty[] = {0,
                                 1,
                                 3,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 uint64_t{1} << 31,
                                 uint64_t{1} << 60,
                                 uint64_t{1} << 61,
                                 uint64_t{1} << 62,
                                 uint64_t{1} << 63,
                                 UINT64_MAX,
                                 UINT64_MAX - 31};
  const size_t at = rng.below(bytes.size());
  switch (rng.below(6)) {
    case 0:
      bytes[at] ^= static_cast<std::byte>(1u << rng.below(8));
      break;
    case 1:
      bytes[at] = static_cast<std::byte>(rng.below(256));
      break;
    case 2: {
      const uint64_t value = kNasty[rng.below(std::size(kNasty))];
      std::memcpy(bytes.data() + at, &value, std::min<size_t>(8, bytes.size() - at));
      break;
    }
    case 3:
      bytes[at] = static_cast<std::byte>(rng.below(14));
      break;  // type ids and small counts
    case 4:
      bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at));
      break;
    default:
      bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), static_cast<std::byte>(rng.below(256)));
      break;
  }
}

TEST(HostileFile, TwentyThousandMutations) {
  const auto good = sample();
  Rng rng(3);
  int accepted = 0;
  uint64_t sum = 0;
  for (int i = 0; i < 20000; i++) {
    auto bytes = good;
    for (uint64_t n = 1 + rng.below(4); n > 0; n--) mutate(bytes, rng);
    const Guarded guarded(bytes);
    const AllocationPeak peak;
    const auto file = File::from_memory(guarded.bytes(), "x.gguf");
    if (file) {
      sum += exercise(*file);
      accepted++;
    } else {
      ASSERT_FALSE(file.error().message.empty());
      ASSERT_LT(file.error().message.size(), 2000u);
    }
    ASSERT_LT(peak.bytes(), kAllowedAllocation) << "mutation " << i;
  }
  std::printf("accepted %d of 20000 (checksum %llx)\n", accepted, static_cast<unsigned long long>(sum));
  EXPECT_GT(accepted, 1000);  // else the campaign exercises nothing behind the header
  EXPECT_LT(accepted, 15000);
}

TEST(HostileFile, FileThatShrinksWhileMapped) {
  const TempFolder folder;
  std::vector<std::string> tokens;
  for (int i = 0; i < 20000; i++) tokens.push_back(fmt::format("token{}", i));
  std::vector<std::byte> weights(1 << 20, std::byte{1});
  Writer w;
  w.set("general.architecture", "llama");
  w.set("tokenizer.ggml.model", "gpt2");
  w.set("tokenizer.ggml.tokens", tokens);
  w.add_tensor("w", Type::F32, {1 << 18}, weights);
  const std::string path = folder / "shrinks.gguf";
  for (const off_t left : {0, 1, 4096, 100000, 500000}) {
    ASSERT_TRUE(w.write(path));
    const auto file = File::open(path);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(file->check());
    ASSERT_EQ(truncate(path.c_str(), left), 0);
    uint64_t sum = 0;
    for (const std::byte b : file->find("w")->data) sum += static_cast<uint64_t>(b);
    EXPECT_LT(sum, uint64_t{1} << 20);
    const auto checked = file->check();
    ASSERT_FALSE(checked);
    EXPECT_NE(checked.error().message.find(path), std::string::npos);
    const auto vocab = read_vocab(*file);
    ASSERT_FALSE(vocab);
    EXPECT_NE(vocab.error().message.find("shrank"), std::string::npos) << vocab.error().message;
    exercise(*file);
  }
}

TEST(HostileFile, NamesThatAreNoFiles) {
  const TempFolder folder;
  const std::string fifo = folder / "fifo.gguf";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const std::string loop = folder / "loop.gguf";
  ASSERT_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  for (const std::string& path :
       {fifo, loop, folder.path(), folder / "absent.gguf", folder.write("empty.gguf", ""),
        std::string("/dev/zero"), std::string("/dev/null"), std::string("")}) {
    const auto file = File::open(path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().message.find(path), 0u) << file.error().message;
  }
}

}  // namespace
}  // namespace brass::gguf
