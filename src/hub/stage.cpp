#include "hub/stage.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/output_file.h"
#include "hub/digest.h"

namespace brass::hub {
namespace {

Result<Staged> hash_staged(const std::string& staged, const std::string& name, Shared how,
                           const std::function<void(uint64_t)>& advance) {
  const SourceFile file = TRY(SourceFile::open(staged));
  const Identity before = TRY(file.identity());
  std::string sha256 = TRY(hash_file(file.descriptor(), staged, advance));
  if (fsync(file.descriptor()) != 0) return fail("{}: cannot be synced: {}", staged, std::strerror(errno));
  const Identity after = TRY(file.identity());
  if (before != after) return fail("the file was written to while it was being imported");
  return Staged{{name, std::move(sha256), after}, how};
}

Result<bool> reflink(const SourceFile& source, const std::string& target) {
  OutputFile out = TRY(OutputFile::create(target));
  if (ioctl(out.descriptor(), FICLONE, source.descriptor()) != 0)
    return false;  // another file system, or it cannot
  TRY(out.commit());
  return true;
}

// By descriptor, not by path: the very file that was opened, whatever the path means by now.
bool hard_link(const SourceFile& source, const std::string& target) {
  const std::string link = fmt::format("/proc/self/fd/{}", source.descriptor());
  return linkat(AT_FDCWD, link.c_str(), AT_FDCWD, target.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

Result<Staged> copy(const SourceFile& source, const std::string& target, const std::string& name,
                    const std::function<void(uint64_t)>& advance) {
  const Identity before = TRY(source.identity());
  OutputFile out = TRY(OutputFile::create(target));
  std::string sha256 = TRY(hash_file(source.descriptor(), source.path(), advance,
                                     [&](std::span<const std::byte> piece) { return out.write(piece); }));
  TRY(out.commit());
  const Identity after = TRY(source.identity());
  if (before != after) return fail("{}: was written to while it was being imported", source.path());
  const SourceFile copied = TRY(SourceFile::open(target));
  const Identity identity = TRY(copied.identity());
  return Staged{{name, std::move(sha256), identity}, Shared::kCopied};
}

}  // namespace

Result<SourceFile> SourceFile::open(const std::string& path) {
  SourceFile file;
  file.path_ = path;
  file.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.fd_ < 0) return fail("{}: cannot be opened: {}", path, std::strerror(errno));
  struct stat info = {};
  if (fstat(file.fd_, &info) != 0 || !S_ISREG(info.st_mode)) return fail("{}: is not a regular file", path);
  if (info.st_size == 0) return fail("{}: is empty", path);
  return file;
}

SourceFile::SourceFile(SourceFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

SourceFile::~SourceFile() {
  if (fd_ >= 0) close(fd_);
}

Result<Identity> SourceFile::identity() const {
  struct stat info = {};
  if (fstat(fd_, &info) != 0) return fail("{}: cannot be read: {}", path_, std::strerror(errno));
  return Identity{info.st_ino, static_cast<uint64_t>(info.st_size),
                  int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec};
}

Result<Staged> stage_file(const std::string& path, const std::string& folder, const std::string& name,
                          bool copy_always, const std::function<void(uint64_t)>& advance) {
  const SourceFile source = TRY(SourceFile::open(path));
  const std::string target = folder + "/" + name;
  if (!copy_always) {
    const bool cloned = TRY(reflink(source, target));
    if (cloned || hard_link(source, target)) {
      return within(path, hash_staged(target, name, cloned ? Shared::kReflink : Shared::kHardLink, advance));
    }
  }
  return copy(source, target, name, advance);
}

}  // namespace brass::hub
