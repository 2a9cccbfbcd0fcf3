// Compiled programs on disk: what is written is found again by the same key alone; a damaged file is as good as none.
#include "backend/vulkan/pipeline_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "temp_folder.h"
#include "vulkan_fixture.h"

namespace brass::vulkan {
namespace {

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_all(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(VulkanPipelineCache, FramesHoldOnlyWhatTheirKeyWrote) {
  const std::string data("some\0bytes", 10), file = framed("key", data);
  EXPECT_EQ(unframed("key", file), data);
  EXPECT_EQ(unframed("kez", file), "");
  EXPECT_EQ(unframed("key and more", file), "");
  EXPECT_EQ(unframed("key", file + "x"), "");
  EXPECT_EQ(unframed("key", ""), "");
  for (size_t i = 0; i < file.size(); i++) {
    EXPECT_EQ(unframed("key", file.substr(0, i)), "") << "cut at " << i;
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    EXPECT_EQ(unframed("key", damaged), "") << "byte " << i;
  }
}

TEST(VulkanPipelineCache, IsFoundByTheNextStart) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder temp;
  const std::string folder = temp / "brass/pipelines";
  const auto context = Context::open({});
  ASSERT_TRUE(context.has_value());
  std::string path;
  const auto start = [&](uint64_t build, bool found) {
    const PipelineCache cache(**context, folder, build);
    EXPECT_EQ(cache.was_found(), found);
    EXPECT_NE(cache.handle(), VK_NULL_HANDLE);
    path = cache.path();
  };
  start(7, false);
  EXPECT_TRUE(std::filesystem::exists(path));
  start(7, true);
  start(8, false);  // another build
  start(7, true);
  const std::string good = read_all(path);
  for (const std::string& bad :
       {good.substr(0, good.size() - 1), good + "x", std::string(), std::string(1000, 'x')}) {
    write_all(path, bad);
    start(7, false);
    EXPECT_EQ(read_all(path), good) << "written anew";
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2) << "no temporary files";
}

TEST(VulkanPipelineCache, AFolderThatCannotBeWrittenDoesNoHarm) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder temp;
  write_all(temp / "file", "not a folder");
  const auto context = Context::open({});
  ASSERT_TRUE(context.has_value());
  for (const std::string& folder : {std::string(), temp / "file"}) {
    const PipelineCache cache(**context, folder, 1);
    EXPECT_FALSE(cache.was_found());
    EXPECT_NE(cache.handle(), VK_NULL_HANDLE);
  }
  EXPECT_EQ(read_all(temp / "file"), "not a folder");
}

TEST(VulkanPipelineCache, ADeviceStartsWithAndWithoutIt) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder temp;
  for (int i = 0; i < 2; i++) {
    const auto device = make_vulkan_device({.cache_folder = temp / "pipelines"});
    ASSERT_TRUE(device.has_value()) << device.error().message;
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temp / "pipelines"), {}), 1);
}

}  // namespace
}  // namespace brass::vulkan
