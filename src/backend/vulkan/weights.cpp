#include "backend/vulkan/weights.h"

#include <volk.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/check.h"
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

namespace {

// Deals out places, chunk by chunk.
class Dealer {
 public:
  explicit Dealer(std::vector<uint64_t>& chunks) : chunks_(chunks) {}
  WeightLayout::Place take(uint64_t bytes) {
    const uint64_t at = chunks_.empty() ? 0 : (chunks_.back() + kAlign - 1) / kAlign * kAlign;
    const bool fits = !chunks_.empty() && at + bytes <= kChunkBytes;
    if (!fits) chunks_.push_back(0);
    chunks_.back() = (fits ? at : 0) + bytes;
    return {static_cast<uint32_t>(chunks_.size() - 1), fits ? at : 0};
  }

 private:
  std::vector<uint64_t>& chunks_;
};

// Of a matrix, as it lies on the device.
uint64_t bytes_on_device(const Weight& w, const Format& format) {
  if (w.kind == WeightKind::kVector) return uint64_t{w.cols} * sizeof(float);
  const BlockForm form = block_form(format);
  return w.data.size() / form.file_bytes * form.bytes;
}

}  // namespace

Result<WeightLayout> lay_out_weights(std::span<const Graph* const> graphs) {
  WeightLayout layout;
  Dealer dealer(layout.chunks);
  std::map<const std::byte*, WeightLayout::Place> tensors;
  const std::vector<bool> used = used_weights(graphs);
  for (const Weight& w : graphs.front()->weights) {
    if (!used[layout.weights.size()]) {
      layout.weights.emplace_back();
      continue;
    }
    const Format* format = find_format(w.type);
    if (format == nullptr)
      return fail("tensor '{}': type {} cannot be read as numbers (known: {})", w.name,
                  static_cast<uint32_t>(w.type), supported_format_names());
    if (w.kind == WeightKind::kVector) {
      layout.weights.push_back(dealer.take(bytes_on_device(w, *format)));
      continue;
    }
    const std::span<const std::byte> book = code_book(w.type);
    if (!book.empty() && !layout.grids.contains(w.type)) layout.grids[w.type] = dealer.take(book.size());
    auto found = tensors.find(w.data.data());
    if (found == tensors.end() || w.data.empty())
      found = tensors.insert_or_assign(w.data.data(), dealer.take(bytes_on_device(w, *format))).first;
    layout.weights.push_back(found->second);
  }
  for (const Graph* graph : graphs)
    for (const Op& op : graph->ops) {
      if (op.kind != OpKind::kRopeTable) continue;
      const std::vector<float>& own = op.as<RopeTableAttrs>().inv_freq;
      if (!layout.frequencies.contains(own))
        layout.frequencies[own] = dealer.take(own.size() * sizeof(float));
    }
  return layout;
}

Result<> Weights::write(const Context& context, const WeightLayout::Place& place,
                        std::span<const std::byte> bytes) {
  return context.write(chunks_[place.chunk], place.at, bytes);
}

// done(bytes of the file) after each piece.
Result<> Weights::write_blocks(const Context& context, WeightLayout::Place place,
                               std::span<const std::byte> blocks, const Format& format,
                               const std::function<void(uint64_t)>& done) {
  constexpr size_t kPieceBytes = 32 << 20;
  const BlockForm form = block_form(format);
  const size_t piece_bytes = kPieceBytes / form.file_bytes * form.file_bytes;
  std::vector<std::byte> spread_out;
  for (size_t begin = 0; begin < blocks.size(); begin += piece_bytes) {
    const auto piece = blocks.subspan(begin, std::min(blocks.size() - begin, piece_bytes));
    if (form.bytes == form.file_bytes) {
      TRY_VOID(write(context, place, piece));
      place.at += piece.size();
    } else {
      spread_out.resize(piece.size() / form.file_bytes * form.bytes);
      spread(piece, form, spread_out.data());
      TRY_VOID(write(context, place, spread_out));
      place.at += spread_out.size();
    }
    done(piece.size());
  }
  return {};
}

Result<> Weights::outline(const Graph& graph) {
  const Graph* const one[] = {&graph};
  layout_ = TRY(lay_out_weights(one));
  chunks_.clear(), weights_.clear();
  for (const Weight& w : graph.weights) {
    const Format& format = *find_format(w.type);
    GpuWeight out{.fits_halves = w.type != Type::F32};
    if (w.kind != WeightKind::kVector)
      out.row_bytes = w.cols / format.block_values * block_form(format).bytes;
    weights_.push_back(out);
  }
  return {};
}

Result<> Weights::upload(const Context& context, std::span<const Graph* const> graphs, bool check_finite,
                         const Progress& progress, const std::function<void(const Weight&)>& release) {
  const Graph& graph = *graphs.front();
  ENSURE(!graph.weightless, "{}", graph.architecture);
  layout_ = TRY(lay_out_weights(graphs));
  chunks_.clear(), weights_.clear();
  for (const uint64_t bytes : layout_.chunks)
    chunks_.push_back(TRY(context.make_buffer(bytes, Memory::kOwn, "the weights")));
  for (const auto& [type, place] : layout_.grids) TRY_VOID(write(context, place, code_book(type)));
  for (const auto& [values, place] : layout_.frequencies)
    TRY_VOID(write(context, place, std::as_bytes(std::span(values))));

  const std::vector<bool> used = used_weights(graphs);
  std::set<const std::byte*> there, matrices;
  uint64_t total = 0, done = 0;
  for (size_t i = 0; i < used.size(); i++)
    if (used[i] && there.insert(graph.weights[i].data.data()).second) total += graph.weights[i].data.size();
  there.clear();
  const auto add = [&](uint64_t bytes) {
    done += bytes;
    if (progress) progress(done, total);
  };
  for (size_t i = 0; i < graph.weights.size(); i++) {
    const Weight& w = graph.weights[i];
    if (!used[i]) {
      weights_.emplace_back();
      continue;
    }
    const Format& format = *find_format(w.type);
    if (check_finite) TRY_VOID(check_finite_weight(w, format));
    GpuWeight out{.address = address(layout_.weights[i])};
    const bool is_new = there.insert(w.data.data()).second;
    if (w.kind == WeightKind::kVector) {
      const std::vector<float> values = vector_values(w);
      TRY_VOID(within(w.name, write(context, layout_.weights[i], std::as_bytes(std::span(values)))));
      if (is_new) add(w.data.size());
    } else {
      out.row_bytes = w.cols / format.block_values * block_form(format).bytes;
      if (const auto grid = layout_.grids.find(w.type); grid != layout_.grids.end())
        out.grid = address(grid->second);
      out.fits_halves = fits_halves(w);
      if (matrices.insert(w.data.data()).second)
        TRY_VOID(
            within(w.name, write_blocks(context, layout_.weights[i], w.data, format, [&](uint64_t bytes) {
                     if (is_new) add(bytes);
                   })));
    }
    weights_.push_back(out);
  }
  for (size_t i = 0; i < used.size(); i++)
    if (used[i] && release) release(graph.weights[i]);
  return {};
}

uint64_t Weights::frequencies(const std::vector<float>& inv_freq) const {
  const auto found = layout_.frequencies.find(inv_freq);
  ENSURE(found != layout_.frequencies.end(), "a rotation of {} pairs that the graphs do not have",
         inv_freq.size());
  return address(found->second);
}

}  // namespace brass::vulkan
