#include "base/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace brass {
namespace {

std::unexpected<Error> cannot(const std::string& path, std::string_view what) {
  const int code = errno;
  std::string hint = code == ENOSPC || code == EDQUOT ? "free some space, or choose another disk" : "";
  return fail_hint(std::move(hint), "{}: cannot be {}: {}", path, what, std::strerror(code));
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<> sync_folder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return cannot(folder, "opened");
  // EINVAL: a file system that has nothing to sync.
  const bool ok = fsync(fd) == 0 || errno == EINVAL;
  const int code = errno;
  close(fd);
  errno = code;
  if (!ok) return cannot(folder, "synced to the disk");
  return {};
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  OutputFile file;
  file.path_ = path;
  // A name of a dead process with our id may be left over: take the next one.
  for (int attempt = 0; attempt < 1000; attempt++) {
    std::string name = fmt::format("{}{}{}-{}", path, kTemporaryMark, getpid(), counter++);
    file.fd_ = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.fd_ >= 0) {
      file.temporary_ = std::move(name);
      return file;
    }
    if (errno != EEXIST) break;
  }
  return cannot(path, "created");
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)) {
  other.temporary_.clear();
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Result<> OutputFile::write(std::span<const std::byte> bytes) {
  ENSURE(fd_ >= 0);
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot(path_, "written");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Result<> OutputFile::extend(uint64_t bytes) {
  ENSURE(fd_ >= 0);
  if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) return cannot(path_, "made larger");
  return {};
}

Result<> OutputFile::commit() {
  ENSURE(fd_ >= 0);
  if (fsync(fd_) != 0) return cannot(path_, "written to the disk");
  const int closed = close(std::exchange(fd_, -1));
  if (closed != 0) return cannot(path_, "written to the disk");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return cannot(path_, "put in place");
  temporary_.clear();
  return sync_folder(folder_of(path_));
}

}  // namespace brass
