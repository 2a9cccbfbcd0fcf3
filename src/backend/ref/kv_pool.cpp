#include "backend/ref/kv_pool.h"

#include <algorithm>

#include "backend/ref/loops.h"
#include "base/check.h"

namespace brass::ref {

KvPool::KvPool(const MemoryGroup& group, uint32_t pages) : pages_(pages), values_(nullptr, &std::free) {
  const auto add_part = [this](uint32_t heads, uint32_t dim) {
    const size_t head_stride = (dim + kLanes - 1) / kLanes * kLanes;
    parts_.push_back({heads, dim, head_stride, heads * head_stride, page_values_});
    page_values_ += parts_.back().size();
  };
  for (const KvLayer& layer : group.layers) {
    add_part(layer.heads, layer.k_dim);
    add_part(layer.heads, layer.v_dim);
  }
  for (const uint32_t values : group.states) {
    states_.push_back(page_values_);
    page_values_ += values;
  }
  if (pages == 0) return;
  values_.reset(
      static_cast<float*>(std::calloc(pages, page_values_ * sizeof(float))));  // untouched pages stay free
  ENSURE(values_ != nullptr, "no address space for {} pages of group '{}'", pages, group.name);
}

float* KvPool::page(PageId id) const {
  ENSURE(has(id), "page {} of {}", id, pages_);
  return values_.get() + static_cast<size_t>(id) * page_values_;
}

float* KvPool::state(PageId id, uint32_t layer) const { return page(id) + states_[layer]; }

float* KvPool::row(PageId id, const Part& part, uint32_t slot) {
  return page(id) + part.begin + slot * part.row_stride;
}

void KvPool::write(PageId id, const Part& part, uint32_t slot, const float* heads) {
  float* to = row(id, part, slot);
  for (uint32_t h = 0; h < part.heads; h++)
    std::copy_n(heads + size_t{h} * part.dim, part.dim, to + h * part.head_stride);
}

void KvPool::copy(PageId from, PageId to, uint32_t positions) {
  ENSURE(positions <= kPageTokens, "{} positions of a page", positions);
  if (from == to) return;
  if (!states_.empty()) std::copy_n(page(from), page_values_, page(to));
  for (const Part& part : parts_)
    std::copy_n(page(from) + part.begin, positions * part.row_stride, page(to) + part.begin);
}

std::vector<float> KvPool::export_page(PageId id) const {
  std::vector<float> rows;
  if (!states_.empty()) rows.assign(page(id), page(id) + page_values_);
  for (const Part& part : parts_)
    for (size_t head = 0; head < kPageTokens * part.heads; head++) {
      const float* from = page(id) + part.begin + head * part.head_stride;
      rows.insert(rows.end(), from, from + part.dim);
    }
  return rows;
}

void KvPool::import_page(PageId id, std::span<const float> rows) {
  size_t next = 0;
  if (!states_.empty()) {
    ENSURE(rows.size() == page_values_, "a page of {} values, expected {}", rows.size(), page_values_);
    std::ranges::copy(rows, page(id));
    next = page_values_;
  }
  for (const Part& part : parts_)
    for (size_t head = 0; head < kPageTokens * part.heads; head++, next += part.dim) {
      ENSURE(next + part.dim <= rows.size(), "a page of {} values is too short", rows.size());
      std::copy_n(rows.data() + next, part.dim, page(id) + part.begin + head * part.head_stride);
    }
  ENSURE(next == rows.size(), "a page of {} values is too long", rows.size());
}

}  // namespace brass::ref
