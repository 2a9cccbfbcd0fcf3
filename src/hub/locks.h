// Locks that die with their process, and folders for imports under way.
#pragma once

#include <string>

#include "base/result.h"

namespace brass::hub {

// An exclusive flock on a file, made if absent.
class FileLock {
 public:
  static Result<FileLock> take(const std::string& path);  // waits
  static bool is_free(const std::string& path);           // nobody holds it, or there is no such file
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

// A fresh folder PARENT/…, whose lock this process holds as long as the object lives; removed with all it
// holds in the end. Make it, and look for dead ones, only under the store's lock.
class StagingFolder {
 public:
  static Result<StagingFolder> create(const std::string& parent);
  static void remove_dead(const std::string& parent);
  ~StagingFolder();
  StagingFolder(StagingFolder&& other) noexcept = default;
  StagingFolder& operator=(StagingFolder&&) = delete;

  const std::string& path() const { return path_; }

 private:
  StagingFolder(std::string path, FileLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  FileLock lock_;
};

Result<> make_folder(const std::string& path);  // and its parents

}  // namespace brass::hub
