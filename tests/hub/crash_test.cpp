// Processes that die in the middle, and disks that fill up: nothing is listed that is not whole, nothing is
// left over.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "base/rng.h"
#include "hub/store.h"
#include "temp_folder.h"

namespace brass::hub {
namespace {

namespace fs = std::filesystem;

size_t entries(const std::string& folder) {
  std::error_code absent;
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder, absent), fs::directory_iterator{}));
}

// Every listed model verifies, and the listing names no problem.
void expect_sound(const Store& store) {
  const auto listing = store.list();
  ASSERT_TRUE(listing);
  for (const std::string& problem : listing->problems) ADD_FAILURE() << problem;
  for (const Model& model : listing->models) {
    const auto verified = store.verify(model.name);
    EXPECT_TRUE(verified) << verified.error().message;
  }
}

// Runs `work` in a child that is killed after `microseconds`, or dies on its own.
template <class Work>
void run_and_kill(int64_t microseconds, Work work) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    work();
    _exit(0);
  }
  if (microseconds >= 0) {
    usleep(static_cast<useconds_t>(microseconds));
    kill(child, SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
}

TEST(Crash, KilledWhileHashing) {
  const TempFolder folder;
  const Store store(folder / "store");
  const std::string file = folder.write("m.gguf", std::string(9 << 20, 'm'));
  for (const bool copy : {false, true}) {
    run_and_kill(-1, [&] {
      const Progress die = [](uint64_t done, uint64_t) {
        if (done > (5 << 20)) kill(getpid(), SIGKILL);
      };
      (void)store.import_file(file, ImportOptions{"", {}, copy, die, {}});
    });
    EXPECT_EQ(entries(store.folder() + "/staging"), 1u);
    EXPECT_EQ(store.list()->models.size(), 0u);
    expect_sound(store);
  }
  ASSERT_TRUE(store.import_file(file, {}));
  EXPECT_EQ(entries(store.folder() + "/staging"), 0u) << "the dead imports' folders are gone";
  EXPECT_EQ(store.list()->models.size(), 1u);
  expect_sound(store);
}

TEST(Crash, KilledAtAnyMoment) {
  const TempFolder folder;
  const Store store(folder / "store");
  const std::string file = folder.write("m.gguf", std::string(100000, 'm'));
  ASSERT_TRUE(store.import_file(folder.write("kept.gguf", "kept"), {}));
  // Both ways in, then out: killed at moments spread over the time that it takes here and now.
  const auto work = [&] {
    for (const bool copy : {false, true}) {
      (void)store.import_file(file, ImportOptions{"", {}, copy, {}, {}});
      (void)store.remove("m");
    }
  };
  const auto start = std::chrono::steady_clock::now();
  run_and_kill(-1, work);
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
  Rng rng(5);
  int listed = 0;
  for (int i = 0; i < 100; i++) {
    run_and_kill(static_cast<int64_t>(rng.uniform() * taken.count()), work);
    expect_sound(store);
    listed += store.find("m").has_value();
  }
  std::printf("killed 100 times: the model was listed after %d of them\n", listed);
  ASSERT_TRUE(store.import_file(file, {}));
  EXPECT_EQ(store.list()->models.size(), 2u);
  EXPECT_EQ(entries(store.folder() + "/staging"), 0u);
  EXPECT_EQ(entries(store.folder() + "/blobs"), 2u);
  EXPECT_EQ(entries(store.folder() + "/models"), 2u);
  expect_sound(store);
}

TEST(Crash, LeftoversOfEveryKindGo) {
  const TempFolder folder;
  const Store store(folder / "store");
  ASSERT_TRUE(store.import_file(folder.write("kept.gguf", "kept"), {}));
  // Between the blob and the manifest; inside the manifest; inside a removal; inside a copy.
  fs::create_directories(folder / "store/blobs/sha256-0000");
  folder.write("store/blobs/sha256-0000/x.gguf", "x");
  folder.write("store/models/x.json.tmp-1-1", "{\"vers");
  fs::create_directories(folder / "store/staging/sha256-1111");
  fs::create_directories(folder / "store/staging/import-dead/blob");
  folder.write("store/staging/import-dead/lock", "");
  folder.write("store/staging/import-dead/blob/x.gguf.tmp-1-1", "half");
  EXPECT_EQ(store.list()->models.size(), 1u);
  EXPECT_TRUE(store.list()->problems.empty());
  ASSERT_TRUE(store.import_file(folder.write("more.gguf", "more"), {}));
  EXPECT_EQ(entries(store.folder() + "/staging"), 0u);
  EXPECT_EQ(entries(store.folder() + "/blobs"), 2u);
  EXPECT_EQ(entries(store.folder() + "/models"), 2u);
}

TEST(Crash, LivingImportsAreLeftAlone) {
  const TempFolder folder;
  const Store store(folder / "store");
  const std::string slow = folder.write("slow.gguf", std::string(9 << 20, 's'));
  const std::string quick = folder.write("quick.gguf", "quick");
  bool imported = false;
  const auto result =
      store.import_file(slow, ImportOptions{"",
                                            {},
                                            true,
                                            [&](uint64_t, uint64_t) {
                                              // Another import, with all its cleaning, in the middle of this
                                              // one.
                                              if (!imported)
                                                imported = store.import_file(quick, {}).has_value() &&
                                                           store.remove("quick").has_value();
                                            },
                                            {}});
  EXPECT_TRUE(imported);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(store.verify("slow"));
}

TEST(Crash, FullDisk) {
  const TempFolder folder;
  const Store store(folder / "store");
  const std::string file = folder.write("m.gguf", std::string(1 << 20, 'm'));
  int status = 0;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A file size limit stops writes as a full disk does, in the middle of the copy.
    const rlimit limit{300000, 300000};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    const auto imported = store.import_file(file, ImportOptions{"", {}, true, {}, {}});
    _exit(!imported && imported.error().message.find("cannot be written") != std::string::npos ? 7 : 8);
  }
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(entries(store.folder() + "/blobs") + entries(store.folder() + "/staging"), 0u);
  EXPECT_TRUE(store.list()->models.empty());
}

TEST(Crash, SourceThatChangesMeanwhile) {
  const TempFolder folder;
  const Store store(folder / "store");
  const std::string file = folder.write("m.gguf", std::string(9 << 20, 'm'));
  for (const bool copy : {false, true}) {
    const auto result = store.import_file(file, ImportOptions{"",
                                                              {},
                                                              copy,
                                                              [&](uint64_t done, uint64_t) {
                                                                if (done == (4 << 20))
                                                                  fs::resize_file(file, 10 << 20);
                                                              },
                                                              {}});
    if (result && result->how == Shared::kReflink) continue;  // a snapshot of its own: nothing can change it
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("written to while it was being imported"), std::string::npos)
        << result.error().message;
    EXPECT_TRUE(store.list()->models.empty());
    fs::resize_file(file, 9 << 20);
  }
}

}  // namespace
}  // namespace brass::hub
