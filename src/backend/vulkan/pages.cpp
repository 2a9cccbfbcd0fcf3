#include "backend/vulkan/pages.h"

#include <volk.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/half.h"

namespace brass::vulkan {
namespace {

constexpr uint32_t kScaled = 32;  // values of a head that share a scale

// Heads of 64 positions, `dim` values each, as they lie in a page.
struct Heads {
  uint64_t at;  // bytes from the page's begin
  uint64_t heads;
  uint32_t dim;
  KvType type;

  uint64_t codes() const { return heads * dim; }
  uint64_t scales() const { return (dim + kScaled - 1) / kScaled; }  // of a head
  uint64_t bytes() const {
    switch (type) {
      case KvType::kF32:
        return 4 * codes();
      case KvType::kF16:
      case KvType::kBF16:
        return 2 * codes();
      case KvType::kInt8:
        return codes() + 4 * heads * scales();
    }
    return 0;
  }
};

template <class T>
T get(const std::byte* from, uint64_t index) {
  T x;
  std::memcpy(&x, from + index * sizeof(T), sizeof(T));
  return x;
}
template <class T>
void put(std::byte* to, uint64_t index, T x) {
  std::memcpy(to + index * sizeof(T), &x, sizeof(T));
}

float read(const std::byte* part, const Heads& h, uint64_t head, uint32_t d) {
  const uint64_t i = head * h.dim + d;
  switch (h.type) {
    case KvType::kF32:
      return get<float>(part, i);
    case KvType::kF16:
      return f16_to_f32(get<uint16_t>(part, i));
    case KvType::kBF16:
      return bf16_to_f32(get<uint16_t>(part, i));
    case KvType::kInt8:
      return static_cast<float>(get<int8_t>(part, i)) *
             get<float>(part + h.codes(), head * h.scales() + d / kScaled);
  }
  return 0;
}

// One scale's values.
void write_scaled(std::byte* part, const Heads& h, uint64_t head, uint32_t begin,
                  std::span<const float> values) {
  float largest = 0;
  bool finite = true;
  for (const float x : values) largest = std::max(largest, std::abs(x)), finite = finite && std::isfinite(x);
  for (uint32_t i = 0; i < values.size(); i++) {
    const float scaled = finite && values[i] != 0 ? values[i] * (127.0f / largest) : 0.0f;
    put(part, head * h.dim + begin + i,
        static_cast<int8_t>(std::clamp(std::nearbyint(scaled), -127.f, 127.f)));
  }
  put(part + h.codes(), head * h.scales() + begin / kScaled,
      finite ? largest / 127.0f : std::numeric_limits<float>::quiet_NaN());
}

void write(std::byte* part, const Heads& h, uint64_t head, std::span<const float> values) {
  for (uint32_t d = 0; d < h.dim; d++) {
    const uint64_t i = head * h.dim + d;
    if (h.type == KvType::kF32) put(part, i, values[d]);
    if (h.type == KvType::kF16) put(part, i, f32_to_f16(values[d]));
    if (h.type == KvType::kBF16) put(part, i, f32_to_bf16(values[d]));
    if (h.type == KvType::kInt8 && d % kScaled == 0)
      write_scaled(part, h, head, d, values.subspan(d, std::min(kScaled, h.dim - d)));
  }
}

// fn(heads), part by part in canonical order. A state is one head of f32.
template <class Fn>
void each_part(const MemoryGroup& group, const PagePool& pool, const Fn& fn) {
  for (uint32_t i = 0; i < group.states.size(); i++)
    fn(Heads{pool.state(i), 1, group.states[i], KvType::kF32});
  for (uint32_t i = 0; i < group.layers.size(); i++) {
    const KvLayer& layer = group.layers[i];
    const uint64_t heads = uint64_t{kPageTokens} * layer.heads;
    fn(Heads{pool.layer(i).k, heads, layer.k_dim, pool.key_type()});
    fn(Heads{pool.layer(i).v, heads, layer.v_dim, pool.value_type()});
  }
}

}  // namespace

PagePool::PagePool(const MemoryGroup& group, KvType k_type, KvType v_type)
    : group_(group), k_type_(k_type), v_type_(v_type) {
  const auto add = [this](uint64_t heads, uint32_t dim, KvType type) {
    const uint64_t at = page_bytes_;
    page_bytes_ = (page_bytes_ + Heads{at, heads, dim, type}.bytes() + 15) / 16 * 16;
    return at;
  };
  for (const KvLayer& layer : group.layers) {
    const uint64_t heads = uint64_t{kPageTokens} * layer.heads;
    Layer at{};
    at.k = add(heads, layer.k_dim, k_type);
    at.v = add(heads, layer.v_dim, v_type);
    layers_.push_back(at);
  }
  for (const uint32_t values : group.states) states_.push_back(add(1, values, KvType::kF32));
}

uint32_t PagePool::pages_of_piece(uint32_t pages, uint64_t most) const {
  if (page_bytes_ * pages <= most) return std::max(pages, 1u);
  // A page's bytes are for where the first one may begin.
  return static_cast<uint32_t>(std::max<uint64_t>(most / page_bytes_, 2) - 1);
}

std::vector<uint64_t> PagePool::buffer_bytes(uint32_t pages, uint64_t most) const {
  const uint32_t each = pages_of_piece(pages, most);
  if (each >= pages) return {page_bytes_ * pages};
  std::vector<uint64_t> bytes;
  for (uint32_t first = 0; first < pages; first += each)
    bytes.push_back((uint64_t{std::min(each, pages - first)} + 1) * page_bytes_);
  return bytes;
}

// Buffers lie anywhere: their first pages begin where all are whole pages apart.
Result<> PagePool::number_pieces() {
  address_ = pieces_[0].buffer.address();
  if (pieces_.size() == 1) return {};
  const uint64_t rest = address_ % page_bytes_;
  for (Piece& piece : pieces_) {
    piece.begin = (rest + page_bytes_ - piece.buffer.address() % page_bytes_) % page_bytes_;
    address_ = std::min(address_, piece.buffer.address() + piece.begin);
  }
  for (Piece& piece : pieces_) {
    const uint64_t number = (piece.buffer.address() + piece.begin - address_) / page_bytes_;
    if (number > INT32_MAX - uint64_t{pages_of_piece_})
      return fail_hint("use a smaller context (--context)",
                       "the device's buffers for '{}' lie too far apart to count pages between them",
                       group_.name);
    piece.number = static_cast<int32_t>(number);
  }
  return {};
}

int32_t PagePool::number(PageId page) const {
  if (page < 0 || pieces_.empty()) return page;
  ENSURE(has(page), "page {} of {}", page, pages_);
  return piece(page).number + page % static_cast<int32_t>(pages_of_piece_);
}

Result<> PagePool::allocate(const Context& context, uint32_t pages, uint64_t most) {
  pages_ = pages;
  pages_of_piece_ = pages_of_piece(pages, most);
  pieces_.clear();
  if (page_bytes_ == 0) return {};  // no layer of the group is here
  for (const uint64_t bytes : buffer_bytes(pages, most))
    pieces_.push_back(
        {TRY(context.make_buffer(bytes, Memory::kOwn, fmt::format("the pages of '{}'", group_.name)))});
  TRY_VOID(number_pieces());
  return context.run([&](VkCommandBuffer commands) {
    for (const Piece& piece : pieces_) vkCmdFillBuffer(commands, piece.buffer.handle(), 0, VK_WHOLE_SIZE, 0);
    full_barrier(commands);
  });
}

Result<> PagePool::copy(const Context& context, PageId from, PageId to) const {
  ENSURE(has(from) && has(to), "page {} to {} of {}", from, to, pages_);
  if (from == to || page_bytes_ == 0) return {};
  return context.run([&](VkCommandBuffer commands) {
    full_barrier(commands);
    const VkBufferCopy region{.srcOffset = offset(from), .dstOffset = offset(to), .size = page_bytes_};
    vkCmdCopyBuffer(commands, piece(from).buffer.handle(), piece(to).buffer.handle(), 1, &region);
    full_barrier(commands);
  });
}

Result<std::vector<float>> PagePool::export_page(const Context& context, PageId page) const {
  ENSURE(has(page), "page {} of {}", page, pages_);
  std::vector<std::byte> bytes(page_bytes_);
  if (page_bytes_ == 0) return std::vector<float>();
  TRY_VOID(context.read(piece(page).buffer, offset(page), bytes));
  std::vector<float> rows;
  each_part(group_, *this, [&](const Heads& h) {
    for (uint64_t head = 0; head < h.heads; head++)
      for (uint32_t d = 0; d < h.dim; d++) rows.push_back(read(bytes.data() + h.at, h, head, d));
  });
  return rows;
}

Result<> PagePool::import_page(const Context& context, PageId page, std::span<const float> rows) const {
  ENSURE(has(page), "page {} of {}", page, pages_);
  std::vector<std::byte> bytes(page_bytes_);
  size_t next = 0;
  each_part(group_, *this, [&](const Heads& h) {
    ENSURE(next + h.codes() <= rows.size(), "a page of {} values is too short", rows.size());
    for (uint64_t head = 0; head < h.heads; head++, next += h.dim)
      write(bytes.data() + h.at, h, head, rows.subspan(next, h.dim));
  });
  ENSURE(next == rows.size(), "a page of {} values is too long", rows.size());
  if (page_bytes_ == 0) return {};
  return context.write(piece(page).buffer, offset(page), bytes);
}

}  // namespace brass::vulkan
