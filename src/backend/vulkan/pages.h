// The pages of a model's sequences on the GPU: one memory group's.
//
// Owns: their buffers, and where each layer lies in a page. Must not know: plans, sequences, weights. Invariants: programs find
// a page by a number alone, whatever buffer it is in: all lie at multiples of a page's bytes from one address. A page
// holds its layers one after another: K [64][heads · k_dim], then V [64][heads · v_dim], of int8 the scales behind the
// codes (shaders/kv.glsl); a page of states the states one after another, in f32.
#pragma once

#include "backend/vulkan/context.h"

namespace brass::vulkan {

class PagePool {
 public:
  struct Layer {
    uint64_t k, v;  // bytes from the page's begin
  };
  PagePool(const MemoryGroup& group, KvType k_type, KvType v_type);

  // Bytes of the buffers that so many pages lie in: one, or where it would be of more than `most` bytes several, of at least a page each.
  std::vector<uint64_t> buffer_bytes(uint32_t pages, uint64_t most) const;
  Result<> allocate(const Context& context, uint32_t pages, uint64_t most);
  uint64_t page_bytes() const { return page_bytes_; }
  // Page n of programs is at address() + n · page_bytes(). Of a pool that was not allocated, from 0.
  uint64_t address() const { return address_; }
  int32_t number(PageId page) const;
  const Layer& layer(uint32_t i) const { return layers_[i]; }
  uint64_t state(uint32_t i) const { return states_[i]; }
  bool has_states() const { return !group_.states.empty(); }
  bool has(PageId page) const { return page >= 0 && static_cast<uint32_t>(page) < pages_; }
  KvType key_type() const { return k_type_; }
  KvType value_type() const { return v_type_; }

  Result<> copy(const Context& context, PageId from, PageId to) const;
  Result<std::vector<float>> export_page(const Context& context, PageId page) const;
  Result<> import_page(const Context& context, PageId page, std::span<const float> rows) const;

 private:
  MemoryGroup group_;
  KvType k_type_, v_type_;
  std::vector<Layer> layers_;
  std::vector<uint64_t> states_;
  // A buffer, where its first page begins in it, and that page's number.
  struct Piece {
    Buffer buffer;
    uint64_t begin = 0;
    int32_t number = 0;
  };
  uint32_t pages_of_piece(uint32_t pages, uint64_t most) const;
  Result<> number_pieces();
  const Piece& piece(PageId page) const { return pieces_[static_cast<uint32_t>(page) / pages_of_piece_]; }
  uint64_t offset(PageId page) const {
    return piece(page).begin + static_cast<uint32_t>(page) % pages_of_piece_ * page_bytes_;
  }

  uint64_t page_bytes_ = 0, address_ = 0;
  uint32_t pages_ = 0, pages_of_piece_ = 1;
  std::vector<Piece> pieces_;
};

}  // namespace brass::vulkan
