#include "backend/cpu/kernels.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "backend/cpu/cpuid.h"
#include "backend/cpu/pack.h"
#include "backend/cpu/parts.h"
#include "base/check.h"

namespace brass::cpu {

#define BRASS_TIER(id, name)                  \
  extern const LinearParts linear_##id;       \
  extern const RowParts rows_##id;            \
  extern const AttentionParts attention_##id; \
  extern const RecurrentParts recurrent_##id;
#include "tiers.inc"
#undef BRASS_TIER

namespace {

constexpr uint32_t kMaxK = 65536;      // what the scratch holds sums of codes for
constexpr uint32_t kTokenBlock = 512;  // most tokens that share one unpacking of the weights
constexpr uint32_t kTokenBytes =
    768 << 10;                     // of their codes, which every group of panels reads: they stay in L2
constexpr uint32_t kMaxSuper = 8;  // blocks of a scale record
constexpr uint32_t kDecodeTokens = 4;

// A thread's scratch, from one allocation.
struct Scratch {
  std::byte* tile;             // [panels] unpacked weights, tile_bytes() each
  float* scale;                // [panels][tile_blocks][2][16]
  float* offset;               // [panels][tile_blocks][16]
  float* c;                    // [tokens][panels · 16]
  int16_t *sum16, *seconds16;  // [tokens][sum16_stride]
};

size_t sum16_stride(uint32_t k) { return (size_t{k} + 63) / 64 * 4; }
size_t tile_bytes(const LinearParts& parts) {
  return std::max<size_t>(parts.tile_blocks * 512, kFloatTileK * kPanelRows * sizeof(float));
}

size_t scratch_bytes(const LinearParts& parts, uint32_t max_t) {
  const size_t tokens = std::min(std::max(max_t, kDecodeTokens), kTokenBlock);
  const size_t floats = parts.tile_panels * (parts.tile_blocks * (2 + 1) * 16 + tokens * 16);
  return parts.tile_panels * tile_bytes(parts) + floats * sizeof(float) +
         2 * tokens * sum16_stride(kMaxK) * sizeof(int16_t);
}

Scratch divide(std::byte* bytes, const LinearParts& parts, uint32_t tokens) {
  Scratch s;
  s.tile = bytes;
  s.scale = reinterpret_cast<float*>(bytes + parts.tile_panels * tile_bytes(parts));
  s.offset = s.scale + parts.tile_panels * parts.tile_blocks * 2 * 16;
  s.c = s.offset + parts.tile_panels * parts.tile_blocks * 16;
  s.sum16 = reinterpret_cast<int16_t*>(s.c + size_t{tokens} * parts.tile_panels * 16);
  s.seconds16 = s.sum16 + tokens * sum16_stride(kMaxK);
  return s;
}

// Activations from token t on.
Activations from_token(const Activations& x, uint32_t t) {
  Activations out = x;
  if (x.f32 != nullptr) out.f32 += t * x.f32_stride;
  if (x.codes != nullptr) {
    out.codes += t * x.code_stride;
    out.scale += t * x.scale_stride;
    out.sum += t * x.scale_stride;
  }
  if (x.seconds != nullptr) out.seconds += t * x.code_stride;
  return out;
}

// One piece of work: `tokens` tokens (≤ kTokenBlock) against rows [begin, end) of a weight.
struct Piece {
  const PackedWeight& w;
  Activations x;
  uint32_t tokens, begin, end;
  float* y;  // of row 0
  size_t y_stride;
  Scratch s;

  const uint8_t* panel(uint32_t row) const {
    return reinterpret_cast<const uint8_t*>(w.data) + row / kPanelRows * w.panel_bytes;
  }
};

void decode(void (*const (&by_tokens)[4])(const DecodeArgs&), const Piece& p) {
  by_tokens[p.tokens - 1]({.panels = p.panel(p.begin),
                           .panel_bytes = p.w.panel_bytes,
                           .rows = p.end - p.begin,
                           .k = p.w.cols,
                           .x = p.x,
                           .sum16 = p.s.sum16,
                           .seconds16 = p.s.seconds16,
                           .sum16_stride = sum16_stride(p.w.cols),
                           .y = p.y + p.begin,
                           .y_stride = p.y_stride});
}

// Calls step(first value, values, c_in, c_out, stride) over K for one group of panels whose rows begin at
// `row`: sums stay in p.s.c and go to y with the last step, rows that the weight does not have left out.
template <class Step>
void over_k(const Piece& p, uint32_t row, uint32_t panels, uint32_t step_values, Step step) {
  const size_t c_stride = size_t{panels} * kPanelRows;
  const bool whole = row + c_stride <= p.end;
  for (uint32_t k = 0; k < p.w.cols; k += step_values) {
    const uint32_t n = std::min(step_values, p.w.cols - k);
    const bool to_y = whole && k + n == p.w.cols;
    step(k, n, k == 0 ? nullptr : p.s.c, c_stride, to_y ? p.y + row : p.s.c, to_y ? p.y_stride : c_stride);
  }
  if (whole) return;
  for (uint32_t t = 0; t < p.tokens; ++t) {
    std::memcpy(p.y + t * p.y_stride + row, p.s.c + t * c_stride, (p.end - row) * sizeof(float));
  }
}

void multiply_quantized(const LinearParts& parts, uint8_t index, const Piece& p) {
  const LayoutFacts facts = layout_facts(index);
  const uint32_t blocks_in_k = p.w.cols / 32;
  parts.enter(p.tokens, facts.kind);
  for (uint32_t row = p.begin; row < p.end; row += parts.tile_panels * kPanelRows) {
    const uint32_t panels = std::min(parts.tile_panels, (p.end - row + kPanelRows - 1) / kPanelRows);
    over_k(p, row, panels, parts.tile_blocks * 32,
           [&](uint32_t k, uint32_t n, const float* c_in, size_t c_in_stride, float* c_out,
               size_t c_out_stride) {
             const uint32_t first = k / 32, blocks = n / 32;
             auto* codes = reinterpret_cast<uint8_t*>(p.s.tile);
             for (uint32_t i = 0; i < panels; ++i) {
               parts.quantized[index].unpack(
                   {.panel = p.panel(row + i * kPanelRows),
                    .panel_blocks = blocks_in_k,
                    .first = first,
                    .blocks = blocks,
                    .codes = codes + size_t{i} * blocks * 512,
                    .scale = p.s.scale + size_t{i} * blocks * scale_vectors(facts.kind) * 16,
                    .offset = p.s.offset + size_t{i} * blocks * 16});
             }
             parts.tile({.codes = codes,
                         .scale = p.s.scale,
                         .offset = p.s.offset,
                         .kind = facts.kind,
                         .panels = panels,
                         .blocks = blocks,
                         .zero = facts.zero,
                         .tokens = p.tokens,
                         .x = p.x.codes + k,
                         .x_seconds = facts.kind == layout::Kind::kTwoTerms ? p.x.seconds + k : nullptr,
                         .x_stride = p.x.code_stride,
                         .x_scale = p.x.scale + first,
                         .x_sum = p.x.sum + first,
                         .x_scale_stride = p.x.scale_stride,
                         .sum16 = p.s.sum16 + 2 * first,
                         .seconds16 = p.s.seconds16 + 2 * first,
                         .sum16_stride = sum16_stride(p.w.cols),
                         .c_in = c_in,
                         .c_in_stride = c_in_stride,
                         .c_out = c_out,
                         .c_out_stride = c_out_stride});
           });
  }
  parts.leave();
}

void multiply_float(const LinearParts& parts, uint8_t index, const Piece& p) {
  const size_t value_bytes = find_format(p.w.type)->block_bytes;
  for (uint32_t row = p.begin; row < p.end; row += parts.tile_panels * kPanelRows) {
    const uint32_t panels = std::min(parts.tile_panels, (p.end - row + kPanelRows - 1) / kPanelRows);
    over_k(p, row, panels, kFloatTileK,
           [&](uint32_t k, uint32_t n, const float* c_in, size_t c_in_stride, float* c_out,
               size_t c_out_stride) {
             auto* tile = reinterpret_cast<float*>(p.s.tile);
             const size_t panel_stride = kFloatTileK * kPanelRows;
             for (uint32_t i = 0; i < panels; ++i) {
               const uint8_t* values = p.panel(row + i * kPanelRows) + k * kPanelRows * value_bytes;
               parts.floats[index].fill_tile(values, n, tile + i * panel_stride);
             }
             parts.floats[index].tile({.w = tile,
                                       .panel_stride = panel_stride,
                                       .panels = panels,
                                       .k = n,
                                       .tokens = p.tokens,
                                       .x = p.x.f32 + k,
                                       .x_stride = p.x.f32_stride,
                                       .c_in = c_in,
                                       .c_in_stride = c_in_stride,
                                       .c_out = c_out,
                                       .c_out_stride = c_out_stride});
           });
  }
}

void multiply(const LinearParts& parts, const Piece& p) {
  const bool few = p.tokens <= kDecodeTokens;
  if (const auto f = float_index(p.w.type)) {
    return few ? decode(parts.floats[*f].decode, p) : multiply_float(parts, *f, p);
  }
  const auto q = quantized_index(p.w.type);
  ENSURE(q, "type {}", static_cast<uint32_t>(p.w.type));
  const layout::Kind kind = layout_facts(*q).kind;
  const bool two_terms = kind == layout::Kind::kTwoTerms;
  ENSURE(p.x.codes != nullptr && (!two_terms || p.x.seconds != nullptr), "x lacks a term that {} reads",
         find_format(p.w.type)->name);
  if (few || !parts.signed_tile || kind == layout::Kind::kMins) {
    for (uint32_t t = 0; t < p.tokens; ++t) {
      const size_t x = t * p.x.code_stride, sums = t * sum16_stride(p.w.cols);
      parts.sum16(p.x.codes + x, p.w.cols, p.s.sum16 + sums);
      if (two_terms) parts.sum16(p.x.seconds + x, p.w.cols, p.s.seconds16 + sums);
    }
  }
  return few ? decode(parts.quantized[*q].decode, p) : multiply_quantized(parts, *q, p);
}

template <const LinearParts& parts>
size_t matmul_scratch(uint32_t max_t) {
  return scratch_bytes(parts, max_t);
}

template <const LinearParts& parts>
void matmul(const PackedWeight& w, const Activations& x, uint32_t T, uint32_t row_begin, uint32_t row_end,
            float* y, size_t y_stride, std::byte* scratch) {
  ENSURE(row_begin % kPanelRows == 0 && row_end <= w.rows && w.cols <= kMaxK,
         "rows {} to {} of {}, {} columns", row_begin, row_end, w.rows, w.cols);
  if (row_begin >= row_end) return;
  const uint32_t bytes = w.cols * std::max<uint32_t>(int8_terms(w.type), 1);  // of a token's codes
  const uint32_t block = std::clamp(kTokenBytes / bytes / 16 * 16, 32u, kTokenBlock);
  for (uint32_t t = 0; t < T; t += block) {
    const uint32_t tokens = std::min(T - t, block);
    multiply(parts, {w, from_token(x, t), tokens, row_begin, row_end, y + t * y_stride, y_stride,
                     divide(scratch, parts, tokens)});
  }
}

template <const LinearParts& parts>
void unpack_row(const PackedWeight& w, uint32_t row, float* out) {
  const std::byte* panel = w.data + row / kPanelRows * w.panel_bytes;
  const uint32_t lane = row % kPanelRows;
  if (const auto f = float_index(w.type)) {
    const size_t bytes = find_format(w.type)->block_bytes;
    alignas(64) float values[kPanelRows];
    for (uint32_t k = 0; k < w.cols; ++k) {
      parts.floats[*f].expand(reinterpret_cast<const uint8_t*>(panel) + k * kPanelRows * bytes, kPanelRows,
                              values);
      out[k] = values[lane];
    }
    return;
  }
  const auto q = quantized_index(w.type);
  ENSURE(q && row < w.rows, "row {} of {}, type {}", row, w.rows, static_cast<uint32_t>(w.type));
  const LayoutFacts facts = layout_facts(*q);
  const int zero = parts.signed_tile ? 0 : static_cast<int>(facts.zero);
  alignas(64) uint8_t codes[kMaxSuper * 512];
  alignas(64) float scale[kMaxSuper * 2 * 16], offset[kMaxSuper * 16];
  for (uint32_t first = 0; first < w.cols / 32; first += facts.super) {
    parts.quantized[*q].unpack(
        {reinterpret_cast<const uint8_t*>(panel), w.cols / 32, first, facts.super, codes, scale, offset});
    for (uint32_t i = 0; i < facts.super * 32; ++i) {
      const uint8_t u = codes[i / 4 * 64 + lane * 4 + i % 4];
      const auto code = static_cast<float>(parts.signed_tile ? static_cast<int8_t>(u) : u - zero);
      const uint32_t block = i / 32, half = i / 16 % 2;
      const float* s = scale + size_t{block} * scale_vectors(facts.kind) * 16 + lane;
      float& value = out[32 * first + i];
      value = s[facts.kind == layout::Kind::kHalves ? 16 * half : 0] * code;
      if (facts.kind == layout::Kind::kOffset) value += offset[block * 16 + lane];
      if (facts.kind == layout::Kind::kMins) {
        int16_t mins[2];
        std::memcpy(mins, offset + block * 16 + lane, sizeof mins);
        value += s[16] * static_cast<float>(mins[half]);
      }
    }
  }
}

template <const LinearParts& parts>
bool rounds_x(Type type) {
  const auto f = float_index(type);
  return f && parts.floats[*f].rounds_x;
}

template <const LinearParts& linear, const RowParts& rows, const AttentionParts& attention,
          const RecurrentParts& recurrent>
constexpr Kernels table(const char* name, bool (*supported)()) {
  return {.name = name,
          .supported = supported,
          .can_pack = can_pack,
          .panel_bytes = panel_bytes,
          .pack = pack,
          .unpack_row = unpack_row<linear>,
          .int8_terms = int8_terms,
          .rounds_x = rounds_x<linear>,
          .matmul_scratch = matmul_scratch<linear>,
          .matmul = matmul<linear>,
          .quantize = rows.quantize,
          .rms_norm = rows.rms_norm,
          .layer_norm = rows.layer_norm,
          .add = rows.add,
          .mul = rows.mul,
          .scale = rows.scale,
          .act = rows.act,
          .act_mul = rows.act_mul,
          .rope = rows.rope,
          .softcap = rows.softcap,
          .kv_page_bytes = attention.kv_page_bytes,
          .kv_store_k = attention.kv_store_k,
          .kv_store_v = attention.kv_store_v,
          .kv_load_k = attention.kv_load_k,
          .kv_load_v = attention.kv_load_v,
          .attend_scratch = attention.attend_scratch,
          .attend = attention.attend,
          .recurrent_scratch = recurrent.recurrent_scratch,
          .conv1d = recurrent.conv1d,
          .delta_net = recurrent.delta_net,
          .ssm_scan = recurrent.ssm_scan,
          .argmax = rows.argmax};
}

#define BRASS_TIER(id, name)   \
  const Kernels kernels_##id = \
      table<linear_##id, rows_##id, attention_##id, recurrent_##id>(name, supports_##id);
#include "tiers.inc"
#undef BRASS_TIER
#define BRASS_TIER(id, name) &kernels_##id,
const Kernels* const kAll[] = {
#include "tiers.inc"
};
#undef BRASS_TIER

}  // namespace

std::span<const Kernels* const> all_kernels() { return kAll; }

const Kernels* pick_kernels(const char* name) {
  for (const Kernels* k : kAll) {
    if (name == nullptr ? k->supported() : std::string_view(name) == k->name) return k;
  }
  return nullptr;
}

}  // namespace brass::cpu
