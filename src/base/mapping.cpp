#include "base/mapping.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/check.h"

namespace brass {
namespace {

// The signal handler may only touch lock-free state, so live mappings sit in a fixed table.
constexpr int kSlots = 256;
struct Slot {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> faulted{false};
};
Slot slots[kSlots];
struct sigaction previous_action;
const uintptr_t page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Slot& slot : slots) {
    if (address < slot.begin.load() || address >= slot.end.load()) continue;
    void* page = reinterpret_cast<void*>(address & ~(page_size - 1));
    if (mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
    slot.faulted.store(true);
    return;
  }
  // Not ours: behave as if we had never been installed.
  if (previous_action.sa_flags & SA_SIGINFO) {
    previous_action.sa_sigaction(signal, info, context);
  } else {
    sigaction(SIGBUS, &previous_action, nullptr);
    raise(signal);
  }
}

void install_handler_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous_action);
  });
}

int take_slot(uintptr_t begin, size_t size) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (int i = 0; i < kSlots; i++) {
    if (slots[i].begin.load() != 0) continue;
    slots[i].faulted.store(false);
    slots[i].end.store(begin + size);
    slots[i].begin.store(begin);
    return i;
  }
  return -1;
}

}  // namespace

Result<std::unique_ptr<Mapping>> Mapping::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail("{}: cannot be opened: {}", path, std::strerror(errno));
  struct stat info = {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return fail("{}: is not a regular file", path);
  }
  if (info.st_size == 0) {
    close(fd);
    return fail("{}: is empty", path);
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    close(fd);
    return fail("{}: cannot be mapped: {}", path, std::strerror(errno));
  }
  install_handler_once();
  const int slot = take_slot(reinterpret_cast<uintptr_t>(data), size);
  if (slot < 0) {
    munmap(data, size);
    close(fd);
    return fail("{}: too many files are mapped ({})", path, kSlots);
  }
  std::unique_ptr<Mapping> mapping(new Mapping);
  mapping->path_ = path;
  mapping->data_ = static_cast<const std::byte*>(data);
  mapping->size_ = size;
  mapping->slot_ = slot;
  mapping->fd_ = fd;
  return mapping;
}

Mapping::~Mapping() {
  munmap(const_cast<std::byte*>(data_), size_);
  close(fd_);
  slots[slot_].begin.store(0);
  slots[slot_].end.store(0);
}

bool Mapping::faulted() const { return slots[slot_].faulted.load(); }

Result<> Mapping::check() const {
  struct stat info = {};
  const bool shrunk = fstat(fd_, &info) != 0 || static_cast<size_t>(info.st_size) < size_;
  if (!faulted() && !shrunk) return {};
  return fail_hint("copy the file again, and do not overwrite a model file in place while it is in use",
                   "{}: the file shrank or could not be read while it was in use (it was {} bytes)", path_,
                   size_);
}

void Mapping::will_need(size_t offset, size_t count) const {
  const size_t start = offset & ~(page_size - 1);
  madvise(const_cast<std::byte*>(data_) + start, count + (offset - start), MADV_WILLNEED);
}

void Mapping::drop(size_t offset, size_t count) const {
  const size_t start = (offset + page_size - 1) & ~(page_size - 1);  // whole pages inside the range only
  const size_t end = (offset + count) & ~(page_size - 1);
  if (end > start) madvise(const_cast<std::byte*>(data_) + start, end - start, MADV_DONTNEED);
}

size_t Mapping::resident_bytes() const {
  // mincore answers for the page cache; what this process touched is in its own page table.
  const int fd = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const size_t pages = (size_ + page_size - 1) / page_size;
  std::vector<uint64_t> entries(pages);
  const auto first = reinterpret_cast<uintptr_t>(data_) / page_size;
  const ssize_t got = pread(fd, entries.data(), pages * 8, static_cast<off_t>(first * 8));
  close(fd);
  size_t present = 0;
  for (size_t i = 0; i < pages && static_cast<ssize_t>(i * 8) < got; i++) present += entries[i] >> 63;
  return present * page_size;
}

}  // namespace brass
