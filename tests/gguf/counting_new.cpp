#include "counting_new.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<size_t> live{0}, peak{0};

void* counted_or_null(size_t size) noexcept {
  void* pointer = std::malloc(size == 0 ? 1 : size);
  if (pointer == nullptr) return nullptr;
  const size_t now = live += malloc_usable_size(pointer);
  size_t seen = peak.load();
  while (seen < now && !peak.compare_exchange_weak(seen, now)) {
  }
  return pointer;
}

void* counted(size_t size) {
  void* pointer = counted_or_null(size);
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

void uncounted(void* pointer) {
  if (pointer != nullptr) live -= malloc_usable_size(pointer);
  std::free(pointer);
}
}  // namespace

void* operator new(size_t size) { return counted(size); }
void* operator new[](size_t size) { return counted(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return counted_or_null(size); }
void operator delete(void* pointer) noexcept { uncounted(pointer); }
void operator delete[](void* pointer) noexcept { uncounted(pointer); }
void operator delete(void* pointer, size_t) noexcept { uncounted(pointer); }
void operator delete[](void* pointer, size_t) noexcept { uncounted(pointer); }

namespace brass {

AllocationPeak::AllocationPeak() : live_before_(live.load()) { peak.store(live_before_); }
size_t AllocationPeak::bytes() const { return peak.load() - std::min(peak.load(), live_before_); }

}  // namespace brass
