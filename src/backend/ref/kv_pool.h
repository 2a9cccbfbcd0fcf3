// The pages of one memory group, in f32.
//
// Owns: the bytes and their layout: a page holds its layers one after another, K then V; a position's heads
// stand one after another, each padded to a multiple of kLanes values with zeros. A page of a state group holds
// the states of its layers one after another. Pages that are never written cost no memory. Must not know: sequences, page tables.
#pragma once

#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "backend/device.h"

namespace brass::ref {

class KvPool {
 public:
  // One layer's K or V inside a page.
  struct Part {
    uint32_t heads, dim;
    size_t head_stride, row_stride, begin;  // in values
    size_t size() const { return kPageTokens * row_stride; }
  };

  KvPool(const MemoryGroup& group, uint32_t pages);

  uint32_t pages() const { return pages_; }
  size_t page_values() const { return page_values_; }
  bool has(PageId page) const { return page >= 0 && static_cast<uint32_t>(page) < pages_; }

  const Part& k(uint32_t layer) const { return parts_[2 * layer]; }
  const Part& v(uint32_t layer) const { return parts_[2 * layer + 1]; }
  // The state of a recurrent layer.
  float* state(PageId page, uint32_t layer) const;
  // Row of `position mod 64` in a page.
  float* row(PageId page, const Part& part, uint32_t slot);
  void write(PageId page, const Part& part, uint32_t slot, const float* heads);

  void copy(PageId from, PageId to, uint32_t positions);
  std::vector<float> export_page(PageId page) const;
  void import_page(PageId page, std::span<const float> rows);

 private:
  float* page(PageId id) const;

  std::vector<Part> parts_;     // [layer]{k, v}
  std::vector<size_t> states_;  // [layer] begin, in values
  uint32_t pages_;
  size_t page_values_ = 0;
  std::unique_ptr<float, decltype(&std::free)> values_;
};

}  // namespace brass::ref
