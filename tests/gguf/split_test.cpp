// Files in several parts: any part opens all, and parts that do not belong together are refused by name.
#include <gtest/gtest.h>

#include "gguf/gguf.h"
#include "gguf/writer.h"
#include "temp_folder.h"

namespace brass::gguf {
namespace {

struct Part {
  uint16_t number = 0, count = 3;
  int32_t total = 3;
  std::string tensor;
};

const std::vector<std::byte> kWeights(128, std::byte{7});

void write_part(const std::string& path, const Part& part) {
  Writer w;
  if (part.number == 0) w.set("general.architecture", "llama");
  w.set("split.no", part.number);
  w.set("split.count", part.count);
  w.set("split.tensors.count", part.total);
  w.add_tensor(part.tensor, Type::F32, {32}, kWeights);
  ASSERT_TRUE(w.write(path));
}

std::string name(int i) { return fmt::format("m-0000{}-of-00003.gguf", i); }

void write_three(const TempFolder& folder) {
  for (uint16_t i = 0; i < 3; i++)
    write_part(folder / name(i + 1), {i, 3, 3, std::string(1, static_cast<char>('a' + i))});
}

TEST(Split, AnyPartOpensAll) {
  const TempFolder folder;
  write_three(folder);
  for (int i = 1; i <= 3; i++) {
    const auto file = File::open(folder / name(i));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->path(), folder / name(1));
    ASSERT_EQ(file->part_count(), 3u);
    ASSERT_EQ(file->tensors().size(), 3u);
    EXPECT_EQ(file->get_string("general.architecture"), "llama");
    const TensorInfo* c = file->find("c");
    ASSERT_NE(c, nullptr);
    EXPECT_EQ(c->file_index, 2u);
    EXPECT_EQ(c->data.data(), file->mapping(2)->bytes().data() + c->file_offset);
    EXPECT_EQ(c->data[0], std::byte{7});
    EXPECT_EQ(file->total_bytes(), 3 * std::filesystem::file_size(folder / name(1)) -
                                       (std::filesystem::file_size(folder / name(1)) -
                                        std::filesystem::file_size(folder / name(2))) *
                                           2);
  }
}

std::string error_of(const std::string& path) {
  const auto file = File::open(path);
  return file ? "" : file.error().message;
}

TEST(Split, MissingPartIsNamed) {
  const TempFolder folder;
  write_three(folder);
  std::filesystem::remove(folder / name(2));
  const auto file = File::open(folder / name(3));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message.find(folder / name(2)), 0u) << file.error().message;
  EXPECT_NE(file.error().hint.find("split into 3 parts"), std::string::npos);
}

TEST(Split, PartsThatDoNotBelongTogether) {
  const TempFolder folder;
  const auto after = [&](const std::string& part_name, const Part& part) {
    write_three(folder);
    write_part(folder / part_name, part);
    return error_of(folder / name(1));
  };
  EXPECT_EQ(after(name(2), {2, 3, 3, "b"}),
            (folder / name(2)) + ": key \"split.no\" is 2, but the file's name says 1");
  EXPECT_EQ(after(name(2), {1, 4, 3, "b"}),
            (folder / name(2)) + ": key \"split.count\" is 4, but another part says 3");
  EXPECT_EQ(after(name(2), {1, 3, 3, "a"}), (folder / name(1)) + ": tensor \"a\": stands twice in the file");
  EXPECT_EQ(after(name(1), {0, 3, 9, "a"}),
            (folder / name(1)) + ": key \"split.tensors.count\": is 9, but the parts hold 3");
  EXPECT_NE(after(name(1), {0, 60000, 3, "a"}).find("its name does not end in -NNNNN-of-60000.gguf"),
            std::string::npos);
  write_part(folder / "renamed.gguf", {0, 3, 3, "a"});
  EXPECT_NE(error_of(folder / "renamed.gguf").find("its name does not end in -NNNNN-of-00003.gguf"),
            std::string::npos);
}

TEST(Split, PartWithoutItsKeys) {
  const TempFolder folder;
  write_three(folder);
  Writer w;
  w.add_tensor("b", Type::F32, {32}, kWeights);
  ASSERT_TRUE(w.write(folder / name(2)));
  EXPECT_EQ(error_of(folder / name(1)),
            (folder / name(2)) + ": key \"split.no\" is missing from a part of a split file");
}

TEST(Split, OneOfOneIsAPlainFile) {
  const TempFolder folder;
  write_part(folder / "plain.gguf", {0, 1, 1, "a"});
  EXPECT_EQ(error_of(folder / "plain.gguf"), "");
}

}  // namespace
}  // namespace brass::gguf
