// A file mapped read-only into memory.
//
// Owns: the mapping, and the answer to "did the file change under us?".
// Invariants: bytes() stays readable for the life of the object whatever happens to the file. If the file shrinks,
// or the disk fails, reads of the lost part give zeros and faulted() turns true: whoever read must check it
// afterwards and report an error instead of using what was read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace brass {

class Mapping {
 public:
  // Fails on directories, FIFOs, devices (never blocks on them), empty files and unreadable paths.
  static Result<std::unique_ptr<Mapping>> open(const std::string& path);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

  bool faulted() const;    // a read met a lost page
  Result<> check() const;  // faulted() or a changed size, as an error that names the file
  void will_need(size_t offset, size_t count) const;  // starts reading ahead
  void drop(size_t offset, size_t count) const;       // gives pages back (they can be read again)
  size_t resident_bytes() const;                      // bytes of this process's view that are in memory now

 private:
  Mapping() = default;
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  int slot_ = -1;
  int fd_ = -1;
};

}  // namespace brass
