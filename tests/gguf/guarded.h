// Bytes whose end is the end of readable memory: a read of one byte too many dies, in every build.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <span>

namespace brass {

class Guarded {
 public:
  explicit Guarded(std::span<const std::byte> bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t room = (bytes.size() + page - 1) / page * page;
    size_ = room + page;
    base_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* start = static_cast<std::byte*>(base_) + (room - bytes.size());
    if (!bytes.empty()) std::memcpy(start, bytes.data(), bytes.size());
    mprotect(static_cast<std::byte*>(base_) + room, page, PROT_NONE);
    view_ = {start, bytes.size()};
  }
  ~Guarded() { munmap(base_, size_); }
  Guarded(const Guarded&) = delete;

  std::span<const std::byte> bytes() const { return view_; }

 private:
  void* base_;
  size_t size_;
  std::span<const std::byte> view_;
};

}  // namespace brass
