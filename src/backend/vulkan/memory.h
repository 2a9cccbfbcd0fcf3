// What a model keeps on the GPU: its weights and the pages of its sequences.
//
// Owns: their buffers and where each thing lies in them. Must not know: plans, steps. Invariants: weights lie as in the
// file, each tensor once, whatever slices of it are read (Q6_K's and Q8_0's blocks apart, so that their words are whole);
// vectors are f32. A page holds its layers one after another: K
// [64][heads · k_dim], then V [64][heads · v_dim]; a page of states the states one after another.
#pragma once

#include <map>

#include "backend/vulkan/context.h"

namespace brass::vulkan {

struct GpuWeight {
  uint64_t address = 0;
  uint64_t grid = 0;  // of a format with a code book
  uint32_t row_bytes = 0;
  bool fits_halves = true;  // a matrix that may be computed with as f16
};

class Weights {
 public:
  Result<> upload(const Context& context, const Graph& graph, bool check_finite, const Progress& progress,
                  const std::function<void(const Weight&)>& release);
  // Nothing is uploaded: sizes alone, for lowering without running.
  void outline(const Graph& graph);
  const GpuWeight& operator[](WeightId i) const { return weights_[static_cast<size_t>(i)]; }
  size_t size() const { return weights_.size(); }

 private:
  Result<uint64_t> reserve(const Context& context, uint64_t bytes);
  Result<uint64_t> place(const Context& context, std::span<const std::byte> bytes);
  Result<uint64_t> place_blocks(const Context& context, std::span<const std::byte> blocks,
                                const Format& format);
  Result<uint64_t> grid_of(const Context& context, Type type);
  std::vector<Buffer> chunks_;
  uint64_t used_ = 0;  // of the last chunk
  std::map<Type, uint64_t> grids_;
  std::vector<GpuWeight> weights_;
};

class PagePool {
 public:
  struct Layer {
    uint64_t k, v;  // bytes from the page's begin
  };
  PagePool(const MemoryGroup& group, KvType k_type, KvType v_type);

  Result<> allocate(const Context& context, uint32_t pages);
  uint64_t page_bytes() const { return page_bytes_; }
  uint64_t address() const { return buffer_.address(); }
  const Layer& layer(uint32_t i) const { return layers_[i]; }
  uint64_t state(uint32_t i) const { return states_[i]; }
  bool has(PageId page) const { return page >= 0 && static_cast<uint32_t>(page) < pages_; }
  bool keys_are_half() const { return k_type_ == KvType::kF16; }
  bool values_are_half() const { return v_type_ == KvType::kF16; }

  Result<> copy(const Context& context, PageId from, PageId to) const;
  Result<std::vector<float>> export_page(const Context& context, PageId page) const;
  Result<> import_page(const Context& context, PageId page, std::span<const float> rows) const;

 private:
  MemoryGroup group_;
  KvType k_type_, v_type_;
  std::vector<Layer> layers_;
  std::vector<uint64_t> states_;
  uint64_t page_bytes_ = 0;
  uint32_t pages_ = 0;
  Buffer buffer_;
};

}  // namespace brass::vulkan
