// Brings one file into a folder of the store, without copying where the file system can share it, and hashes
// it.
//
// Owns: reflink, hard link or copy. Must not know: manifests.
// Invariant: on success the staged file's bytes are those of the hash, and are on the disk.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "hub/manifest.h"

namespace brass::hub {

// How the bytes came into the store.
enum class Shared { kReflink, kHardLink, kCopied };

struct Staged {
  StoredFile file;
  Shared how;
};

// A regular file, open for reading; refuses folders, FIFOs and devices without blocking on them.
class SourceFile {
 public:
  static Result<SourceFile> open(const std::string& path);
  ~SourceFile();
  SourceFile(SourceFile&& other) noexcept;
  SourceFile& operator=(SourceFile&&) = delete;

  int descriptor() const { return fd_; }
  const std::string& path() const { return path_; }
  Result<Identity> identity() const;  // as it is now

 private:
  SourceFile() = default;
  std::string path_;
  int fd_ = -1;
};

// Stages `path` as `folder`/`name`. `copy_always`: never share bytes with the user's file. `advance` is told
// how many bytes were hashed since its last call. Errors: reading, a full disk, a source that changes
// meanwhile.
Result<Staged> stage_file(const std::string& path, const std::string& folder, const std::string& name,
                          bool copy_always, const std::function<void(uint64_t bytes)>& advance);

}  // namespace brass::hub
