#include "hub/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "hub/names.h"
#include "temp_folder.h"

namespace brass::hub {
namespace {

namespace fs = std::filesystem;

// printf abc | sha256sum
constexpr std::string_view kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

struct Fixture : testing::Test {
  TempFolder folder;
  Store store{folder / "store"};

  std::string listed() const {
    std::string out;
    const auto listing = store.list();
    for (const Model& model : listing->models) out += model.name + " ";
    for (const std::string& problem : listing->problems) out += "! " + problem + " ";
    return out;
  }
  size_t blobs() const { return count("blobs"); }
  size_t count(const std::string& name) const {
    std::error_code absent;
    const fs::directory_iterator entries(folder / ("store/" + name), absent);
    return static_cast<size_t>(std::distance(entries, fs::directory_iterator{}));
  }
};
using StoreTest = Fixture;

std::string read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Changes bytes without making a new file, as a careless download does.
void overwrite_in_place(const std::string& path, const std::string& text) {
  std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
  out << text;
  out.close();
  const timespec times[2] = {{100, 5}, {100, 5}};  // the clock may be too coarse for the test
  utimensat(AT_FDCWD, path.c_str(), times, 0);
}

TEST_F(StoreTest, EmptyStoreIsNoError) {
  EXPECT_EQ(listed(), "");
  const auto found = store.find("x");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "no model 'x': the store is empty");
  EXPECT_FALSE(fs::exists(store.folder()));
  EXPECT_FALSE(store.remove("x"));
}

TEST_F(StoreTest, ImportListResolveRemove) {
  const std::string file = folder.write("Abc.Q4.gguf", "abc");
  uint64_t last = 0;
  ImportOptions options;
  options.progress = [&](uint64_t done, uint64_t total) {
    EXPECT_EQ(total, 3u);
    last = done;
  };
  const auto imported = store.import_file(file, options);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_FALSE(imported->already_there);
  EXPECT_NE(imported->how, Shared::kCopied) << "one file system: bytes are shared";
  EXPECT_EQ(last, 3u);
  EXPECT_EQ(imported->model.name, "abc.q4");
  EXPECT_EQ(imported->model.sha256, kAbc);
  EXPECT_EQ(imported->model.bytes(), 3u);
  EXPECT_EQ(imported->model.imported.size(), 20u);
  EXPECT_EQ(listed(), "abc.q4 ");
  EXPECT_EQ(count("staging"), 0u);

  const auto path = store.resolve("abc.q4");
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(*path, store.folder() + "/blobs/sha256-" + std::string(kAbc) + "/Abc.Q4.gguf");
  fs::remove(file);  // the user's own file is not needed any more
  EXPECT_EQ(read(*path), "abc");
  EXPECT_TRUE(store.verify("abc"));

  EXPECT_FALSE(store.remove("abc")) << "removing takes the whole name";
  EXPECT_EQ(listed(), "abc.q4 ");
  ASSERT_TRUE(store.remove("ABC.Q4"));
  EXPECT_EQ(listed(), "");
  EXPECT_EQ(blobs(), 0u);
}

TEST_F(StoreTest, SameFileAgainChangesNothing) {
  const std::string file = folder.write("a.gguf", "abc");
  ASSERT_TRUE(store.import_file(file, {}));
  const std::string manifest = read(store.folder() + "/models/a.json");
  const auto again = store.import_file(file, {});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->already_there);
  EXPECT_EQ(read(store.folder() + "/models/a.json"), manifest);
  const auto elsewhere = store.import_file(folder.write("b.gguf", "abc"), {});
  ASSERT_TRUE(elsewhere);
  EXPECT_FALSE(elsewhere->already_there);
  EXPECT_EQ(blobs(), 1u) << "same bytes, one blob";
  EXPECT_EQ(listed(), "a b ");
  ASSERT_TRUE(store.remove("a"));
  EXPECT_EQ(blobs(), 1u) << "still in use by b";
  EXPECT_TRUE(store.resolve("b"));
  EXPECT_TRUE(store.verify("b"));
}

TEST_F(StoreTest, AnotherFileUnderATakenName) {
  ASSERT_TRUE(store.import_file(folder.write("a.gguf", "abc"), {}));
  fs::create_directory(folder / "d");
  const std::string other = folder.write("d/a.gguf", "other");
  const auto refused = store.import_file(other, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "a different model is already stored as 'a'");
  EXPECT_EQ(blobs(), 1u);
  ImportOptions options;
  options.name = "A2";
  ASSERT_TRUE(store.import_file(other, options));
  EXPECT_EQ(listed(), "a a2 ");
}

TEST_F(StoreTest, NamesArePrefixes) {
  for (const std::string name : {"smollm2-135m", "smollm2-360m", "qwen3", "qwen3-8b"}) {
    ASSERT_TRUE(store.import_file(folder.write(name + ".gguf", name), {}));
  }
  EXPECT_EQ(store.find("SmolLM2-1")->name, "smollm2-135m");
  EXPECT_EQ(store.find("qwen3")->name, "qwen3") << "exact before prefix";
  EXPECT_EQ(store.find("qwen3-")->name, "qwen3-8b");
  const auto two = store.find("smol");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().message, "'smol' may mean smollm2-135m, smollm2-360m");
  const auto none = store.find("smallm2-135m");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "no model 'smallm2-135m'");
  EXPECT_EQ(none.error().hint.find("did you mean smollm2-135m,"), 0u) << none.error().hint;
  for (const std::string hostile : {"../models/qwen3", "/etc/passwd", "", "..", "qwen3\n"}) {
    EXPECT_FALSE(store.find(hostile)) << hostile;
    EXPECT_FALSE(store.remove(hostile)) << hostile;
  }
}

TEST_F(StoreTest, PathsAndNamesResolve) {
  const std::string file = folder.write("m.gguf", "abc");
  ASSERT_TRUE(store.import_file(file, {}));
  EXPECT_EQ(store.resolve(file), file);
  EXPECT_NE(store.resolve("m"), "m");
  const auto absent = store.resolve(folder / "absent.gguf");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().message, (folder / "absent.gguf") + ": no such file");
  EXPECT_EQ(absent.error().hint, "in the store there are m");
  EXPECT_EQ(store.resolve("n").error().hint, "did you mean m?");
}

TEST_F(StoreTest, BadNamesAndFilesAreRefused) {
  const std::string file = folder.write("m.gguf", "abc");
  for (const std::string name : {"../x", "a/b", "..", "a\nb", ".x", "-x"}) {
    ImportOptions options;
    options.name = name;
    EXPECT_FALSE(store.import_file(file, options)) << name;
  }
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path :
       {fifo, folder.path(), folder / "absent", folder.write("empty", ""), std::string("/dev/zero")}) {
    const auto imported = store.import_file(path, {});
    ASSERT_FALSE(imported);
    EXPECT_EQ(imported.error().message.find(path), 0u) << imported.error().message;
  }
  ImportOptions checked;
  checked.check = [&](const std::string& path) -> Result<> { return fail("{}: is not a model", path); };
  EXPECT_EQ(store.import_file(file, checked).error().message, file + ": is not a model");
  EXPECT_FALSE(store.import_file(folder.write("\xff.gguf", "abc"), {})) << "JSON cannot hold this name";
  EXPECT_FALSE(store.import_file(folder.write("a\x1b.gguf", "abc"), {}));
  EXPECT_EQ(listed(), "");
  EXPECT_EQ(blobs() + count("staging"), 0u);
}

TEST_F(StoreTest, ExpectedHash) {
  const std::string file = folder.write("m.gguf", "abc");
  ImportOptions options;
  options.expected_sha256 = {std::string(64, '0')};
  const auto wrong = store.import_file(file, options);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, file + ": its SHA-256 is " + std::string(kAbc) + ", but " +
                                       std::string(64, '0') + " was expected");
  EXPECT_EQ(blobs() + count("staging"), 0u);
  options.expected_sha256 = {"zz"};
  EXPECT_EQ(store.import_file(file, options).error().message, "'zz' is not a SHA-256: 64 hexadecimal digits");
  options.expected_sha256 = {std::string(kAbc), std::string(kAbc)};
  EXPECT_FALSE(store.import_file(file, options));
  options.expected_sha256 = {"sha256:BA7816BF8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"};
  EXPECT_TRUE(store.import_file(file, options));
}

TEST_F(StoreTest, SplitFilesComeTogether) {
  for (const std::string part : {"1", "2", "3"})
    folder.write("Big-0000" + part + "-of-00003.gguf", "part" + part);
  const auto imported = store.import_file(folder / "Big-00002-of-00003.gguf", {});
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->model.name, "big");
  EXPECT_EQ(imported->model.files.size(), 3u);
  EXPECT_EQ(imported->model.bytes(), 15u);
  const auto path = store.resolve("big");
  ASSERT_TRUE(path);
  EXPECT_EQ(fs::path(*path).filename(), "Big-00001-of-00003.gguf");
  EXPECT_EQ(read(fs::path(*path).parent_path() / "Big-00003-of-00003.gguf"), "part3");
  ASSERT_TRUE(store.remove("big"));
  EXPECT_EQ(blobs(), 0u);
  fs::remove(folder / "Big-00003-of-00003.gguf");
  const auto missing = store.import_file(folder / "Big-00001-of-00003.gguf", {});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("Big-00003-of-00003.gguf"), std::string::npos);
  EXPECT_EQ(missing.error().hint, "a model in 3 parts needs all of them");
}

TEST_F(StoreTest, OverwrittenInPlaceIsFound) {
  const std::string file = folder.write("m.gguf", "abc");
  ASSERT_TRUE(store.import_file(file, {}));
  const auto stored = store.resolve("m");
  ASSERT_TRUE(stored);
  overwrite_in_place(*stored, "abd");
  const auto resolved = store.resolve("m");
  ASSERT_FALSE(resolved);
  EXPECT_NE(resolved.error().message.find("was changed after it was imported"), std::string::npos);
  EXPECT_FALSE(store.verify("m"));
  // Importing the right bytes again heals it.
  const auto healed =
      store.import_file(folder.write("m2.gguf", "abc"), ImportOptions{"m", {}, false, {}, {}});
  ASSERT_TRUE(healed) << healed.error().message;
  ASSERT_TRUE(store.resolve("m"));
  EXPECT_EQ(read(*store.resolve("m")), "abc");
}

TEST_F(StoreTest, TouchedOnlyIsHashedOnce) {
  ASSERT_TRUE(store.import_file(folder.write("m.gguf", "abc"), {}));
  overwrite_in_place(*store.resolve("m"), "abc");
  int calls = 0;
  const Progress count_calls = [&](uint64_t, uint64_t) { calls++; };
  EXPECT_TRUE(store.resolve("m", count_calls));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(store.resolve("m", count_calls));
  EXPECT_EQ(calls, 1) << "the new date was remembered";
}

TEST_F(StoreTest, DamagedModelsAreNotListed) {
  ASSERT_TRUE(store.import_file(folder.write("cut.gguf", "abc"), {}));
  ASSERT_TRUE(store.import_file(folder.write("gone.gguf", "def"), {}));
  ASSERT_TRUE(store.import_file(folder.write("good.gguf", "ghi"), {}));
  ASSERT_EQ(truncate(store.resolve("cut")->c_str(), 2), 0);
  fs::remove(*store.resolve("gone"));
  folder.write("store/models/junk.json", "{]");
  folder.write(
      "store/models/evil.json", R"({"version":1,"name":"evil","imported":"","files":[{"name":"../../x",
    "bytes":1,"sha256":")" + std::string(kAbc) +
                                    R"(","inode":1,"modified_ns":1}]})");
  folder.write("store/models/deep.json", std::string(100000, '['));
  folder.write("store/models/UPPER.json", "{}");
  const auto listing = store.list();
  ASSERT_EQ(listing->models.size(), 1u);
  EXPECT_EQ(listing->models[0].name, "good");
  ASSERT_EQ(listing->problems.size(), 5u);
  EXPECT_NE(listing->problems[0].find("has another size"), std::string::npos) << listing->problems[0];
  EXPECT_NE(listing->problems[2].find("'../../x' is not a plain file name"), std::string::npos)
      << listing->problems[2];
  EXPECT_NE(listing->problems[3].find("is missing or unreadable"), std::string::npos) << listing->problems[3];
  EXPECT_NE(listing->problems[4].find("is not valid JSON"), std::string::npos) << listing->problems[4];
  EXPECT_FALSE(store.resolve("cut"));
  EXPECT_FALSE(store.resolve("gone"));
  // A manifest that cannot be read may mean any blob, so none goes.
  ASSERT_TRUE(store.remove("good"));
  EXPECT_EQ(blobs(), 3u);
  for (const std::string name : {"junk", "evil", "deep", "cut", "gone"})
    ASSERT_TRUE(store.remove(name)) << name;
  EXPECT_EQ(blobs(), 0u);
}

TEST_F(StoreTest, ManifestFieldsAreChecked) {
  ASSERT_TRUE(store.import_file(folder.write("m.gguf", "abc"), {}));
  const std::string good = read(store.folder() + "/models/m.json");
  ASSERT_TRUE(parse_manifest(good, "m"));
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto parsed = parse_manifest(text, "m");
    return parsed ? "" : parsed.error().message;
  };
  EXPECT_EQ(error("\"version\": 1", "\"version\": 2"), "field 'version' is 2: this program knows 1");
  EXPECT_EQ(error("\"name\": \"m\"", "\"name\": \"n\""), "field 'name' is not the name of its file");
  EXPECT_EQ(error("\"bytes\": 3", "\"bytes\": -3"), "field 'bytes' is not a non-negative integer");
  EXPECT_EQ(error("\"bytes\": 3", "\"bytes\": 3.5"), "field 'bytes' is not a non-negative integer");
  EXPECT_EQ(error("\"files\": [", "\"files\": [1, "), "field 'files' holds something that is not an object");
  EXPECT_EQ(error("\"files\"", "\"file\""), "field 'files' is not a list of 1 to 256 files");
  EXPECT_EQ(error("\"m.gguf\"", "null"), "field 'name' is not a string");
  EXPECT_NE(error(std::string(kAbc), "beef").find("'beef' is not a SHA-256"), std::string::npos);
}

TEST_F(StoreTest, CopyIsIndependent) {
  const std::string file = folder.write("m.gguf", "abc");
  const auto imported = store.import_file(file, ImportOptions{"", {}, true, {}, {}});
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->how, Shared::kCopied);
  overwrite_in_place(file, "xyz");
  EXPECT_EQ(read(*store.resolve("m")), "abc");
  EXPECT_TRUE(store.verify("m"));
}

TEST_F(StoreTest, ManyImportsAtOnce) {
  std::string megabytes(5 << 20, 'x');
  const std::string same = folder.write("same.gguf", megabytes);
  std::vector<std::string> own;
  for (int i = 0; i < 3; i++)
    own.push_back(folder.write(fmt::format("own{}.gguf", i), megabytes + std::to_string(i)));
  std::vector<std::thread> threads;
  std::vector<Result<Imported>> results(9, fail("not run"));
  for (size_t i = 0; i < 9; i++) {
    threads.emplace_back([&, i] {
      results[i] = store.import_file(i < 6 ? same : own[i - 6], ImportOptions{"", {}, i % 2 == 0, {}, {}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  size_t fresh = 0;
  for (size_t i = 0; i < 9; i++) {
    ASSERT_TRUE(results[i]) << results[i].error().message;
    fresh += i < 6 && !results[i]->already_there;
  }
  EXPECT_EQ(fresh, 1u) << "one of the six imports of the same file put it there";
  EXPECT_EQ(listed(), "own0 own1 own2 same ");
  EXPECT_EQ(blobs(), 4u);
  EXPECT_EQ(count("staging"), 0u);
  for (const std::string name : {"same", "own0", "own1", "own2"}) EXPECT_TRUE(store.verify(name));
}

TEST(DefaultFolder, FollowsTheStandard) {
  const auto saved =
      std::getenv("XDG_DATA_HOME") ? std::optional<std::string>(std::getenv("XDG_DATA_HOME")) : std::nullopt;
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(Store::default_folder(), "/data/brass");
  setenv("XDG_DATA_HOME", "relative", 1);
  setenv("HOME", "/home/x", 1);
  EXPECT_EQ(Store::default_folder(), "/home/x/.local/share/brass");
  unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(Store::default_folder(), "/home/x/.local/share/brass");
  unsetenv("HOME");
  EXPECT_TRUE(Store::default_folder()->ends_with("/.local/share/brass"));  // from the user database
  if (saved) setenv("XDG_DATA_HOME", saved->c_str(), 1);
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace brass::hub
