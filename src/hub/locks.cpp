#include "hub/locks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace brass::hub {
namespace fs = std::filesystem;

Result<FileLock> FileLock::take(const std::string& path) {
  FileLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock.fd_ < 0) return fail("{}: cannot be opened: {}", path, std::strerror(errno));
  while (flock(lock.fd_, LOCK_EX) != 0) {
    if (errno != EINTR) return fail("{}: cannot be locked: {}", path, std::strerror(errno));
  }
  return lock;
}

bool FileLock::is_free(const std::string& path) {
  const FileLock probe(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (probe.fd_ < 0) return errno == ENOENT;
  return flock(probe.fd_, LOCK_EX | LOCK_NB) == 0;
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

Result<> make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail("{}: cannot be created: {}", path, error.message());
  return {};
}

Result<StagingFolder> StagingFolder::create(const std::string& parent) {
  std::string path = parent + "/import-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail("{}: cannot be created: {}", path, std::strerror(errno));
  FileLock lock = TRY(FileLock::take(path + "/lock"));
  return StagingFolder(std::move(path), std::move(lock));
}

void StagingFolder::remove_dead(const std::string& parent) {
  std::error_code ignored;  // what cannot be removed now is tried again by the next import
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (FileLock::is_free(entry.path().string() + "/lock")) fs::remove_all(entry.path(), ignored);
  }
}

StagingFolder::~StagingFolder() {
  if (path_.empty()) return;  // moved from
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace brass::hub
