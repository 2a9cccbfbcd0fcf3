// Who holds which page of one memory group.
//
// Owns: the free list and the reference counts. Must not know: what a page holds.
// Invariants: a page is free, or held by at least one sequence; only a page held once may be written.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/device.h"
#include "base/check.h"

namespace brass {

class PagePool {
 public:
  explicit PagePool(uint32_t pages) : holders_(pages, 0) {
    free_.reserve(pages);
    for (uint32_t i = pages; i-- > 0;) free_.push_back(static_cast<PageId>(i));
  }

  uint32_t free_pages() const { return static_cast<uint32_t>(free_.size()); }
  bool is_shared(PageId page) const { return holders_[static_cast<size_t>(page)] > 1; }

  PageId take() {
    ENSURE(!free_.empty(), "no free page");
    const PageId page = free_.back();
    free_.pop_back();
    holders_[static_cast<size_t>(page)] = 1;
    return page;
  }
  void share(PageId page) { holders_[static_cast<size_t>(page)]++; }
  void release(PageId page) {
    ENSURE(holders_[static_cast<size_t>(page)] > 0, "page {} is not held", page);
    if (--holders_[static_cast<size_t>(page)] == 0) free_.push_back(page);
  }

 private:
  std::vector<PageId> free_;  // reserved once: taking and releasing never allocate
  std::vector<uint32_t> holders_;
};

}  // namespace brass
