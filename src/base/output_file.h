// A file that appears whole or not at all.
//
// Owns: a temporary file beside the target, its descriptor, and the rename that makes it the target.
// Must not know: what is written.
// Invariants: until commit() succeeds the target is untouched; without commit() the destructor removes the
// temporary file; after commit() name and contents are on the disk (fsync of the file and of its folder), so
// that neither a crash nor a power cut leaves half a file under the target's name.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace brass {

class OutputFile {
 public:
  // The temporary name is PATH + kTemporaryMark + process id and a counter.
  static constexpr std::string_view kTemporaryMark = ".tmp-";
  static Result<OutputFile> create(const std::string& path);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  Result<> write(std::span<const std::byte> bytes);
  Result<> extend(uint64_t bytes);  // to this size, by zeros that take no room on the disk
  Result<> commit();                // once; replaces a file that has the target's name

  int descriptor() const { return fd_; }  // for what write() cannot do (reflinks); the position is shared
  const std::string& temporary_path() const { return temporary_; }

 private:
  OutputFile() = default;
  std::string path_, temporary_;
  int fd_ = -1;
};

// Makes the names in `folder` survive a power cut.
Result<> sync_folder(const std::string& folder);

}  // namespace brass
