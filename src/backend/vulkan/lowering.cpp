#include "backend/vulkan/lowering.h"

#include <volk.h>

#include <algorithm>
#include <bit>

#include "backend/vulkan/dots.h"
#include "backend/vulkan/emit.h"
#include "backend/vulkan/operands.h"
#include "base/check.h"

namespace brass::vulkan {
namespace {

constexpr uint32_t kSliceMode = 5;  // of elementwise.comp

// One operation in the making.
class Lowering : public Emit {
 public:
  using Emit::Emit;

  Result<std::vector<Dispatch>> run() {
    TRY_VOID(lower());
    return take();
  }

 private:
  Result<> lower() {
    for (const auto lower_many : {lower_prompt, lower_dots})
      if (auto many = TRY(lower_many(d_, op_))) {
        append(std::move(*many));
        return {};
      }
    switch (op_.kind) {
      case OpKind::kEmbed:
        return embed();
      case OpKind::kLayerNorm:
      case OpKind::kHeadNorm:
        return norm();
      case OpKind::kLinear:
      case OpKind::kLmHead:
      case OpKind::kHeadLinear:
        return product();
      case OpKind::kMoeLinear:
        return expert_product();
      case OpKind::kMoeRoute:
        return route();
      case OpKind::kMoeCombine:
        return combine();
      case OpKind::kGatherRows:
      case OpKind::kPool:
      case OpKind::kAdd:
      case OpKind::kScale:
      case OpKind::kSoftcap:
      case OpKind::kAct:
      case OpKind::kActMul:
      case OpKind::kSlice:
      case OpKind::kConcat:
        return elementwise();
      case OpKind::kHiddenIn:
        return hidden_in();
      case OpKind::kRopeTable:
        return rope_table();
      case OpKind::kRope:
        return rope();
      case OpKind::kKvWrite:
        return kv_write();
      case OpKind::kAttention:
        return attention();
      case OpKind::kConv1d:
        return conv1d();
      case OpKind::kDeltaNet:
        return delta_net();
      case OpKind::kSsmScan:
        return ssm_scan();
      case OpKind::kRmsNorm:
      case OpKind::kQuantAct:
      case OpKind::kChoose:
        break;  // lowering_decode.h
    }
    ENSURE(false, "{} ({})", op_.name, op_name(op_.kind));
  }

  Result<> embed() {
    Push push;
    const EmbedIndex index = op_.as<EmbedAttrs>().index;
    const uint32_t picked = index == EmbedIndex::kToken      ? d_.layout.ids
                            : index == EmbedIndex::kPosition ? d_.layout.positions
                                                             : d_.layout.zeros;
    push << gpu(0).address << gpu(0).grid << batch(picked) << batch(d_.layout.sequences) << out();
    push << gpu(0).row_bytes << out_width() << out_stride();
    push_slice(push, file(0).slice);
    return add(by_format("embed", 0), {}, push, groups_of(out_width()), out_rows());
  }

  Result<> norm() {
    const auto& a = op_.as<NormAttrs>();
    const uint32_t heads = a.heads, dim = out_width() / heads;
    const auto step = [&](size_t w) { return op_.weights.size() > w && file(w).cols > dim ? dim : 0u; };
    Push push;
    push << in(0) << vector_or_0(0) << vector_or_0(1) << out() << in_stride(0) << out_stride() << dim
         << step(0) << step(1) << flag(!op_.weights.empty()) << flag(op_.weights.size() > 1)
         << flag(op_.kind == OpKind::kLayerNorm) << a.eps;
    return add("norm", {}, push, heads, out_rows());
  }

  // The part of matmul.comp's block that all its forms share, up to the slice.
  Push matmul_push(uint64_t bias, uint64_t route, uint32_t rows, uint32_t tokens,
                   uint32_t route_stride) const {
    Push push;
    push << gpu(0).address << gpu(0).grid << in(0) << bias << route << out() << gpu(0).row_bytes
         << file(0).cols << rows << tokens << in_stride(0) << out_stride() << route_stride;
    push_slice(push, file(0).slice);
    return push;
  }

  Result<> product_of_many(bool bias) {
    Push push;
    push << gpu(0).address << gpu(0).grid << in(0) << (bias ? gpu(1).address : 0) << out() << gpu(0).row_bytes
         << file(0).cols << out_width() << out_rows() << in_stride(0) << out_stride();
    push_slice(push, file(0).slice);
    push << flag(bias);
    const auto tiles = [&](uint32_t tile) {
      return std::pair((out_width() + tile - 1) / tile, (out_rows() + tile - 1) / tile);
    };
    const uint32_t tile = tiles(64).first * tiles(64).second < kEnoughGroups ? 32 : 64;
    return add(by_format("gemm", 0), {4 * tile, tile}, push, tiles(tile).first, tiles(tile).second);
  }

  Result<> product() {
    const bool by_heads = op_.kind == OpKind::kHeadLinear;
    const bool bias = !by_heads && op_.as<LinearAttrs>().bias;
    const uint32_t n = out_width(), tokens = out_rows();
    if (!by_heads && tokens > kFewRows) return product_of_many(bias);
    Push push = matmul_push(bias ? gpu(1).address : 0, 0, n, tokens, 0);
    push << (by_heads ? n / op_.as<HeadLinearAttrs>().heads : n) << flag(bias) << 0u;
    // Rows of a head read one part of the input, so a subgroup keeps to one head.
    // Few rows of W (routers) spread over as many subgroups.
    const uint32_t rows = by_heads || (tokens == 1 && n < 2048) ? 1
                          : tokens == 1                         ? 4
                                                                : 2,
                   columns = tokens == 1 ? 1 : 4;
    return add(by_format("matmul", 0), {by_heads ? 1u : 0u, rows, columns}, push,
               std::min((n + rows - 1) / rows, kMaxGroups), (tokens + columns - 1) / columns);
  }

  Result<> expert_product() {
    const auto& a = op_.as<ExpertAttrs>();
    const uint32_t n = out_width() / a.used;
    Push push = matmul_push(a.bias ? gpu(1).address : 0, in(1), n, out_rows(), in_stride(1));
    push << n << flag(a.bias) << flag(a.own_input);
    constexpr uint32_t kRows = 4;
    return add(by_format("matmul", 0), {2u, kRows, 1u}, push, std::min((n + kRows - 1) / kRows, kMaxGroups),
               out_rows(), a.used);
  }

  Result<> route() {
    const auto& a = op_.as<RouteAttrs>();
    ENSURE(a.experts <= 2048 && a.used <= 128, "{}: {} of {} experts", op_.name, a.used, a.experts);
    const uint64_t bias = a.selection_bias ? gpu(0).address : 0;
    const uint64_t scale = a.expert_scale ? gpu(a.selection_bias ? 1 : 0).address : 0;
    Push push;
    push << in(0) << bias << scale << out() << a.used << in_stride(0) << out_stride()
         << static_cast<uint32_t>(a.score) << flag(a.expert_scale) << flag(a.renormalize) << a.min_sum
         << a.scale << a.groups_used << flag(a.group_score == GroupScore::kTop2Sum);
    return add("moe_route", {a.experts, a.groups}, push, out_rows());
  }

  Result<> combine() {
    const auto& a = op_.as<ExpertAttrs>();
    Push push;
    push << in(0) << in(1) << in_or_0(2) << in_or_0(3) << out() << a.used << out_width() << in_stride(0)
         << in_stride(1) << in_stride(2) << in_stride(3) << out_stride() << flag(op_.in.size() > 2)
         << flag(op_.in.size() > 3);
    return add("moe_combine", {}, push, groups_of(out_width()), out_rows());
  }

  uint32_t mode() const {
    switch (op_.kind) {
      case OpKind::kAdd:
        return 0;
      case OpKind::kScale:
        return 1;
      case OpKind::kSoftcap:
        return 2;
      case OpKind::kAct:
        return 3;
      case OpKind::kActMul:
        return 4;
      case OpKind::kSlice:
        return kSliceMode;
      case OpKind::kConcat:
        return 6;
      case OpKind::kPool:
        return op_.as<PoolAttrs>().kind == PoolKind::kMean ? 9 : 8;
      default:
        return 7;  // gather_rows
    }
  }

  Result<> elementwise() {
    uint32_t kind = 0, begin = 0, a_part = 0, b_part = 0;
    float factor = 0;
    if (const auto* act = std::get_if<ActAttrs>(&op_.attrs)) kind = static_cast<uint32_t>(act->kind);
    if (const auto* slice = std::get_if<SliceAttrs>(&op_.attrs)) begin = slice->begin;
    if (const auto* scale = std::get_if<ScaleAttrs>(&op_.attrs)) factor = scale->factor;
    if (const auto* concat = std::get_if<ConcatAttrs>(&op_.attrs)) {
      a_part = width(op_.in[0]) / concat->heads;
      b_part = width(op_.in[1]) / concat->heads;
    }
    Push push;
    const uint32_t wanted = op_.kind == OpKind::kPool ? d_.layout.runs : d_.layout.rows;
    push << in(0) << in_or_0(1) << out() << batch(wanted) << out_width() << in_stride(0) << in_stride(1)
         << out_stride() << kind << begin << a_part << b_part << factor;
    return add("elementwise", {mode()}, push, groups_of(out_width()), out_rows());
  }

  // All columns of the batch's rows.
  Result<> hidden_in() {
    Push push;
    push << batch(d_.layout.hidden) << uint64_t{0} << out() << batch(d_.layout.rows) << out_width()
         << out_width() << 0u << out_stride() << 0u << 0u << 0u << 0u << 0.0f;
    return add("elementwise", {kSliceMode}, push, groups_of(out_width()), out_rows());
  }

  Result<> rope_table() {
    const auto& a = op_.as<RopeTableAttrs>();
    const auto pairs = static_cast<uint32_t>(a.inv_freq.size());
    Push push;
    push << d_.weights.frequencies(a.inv_freq) << batch(d_.layout.positions) << out() << pairs << out_stride()
         << a.magnitude;
    return add("rope_table", {}, push, groups_of(pairs), out_rows());
  }

  Result<> rope() {
    const auto& a = op_.as<RopeAttrs>();
    Push push;
    push << in(0) << in(1) << out() << a.heads << a.head_dim << a.n_rot << flag(a.neox) << in_stride(0)
         << in_stride(1) << out_stride();
    return add("rope", {}, push, groups_of(a.heads * (a.head_dim - a.n_rot / 2)), out_rows());
  }

  Result<> kv_write() {
    const auto& a = op_.as<KvAttrs>();
    const PagePool& pool = d_.pools[a.group];
    const uint32_t runs = a.heads * ((a.k_dim + 31) / 32 + (a.v_dim + 31) / 32);
    Push push;
    push << in(0) << in_or_0(1) << batch(d_.layout.sequences) << batch(d_.layout.positions)
         << batch(d_.layout.starts) << batch(d_.layout.pages) << pool.address() << pool.page_bytes()
         << static_cast<uint32_t>(d_.pools.size()) << a.group << static_cast<uint32_t>(pool.layer(a.layer).k)
         << static_cast<uint32_t>(pool.layer(a.layer).v) << a.heads << a.k_dim << a.v_dim << in_stride(0)
         << in_stride(1);
    return add("kv_write", {number(pool.key_type()), number(pool.value_type())}, push, (runs + 1) / 2,
               rows(op_.in[0]));
  }

  Result<> attention() {
    const auto& a = op_.as<AttentionAttrs>();
    const uint32_t positions = TRY(positions_seen(d_, op_));
    const PagePool& pool = d_.pools[a.group];
    const uint32_t lanes = d_.programs.lanes();
    Push push;
    push << in(0) << vector_or_0(0) << out() << d_.batch << pool.address()
         << static_cast<uint32_t>(pool.page_bytes()) << positions << d_.layout.starts << d_.layout.pages
         << (static_cast<uint32_t>(d_.pools.size()) << 16 | a.group)
         << static_cast<uint32_t>(pool.layer(a.layer).k) << static_cast<uint32_t>(pool.layer(a.layer).v)
         << a.q_heads << a.q_heads / a.kv_heads << a.k_dim << a.v_dim
         << static_cast<uint32_t>(std::max(a.window, 0)) << a.scale << a.softcap << a.temperature
         << std::max(a.temperature_length, 1u) << flag(a.sinks) << in_stride(0) << out_stride();
    return add("attention",
               {number(pool.key_type()), number(pool.value_type()), (a.v_dim + lanes - 1) / lanes}, push,
               a.q_heads, out_rows());
  }

  // add_wave(address of the wave's parts, how many) for each wave.
  template <class AddWave>
  Result<> each_wave(const AddWave& add_wave) {
    for (const auto& [begin, count] : d_.layout.waves)
      TRY_VOID(add_wave(batch(d_.layout.parts + 4 * begin), count, begin > 0));
    return {};
  }

  // Of a scan over tokens: subgroups of a workgroup, columns (rows) of the state that a subgroup goes through.
  static constexpr uint32_t kSubgroups = 4, kColumns = 4;

  // Of delta_block.comp: the keys that it is made for, columns of a workgroup.
  static constexpr uint32_t kBlockKeyDim = 128, kBlockColumns = 32;

  Result<> conv1d() {
    const auto& a = op_.as<ConvAttrs>();
    const PagePool& pool = d_.pools[a.group];
    const uint32_t run = std::max(32u, a.taps - 1);
    return each_wave([&](uint64_t parts, uint32_t count, bool barrier) {
      Push push;
      push << in(0) << gpu(0).address << (a.bias ? gpu(1).address : 0) << out() << parts
           << batch(d_.layout.snapshots) << pool.address() << static_cast<uint32_t>(pool.page_bytes())
           << static_cast<uint32_t>(pool.state(a.layer)) << out_width() << in_stride(0) << out_stride()
           << flag(a.bias) << flag(a.silu);
      return add("conv1d", {a.taps, run}, push, groups_of(out_width()), count, (out_rows() + run - 1) / run,
                 barrier);
    });
  }

  Result<> delta_net() {
    const auto& a = op_.as<DeltaAttrs>();
    const PagePool& pool = d_.pools[a.group];
    const uint64_t ready = d_.memory.gates;
    const bool many = out_rows() > kFewRows;
    if (many) {
      Push push;
      push << in(0) << in(1) << in(2) << gpu(0).address << gpu(1).address << ready << a.k_heads << a.v_heads
           << out_rows() << in_stride(0) << in_stride(1) << in_stride(2);
      TRY_VOID(add("delta_prepare", {a.k_dim}, push, a.k_heads + 1, out_rows(), 1, true));
    }
    return each_wave([&](uint64_t parts, uint32_t count, bool barrier) {
      Push push;
      push << in(0) << in(1) << in(2) << gpu(0).address << gpu(1).address << out() << parts
           << batch(d_.layout.snapshots) << pool.address() << ready
           << static_cast<uint32_t>(pool.page_bytes()) << static_cast<uint32_t>(pool.state(a.layer))
           << a.k_heads << a.v_heads << a.v_dim << flag(a.tiled) << in_stride(0) << in_stride(1)
           << in_stride(2) << out_stride() << out_rows();
      if (many && a.k_dim == kBlockKeyDim)
        return add("delta_block", {}, push, (a.v_dim + kBlockColumns - 1) / kBlockColumns, a.v_heads, count,
                   true);
      return add("delta_net", {kSubgroups * d_.programs.lanes(), a.k_dim, flag(many)}, push,
                 (a.v_dim + kSubgroups * kColumns - 1) / (kSubgroups * kColumns), a.v_heads, count,
                 barrier || many);
    });
  }

  Result<> ssm_scan() {
    const auto& a = op_.as<SsmAttrs>();
    const PagePool& pool = d_.pools[a.group];
    return each_wave([&](uint64_t parts, uint32_t count, bool barrier) {
      Push push;
      push << in(0) << in(1) << gpu(0).address << gpu(1).address << gpu(2).address << out() << parts
           << batch(d_.layout.snapshots) << pool.address() << static_cast<uint32_t>(pool.page_bytes())
           << static_cast<uint32_t>(pool.state(a.layer)) << a.heads << a.dim << a.groups << in_stride(0)
           << in_stride(1) << out_stride();
      const bool usual = d_.programs.lanes() == 32 && a.state == 128;
      return add(usual ? "ssm_scan_usual" : "ssm_scan", {kSubgroups * d_.programs.lanes(), a.state}, push,
                 (a.dim + kSubgroups * kColumns - 1) / (kSubgroups * kColumns), a.heads, count, barrier);
    });
  }
};

bool reads(const Part& a, const std::vector<int32_t>& written) {
  return a.from >= 0 && std::ranges::find(written, a.from) != written.end();
}

}  // namespace

void dispatch(VkCommandBuffer commands, VkPipelineLayout layout, const Dispatch& d) {
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, d.pipeline);
  vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes, d.push.data());
  vkCmdDispatch(commands, d.x, d.y, d.z);
}

Result<std::vector<Dispatch>> lower(const Target& target, const Op& op) { return Lowering(target, op).run(); }

namespace {

std::vector<Part> parts_of(const Batch& batch) {
  std::vector<Part> parts;
  if (batch.states.empty()) return parts;
  for (uint32_t t = 0; t < batch.ids.size(); t++) {
    const int32_t sequence = batch.sequences[t];
    if (sequence < 0) continue;
    const auto here = static_cast<int32_t>(t);
    if (t > 0 && batch.sequences[t - 1] == sequence) {
      parts.back().end = here + 1;
    } else {
      ENSURE(static_cast<size_t>(sequence) < batch.states.size(), "no state of sequence {}", sequence);
      const StatePages& pages = batch.states[static_cast<size_t>(sequence)];
      parts.push_back({here, here + 1, pages.in, pages.out});
    }
  }
  return parts;
}

// The pages that a part writes.
std::vector<int32_t> written_by(const Part& part, const Batch& batch) {
  std::vector<int32_t> pages = {part.to};
  for (int32_t t = part.begin; t < part.end && !batch.snapshots.empty(); t++)
    if (batch.snapshots[static_cast<size_t>(t)] >= 0)
      pages.push_back(batch.snapshots[static_cast<size_t>(t)]);
  return pages;
}

// Orders the parts so that whoever reads a page goes before, or with, no one who writes it.
void put_parts(const Batch& batch, const PagePool* states, BatchLayout& out) {
  std::vector<Part> left = parts_of(batch);
  uint32_t placed = 0;
  out.parts = static_cast<uint32_t>(out.data.size());
  while (!left.empty()) {
    std::vector<Part> wave, later;
    for (size_t i = 0; i < left.size(); i++) {
      const std::vector<int32_t> written = written_by(left[i], batch);
      bool waits = false;
      for (size_t j = 0; j < left.size(); j++) waits = waits || (i != j && reads(left[j], written));
      (waits ? later : wave).push_back(left[i]);
    }
    ENSURE(!wave.empty(), "{} sequences write the states that the others read", left.size());
    for (const Part& p : wave)
      out.data.insert(out.data.end(), {p.begin, p.end, states->number(p.from), states->number(p.to)});
    out.waves.emplace_back(placed, static_cast<uint32_t>(wave.size()));
    placed += static_cast<uint32_t>(wave.size());
    left = std::move(later);
  }
}

}  // namespace

std::vector<uint32_t> BatchLayout::key() const {
  std::vector<uint32_t> out = {sequences, positions, ids,   rows,   snapshots,
                               starts,    pages,     parts, hidden, tile_count};
  for (const auto& [begin, count] : waves) out.insert(out.end(), {begin, count});
  return out;
}

namespace {

// The rows [begin, end) of the sequence of row t.
std::pair<size_t, size_t> run_of(const Batch& batch, size_t t) {
  size_t begin = t, end = t + 1;
  while (begin > 0 && batch.sequences[begin - 1] == batch.sequences[t]) begin--;
  while (end < batch.sequences.size() && batch.sequences[end] == batch.sequences[t]) end++;
  return {begin, end};
}

// What attention over many rows goes by.
void put_tiles(const Batch& batch, BatchLayout& out) {
  out.tiles = static_cast<uint32_t>(out.data.size());
  for (size_t t = 0; t < batch.ids.size();) {
    const size_t end = std::min(run_of(batch, t).second, t + kRowsOfTile);
    out.data.insert(out.data.end(), {static_cast<int32_t>(t), static_cast<int32_t>(end - t)});
    out.tile_count++;
    t = end;
  }
}

// What operations over whole texts read.
void put_texts(const Batch& batch, BatchLayout& out) {
  out.newest = static_cast<uint32_t>(out.data.size());
  for (size_t t = 0; t < batch.ids.size();) {
    const size_t end = run_of(batch, t).second;
    out.data.insert(out.data.end(), end - t, batch.positions[end - 1]);
    t = end;
  }
  out.zeros = static_cast<uint32_t>(out.data.size());
  out.data.insert(out.data.end(), batch.ids.size(), 0);
  out.runs = static_cast<uint32_t>(out.data.size());
  for (const int32_t row : batch.rows) {
    const auto [begin, end] = run_of(batch, static_cast<size_t>(row));
    out.data.insert(out.data.end(), {static_cast<int32_t>(begin), static_cast<int32_t>(end - begin)});
  }
}

}  // namespace

BatchLayout lay_out(const Batch& batch, std::span<const PagePool> pools) {
  BatchLayout out;
  const size_t groups = pools.size();
  const auto found = std::ranges::find_if(pools, &PagePool::has_states);
  const PagePool* states = found == pools.end() ? nullptr : &*found;
  ENSURE(states != nullptr || (batch.states.empty() && batch.snapshots.empty()),
         "states without a group of them");
  const auto put = [&](std::span<const int32_t> values) {
    const auto at = static_cast<uint32_t>(out.data.size());
    out.data.insert(out.data.end(), values.begin(), values.end());
    return at;
  };
  out.sequences = put(batch.sequences);
  out.positions = put(batch.positions);
  out.ids = put(batch.ids);
  out.rows = put(batch.rows);
  std::vector<int32_t> snapshots(batch.ids.size(), -1);
  for (size_t t = 0; t < batch.snapshots.size(); t++) snapshots[t] = states->number(batch.snapshots[t]);
  out.snapshots = put(snapshots);
  std::vector<int32_t> starts, pages;
  for (const PageTable& table : batch.page_tables) {
    const PagePool& pool = pools[starts.size() % groups];
    starts.push_back(static_cast<int32_t>(pages.size()));
    for (const PageId page : table) pages.push_back(pool.number(page));
  }
  ENSURE(groups == 0 || starts.size() % groups == 0, "{} page tables of {} groups", starts.size(), groups);
  out.starts = put(starts);
  put_texts(batch, out);
  put_tiles(batch, out);
  put_parts(batch, states, out);
  out.hidden = static_cast<uint32_t>(out.data.size());
  for (const float x : batch.hidden) out.data.push_back(std::bit_cast<int32_t>(x));
  out.pages = put(pages);  // last: their number grows, and no place of the others is to change with it
  return out;
}

}  // namespace brass::vulkan
