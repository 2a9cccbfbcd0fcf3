#include "backend/vulkan/memory.h"

#include <volk.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/half.h"
#include "quant/common/iq1_grid.h"
#include "quant/iq2_s/grid.h"
#include "quant/iq2_xs/grid.h"
#include "quant/iq2_xxs/grid.h"
#include "quant/iq3_s/grid.h"
#include "quant/iq3_xxs/grid.h"

namespace brass::vulkan {
namespace {

constexpr uint64_t kChunkBytes = 256 << 20;
constexpr uint64_t kAlign = 256;
constexpr const char* kDamaged = "the file is damaged, or its conversion went wrong: get it again";

template <class G>
std::span<const std::byte> bytes_of(const G& grid) {
  return std::as_bytes(std::span(grid.entry));
}

// Empty: the format has no code book.
std::span<const std::byte> code_book(Type type) {
  switch (type) {
    case Type::IQ1_S:
    case Type::IQ1_M:
      return bytes_of(kIq1Grid);
    case Type::IQ2_XXS:
      return bytes_of(kIq2XxsGrid);
    case Type::IQ2_XS:
      return bytes_of(kIq2XsGrid);
    case Type::IQ2_S:
      return bytes_of(kIq2SGrid);
    case Type::IQ3_XXS:
      return bytes_of(kIq3XxsGrid);
    case Type::IQ3_S:
      return bytes_of(kIq3SGrid);
    default:
      return {};
  }
}

Result<> check_finite_weight(const Weight& w, const Format& format) {
  if (w.kind == WeightKind::kVector) {
    const size_t values = w.data.size() / format.block_bytes * format.block_values;
    if (format.find_non_finite(w.data.data(), values) >= 0)
      return fail_hint(kDamaged, "tensor '{}': holds a value that is not a finite number", w.name);
    return {};
  }
  const size_t row_size = row_bytes(format, w.cols);
  for (uint32_t row = 0; row < w.rows; row++)
    if (format.find_non_finite(w.data.data() + w.slice.row(row) * row_size, w.cols) >= 0)
      return fail_hint(kDamaged, "tensor '{}': row {} holds a value that is not a finite number", w.name,
                       row);
  return {};
}

// What the file holds in f32 is meant to be exact (routers), and bf16 may reach beyond f16.
bool fits_halves(const Weight& w) {
  if (w.type == Type::F32) return false;
  if (w.type != Type::BF16) return true;
  const std::span<const uint16_t> values(reinterpret_cast<const uint16_t*>(w.data.data()), w.data.size() / 2);
  uint16_t largest = 0;
  for (const uint16_t x : values) largest = std::max<uint16_t>(largest, x & 0x7fff);
  return largest < 0x4780;  // 65536
}

}  // namespace

// ---- weights

namespace {

// Blocks whose words lie at odd places in the file lie apart on the device: zeros fill a gap within or behind each. The
// format's weight.glsl has the same numbers.
struct BlockForm {
  uint32_t file_bytes, bytes, gap_at;
};
BlockForm block_form(const Format& format) {
  switch (format.type) {
    case Type::Q6_K:
      return {210, 224, 210};
    case Type::Q8_0:
      return {34, 36, 2};
    default:
      return {format.block_bytes, format.block_bytes, format.block_bytes};
  }
}

void spread(std::span<const std::byte> blocks, const BlockForm& form, std::byte* to) {
  const uint32_t gap = form.bytes - form.file_bytes;
  for (size_t at = 0; at < blocks.size(); at += form.file_bytes, to += form.bytes) {
    std::memcpy(to, blocks.data() + at, form.gap_at);
    std::memset(to + form.gap_at, 0, gap);
    std::memcpy(to + form.gap_at + gap, blocks.data() + at + form.gap_at, form.file_bytes - form.gap_at);
  }
}

}  // namespace

Result<uint64_t> Weights::reserve(const Context& context, uint64_t bytes) {
  if (chunks_.empty() || used_ + bytes > chunks_.back().bytes()) {
    chunks_.push_back(TRY(context.make_buffer(std::max(kChunkBytes, bytes), false, "the weights")));
    used_ = 0;
  }
  const uint64_t at = used_;
  used_ = (used_ + bytes + kAlign - 1) / kAlign * kAlign;
  return at;
}

Result<uint64_t> Weights::place(const Context& context, std::span<const std::byte> bytes) {
  const uint64_t at = TRY(reserve(context, bytes.size()));
  TRY_VOID(context.write(chunks_.back(), at, bytes));
  return chunks_.back().address() + at;
}

Result<uint64_t> Weights::place_blocks(const Context& context, std::span<const std::byte> blocks,
                                       const Format& format) {
  const BlockForm form = block_form(format);
  if (form.bytes == form.file_bytes) return place(context, blocks);
  const uint64_t begin = TRY(reserve(context, blocks.size() / form.file_bytes * form.bytes));
  constexpr size_t kPiece = 65536;  // blocks
  std::vector<std::byte> spread_out;
  uint64_t at = begin;
  for (size_t done = 0; done < blocks.size(); done += kPiece * form.file_bytes) {
    const auto piece = blocks.subspan(done, std::min(blocks.size() - done, kPiece * form.file_bytes));
    spread_out.resize(piece.size() / form.file_bytes * form.bytes);
    spread(piece, form, spread_out.data());
    TRY_VOID(context.write(chunks_.back(), at, spread_out));
    at += spread_out.size();
  }
  return chunks_.back().address() + begin;
}

Result<uint64_t> Weights::grid_of(const Context& context, Type type) {
  const std::span<const std::byte> book = code_book(type);
  if (book.empty()) return uint64_t{0};
  const auto found = grids_.find(type);
  if (found != grids_.end()) return found->second;
  return grids_[type] = TRY(place(context, book));
}

void Weights::outline(const Graph& graph) {
  weights_.clear();
  for (const Weight& w : graph.weights) {
    const Format& format = *find_format(w.type);
    GpuWeight out{.address = kAlign, .fits_halves = w.type != Type::F32};
    if (w.kind != WeightKind::kVector)
      out.row_bytes = w.cols / format.block_values * block_form(format).bytes;
    if (!code_book(w.type).empty()) out.grid = kAlign;
    weights_.push_back(out);
  }
}

Result<> Weights::upload(const Context& context, const Graph& graph, bool check_finite,
                         const Progress& progress, const std::function<void(const Weight&)>& release) {
  ENSURE(!graph.weightless, "{}", graph.architecture);
  chunks_.clear(), weights_.clear(), grids_.clear();
  std::map<const std::byte*, uint64_t> tensors;
  uint64_t total = 0, done = 0;
  for (const Weight& w : graph.weights) total += w.bytes();
  for (const Weight& w : graph.weights) {
    const Format* format = find_format(w.type);
    if (format == nullptr)
      return fail("tensor '{}': type {} cannot be read as numbers (known: {})", w.name,
                  static_cast<uint32_t>(w.type), supported_format_names());
    if (check_finite) TRY_VOID(check_finite_weight(w, *format));
    GpuWeight out;
    if (w.kind == WeightKind::kVector) {
      const std::vector<float> values = vector_values(w);
      out.address = TRY(within(w.name, place(context, std::as_bytes(std::span(values)))));
    } else {
      out.row_bytes = w.cols / format->block_values * block_form(*format).bytes;
      out.grid = TRY(grid_of(context, w.type));
      out.fits_halves = fits_halves(w);
      uint64_t& address = tensors[w.data.data()];
      if (address == 0) address = TRY(within(w.name, place_blocks(context, w.data, *format)));
      out.address = address;
    }
    weights_.push_back(out);
    done += w.bytes();
    if (progress) progress(done, total);
  }
  for (const Weight& w : graph.weights)
    if (release) release(w);
  return {};
}

// ---- pages

namespace {
uint64_t value_bytes_of(KvType type) { return type == KvType::kF16 ? 2 : 4; }
}  // namespace

PagePool::PagePool(const MemoryGroup& group, KvType k_type, KvType v_type)
    : group_(group), k_type_(k_type), v_type_(v_type) {
  const auto add = [this](uint64_t bytes) {
    const uint64_t at = page_bytes_;
    page_bytes_ = (page_bytes_ + bytes + 15) / 16 * 16;
    return at;
  };
  for (const KvLayer& layer : group.layers) {
    Layer at{};
    at.k = add(kPageTokens * layer.heads * layer.k_dim * value_bytes_of(k_type));
    at.v = add(kPageTokens * layer.heads * layer.v_dim * value_bytes_of(v_type));
    layers_.push_back(at);
  }
  for (const uint32_t values : group.states) states_.push_back(add(uint64_t{values} * 4));
}

Result<> PagePool::allocate(const Context& context, uint32_t pages) {
  pages_ = pages;
  buffer_ = Buffer();
  buffer_ =
      TRY(context.make_buffer(page_bytes_ * pages, false, fmt::format("the pages of '{}'", group_.name)));
  return context.run([&](VkCommandBuffer commands) {
    vkCmdFillBuffer(commands, buffer_.handle(), 0, VK_WHOLE_SIZE, 0);
    full_barrier(commands);
  });
}

Result<> PagePool::copy(const Context& context, PageId from, PageId to) const {
  ENSURE(has(from) && has(to), "page {} to {} of {}", from, to, pages_);
  if (from == to) return {};
  return context.run([&](VkCommandBuffer commands) {
    full_barrier(commands);
    const VkBufferCopy region{.srcOffset = static_cast<uint64_t>(from) * page_bytes_,
                              .dstOffset = static_cast<uint64_t>(to) * page_bytes_,
                              .size = page_bytes_};
    vkCmdCopyBuffer(commands, buffer_.handle(), buffer_.handle(), 1, &region);
    full_barrier(commands);
  });
}

namespace {

// fn(bytes from the page's begin, values, whether they are f16), part by part in canonical order.
template <class Fn>
void each_part(const MemoryGroup& group, const PagePool& pool, const Fn& fn) {
  for (uint32_t i = 0; i < group.states.size(); i++) fn(pool.state(i), size_t{group.states[i]}, false);
  for (uint32_t i = 0; i < group.layers.size(); i++) {
    const KvLayer& layer = group.layers[i];
    fn(pool.layer(i).k, size_t{kPageTokens} * layer.heads * layer.k_dim, pool.keys_are_half());
    fn(pool.layer(i).v, size_t{kPageTokens} * layer.heads * layer.v_dim, pool.values_are_half());
  }
}

}  // namespace

Result<std::vector<float>> PagePool::export_page(const Context& context, PageId page) const {
  ENSURE(has(page), "page {} of {}", page, pages_);
  std::vector<std::byte> bytes(page_bytes_);
  TRY_VOID(context.read(buffer_, static_cast<uint64_t>(page) * page_bytes_, bytes));
  std::vector<float> rows;
  each_part(group_, *this, [&](uint64_t at, size_t values, bool half) {
    for (size_t i = 0; i < values; i++) {
      if (half) {
        uint16_t x;
        std::memcpy(&x, bytes.data() + at + 2 * i, 2);
        rows.push_back(f16_to_f32(x));
      } else {
        float x;
        std::memcpy(&x, bytes.data() + at + 4 * i, 4);
        rows.push_back(x);
      }
    }
  });
  return rows;
}

Result<> PagePool::import_page(const Context& context, PageId page, std::span<const float> rows) const {
  ENSURE(has(page), "page {} of {}", page, pages_);
  std::vector<std::byte> bytes(page_bytes_);
  size_t next = 0;
  each_part(group_, *this, [&](uint64_t at, size_t values, bool half) {
    ENSURE(next + values <= rows.size(), "a page of {} values is too short", rows.size());
    for (size_t i = 0; i < values; i++, next++) {
      if (half) {
        const uint16_t x = f32_to_f16(rows[next]);
        std::memcpy(bytes.data() + at + 2 * i, &x, 2);
      } else {
        std::memcpy(bytes.data() + at + 4 * i, &rows[next], 4);
      }
    }
  });
  ENSURE(next == rows.size(), "a page of {} values is too long", rows.size());
  return context.write(buffer_, static_cast<uint64_t>(page) * page_bytes_, bytes);
}

}  // namespace brass::vulkan
