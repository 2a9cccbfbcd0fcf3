// Products of few rows: which constants and grids gemv.comp and router.comp get.
#include <algorithm>
#include <bit>

#include "backend/vulkan/decode_step.h"
#include "backend/vulkan/emit.h"
#include "base/check.h"
#include "plan/rules.h"

namespace brass::vulkan {
namespace {

// As the programs have them.
enum class Epilogue : uint32_t { kPlain, kSum, kGlu, kGluInt8, kSumInt8 };
enum class Experts : uint32_t { kNone, kShared, kOwn, kHeads, kSummed };
constexpr uint32_t kRouterThreads = 256;     // most, of a workgroup that makes a value
constexpr uint32_t kStagedBytes = 26 << 10;  // of shared memory, beside what a program has of its own

// How experts are chosen, as gemv.comp has it.
std::vector<uint32_t> routing(const Op* route) {
  if (route == nullptr) return {0, 1, 1, 1, 0, 0};
  const auto& a = route->as<RouteAttrs>();
  const uint32_t flags = 1 | (a.renormalize ? 2 : 0) | (a.group_score == GroupScore::kTop2Sum ? 4 : 0);
  return {flags + 8 * static_cast<uint32_t>(a.score),
          a.experts,
          a.groups,
          a.groups_used,
          std::bit_cast<uint32_t>(a.min_sum),
          std::bit_cast<uint32_t>(a.scale)};
}

}  // namespace

// What a product does besides multiplying.
struct DecodeProducts::Around {
  Epilogue epilogue = Epilogue::kPlain;
  const Op* up = nullptr;  // the second product of kGlu…
  ActKind act = ActKind::kIdentity;
  const Op* route = nullptr;                   // chooses the experts in the same program
  const Op* conv = nullptr;                    // kPlain: what the sums are rows of
  ValueId added = -1;                          // kSum…
  ValueId out = -1;                            // what is stored
  const Op *norm = nullptr, *quant = nullptr;  // kSumInt8: what follows the sum
};

struct DecodeProducts::Shape {
  uint32_t threads, passes;
};

// Where a product leaves what it makes, as its program wants it.
struct DecodeProducts::Outputs {
  uint64_t first, second = 0, gain = 0;
  uint32_t strides, pairs_at = 0;
};

// Whether router.comp makes it: float weights in whole vectors of four.
bool DecodeProducts::is_by_rows(const Op& o) const {
  if (o.kind != OpKind::kLinear && o.kind != OpKind::kLmHead) return false;
  const Weight& w = file(o, 0);
  const bool is_float = w.type == Type::F32 || w.type == Type::F16 || w.type == Type::BF16;
  return is_float && w.cols % 4 == 0 && !is_int8(o.in[0]) && d_.plan.key.t <= kFewRows;
}

Result<> DecodeProducts::router(const Op& o, const Op* norm) {
  const RowSlice& slice = file(o, 0).slice;
  const ValueId x = norm != nullptr ? norm->in[0] : o.in[0];
  Push push;
  push << gpu(o, 0).address << at(x) << (norm != nullptr ? vector_or_0(*norm, 0) : 0) << vector_or_0(o, 1)
       << at(o.out[0]) << gpu(o, 0).row_bytes << slice.first << slice.run << slice.stride << stride(x)
       << stride(o.out[0]) << (norm != nullptr ? norm->as<NormAttrs>().eps : 0.0f);
  // Four values a load; a row of fewer than all threads could load at once has no work for the rest.
  const uint32_t cols = file(o, 0).cols;
  const uint32_t threads = std::max(d_.programs.lanes(), std::min(std::bit_ceil(cols / 4), kRouterThreads));
  const Type type = file(o, 0).type;
  const uint32_t kind = type == Type::F32 ? 0 : type == Type::F16 ? 1 : 2, n = width(o.out[0]);
  push << n;
  return add(o, "router", {threads, cols, flag(norm != nullptr), kind}, push, std::min(n, kMaxGroups),
             rows(x), up(n, kMaxGroups), false, at(x));
}

// Products of one input, with what follows them.
Result<> DecodeProducts::products() {
  Around around;
  const size_t n = step_.ops.size();
  if (step_.rule == kFoldNorm) {
    const Op& sum = op(n - 3);
    const ValueId made = op(n - 4).out[0];
    around = {.epilogue = Epilogue::kSumInt8,
              .added = sum.in[0] == made ? sum.in[1] : sum.in[0],
              .out = sum.out[0],
              .norm = &op(n - 2),
              .quant = &op(n - 1)};
    return product(op(0), around);
  }
  const size_t first = step_.rule == kRouteGlu ? 1 : 0;
  const bool two = n > first + 2 && op(first + 2).kind == OpKind::kActMul;
  if (two) {
    const Op& act = op(first + 2);
    const size_t gate = act.in[0] == op(first).out[0] ? first : first + 1;
    around.up = &op(2 * first + 1 - gate);
    around.act = act.as<ActAttrs>().kind;
    around.route = first > 0 ? &op(0) : nullptr;
    const bool int8_out = n > first + 3;
    around.epilogue = int8_out ? Epilogue::kGluInt8 : Epilogue::kGlu;
    around.out = op(first + (int8_out ? 3 : 2)).out[0];
    return product(op(gate), around);
  }
  if (n > 1 && op(1).kind == OpKind::kAdd) {
    const Op& sum = op(1);
    around.epilogue = Epilogue::kSum;
    around.added = sum.in[0] == op(0).out[0] ? sum.in[1] : sum.in[0];
    around.out = sum.out[0];
    return product(op(0), around);
  }
  const Op* conv = find(OpKind::kConv1d);
  for (size_t i = 0; i < n; i++) {
    if (&op(i) == conv) continue;
    around.conv = conv != nullptr && conv->in[0] == op(i).out[0] ? conv : nullptr;
    around.out = around.conv != nullptr ? conv->out[0] : op(i).out[0];
    TRY_VOID(product(op(i), around));
  }
  return {};
}

// Enough workgroups to fill a large device, of rows enough that x is not the most of what they read. Where a workgroup makes
// 32 values, there are as many as it takes, and few of them are the faster for more threads each: 64 (rows of 2048) leave half
// of a large device without work.
DecodeProducts::Shape DecodeProducts::shape(uint32_t rows, uint32_t cols, uint32_t columns,
                                            const Around& around) const {
  const uint32_t lanes = d_.programs.lanes();
  if (around.epilogue == Epilogue::kGluInt8 || around.epilogue == Epilogue::kSumInt8) {
    const bool many = around.epilogue == Epilogue::kGluInt8 && rows / 64 >= kEnoughGroups;
    const uint32_t few = around.epilogue == Epilogue::kSumInt8 ? 1024 : 512;
    const uint32_t threads = std::min(many ? 256u : few, 32 * lanes);
    return {threads, 32 / (threads / lanes)};
  }
  // What is staged of several rows of x leaves room for few workgroups, so more threads share it.
  const uint32_t threads = std::min(cols > 8192 || columns > 1 ? 512u : 256u, 32 * lanes),
                 subgroups = threads / lanes;
  const uint32_t most = around.conv != nullptr ? std::min(lanes, 16u) : 16u;  // a lane has a row
  return {threads, std::clamp(rows / (subgroups * kEnoughGroups), 1u, most)};
}

Result<> DecodeProducts::product(const Op& o, const Around& around) {
  const bool by_experts = o.kind == OpKind::kMoeLinear, by_heads = o.kind == OpKind::kHeadLinear;
  const auto* expert = std::get_if<ExpertAttrs>(&o.attrs);
  const bool bias = by_experts ? expert->bias : !by_heads && o.as<LinearAttrs>().bias;
  const uint32_t slots = by_experts ? expert->used : 1, cols = file(o, 0).cols;
  const bool summed = by_experts && around.norm != nullptr;
  const uint32_t n = width(o.out[0]) / slots, tokens = rows(o.out[0]);
  const uint32_t columns = by_experts ? 1 : std::min(std::bit_ceil(std::max(tokens, 1u)), kFewRows);
  ENSURE(cols % 32 == 0, "{}: {} columns", o.name, cols);

  const Int8Rows x = int8(o.in[0]);
  const int32_t folded = d_.plan.place(o.in[0]).norm;
  const Outputs y = outputs(around);
  const RowSlice& slice = file(o, 0).slice;
  const auto begin_of = [&](const Op& product) {
    return gpu(product, 0).address + uint64_t{file(product, 0).slice.first} * gpu(product, 0).row_bytes;
  };
  const uint32_t inputs = summed ? slots : columns;
  const uint32_t chosen = around.route != nullptr ? 16 * expert->experts : 0;
  const bool staged = !by_heads && inputs * (cols + cols / 2) + chosen <= kStagedBytes;
  const Shape s =
      shape(n * slots * (around.up != nullptr ? 2 : 1), summed ? slots * cols : cols, columns, around);
  const uint32_t group_rows = s.threads / d_.programs.lanes() * s.passes;
  const uint64_t other = around.route != nullptr ? vector_or_0(*around.route, 0)
                         : around.up != nullptr  ? (bias ? gpu(*around.up, 1).address : 0)
                                                 : at_or_0(around.added);
  const uint64_t before = around.route != nullptr ? at(around.route->in[0]) : bias ? gpu(o, 1).address : 0;
  const auto* conv = around.conv != nullptr ? &around.conv->as<ConvAttrs>() : nullptr;
  const PagePool* pool = conv != nullptr ? &d_.pools[conv->group] : nullptr;
  const uint64_t second = around.up != nullptr ? begin_of(*around.up)
                          : conv != nullptr    ? gpu(*around.conv, 0).address
                                               : y.gain;
  // Of one that waits inside the stride's place says where its counter is.
  const bool can_wait = slice.run < 65536 && slice.stride < 65536;
  const bool both = d_.counters != 0 && can_wait && slice.run != 0;
  Push push;
  push << begin_of(o) << second << gpu(o, 0).grid << x.codes << x.pairs << before
       << (conv != nullptr ? pool->address() + pool->state(conv->layer) : other) << y.first
       << (conv != nullptr ? batch(d_.layout.snapshots) : y.second)
       << (by_experts        ? at(o.in[1])
           : conv != nullptr ? batch(d_.layout.parts)
                             : 0)
       << gpu(o, 0).row_bytes << n << tokens << s.passes << packed(x.code_stride, x.pair_stride) << y.strides
       << (both ? slice.run | slice.stride << 16 : slice.run)
       << (by_experts        ? stride(o.in[1])
           : by_heads        ? n / o.as<HeadLinearAttrs>().heads
           : conv != nullptr ? static_cast<uint32_t>(pool->page_bytes())
                             : 0)
       << (folded >= 0 ? d_.plan.ops[static_cast<size_t>(folded)].as<NormAttrs>().eps : 0.0f)
       << static_cast<uint32_t>(x.squares - x.pairs)
       << (around.route != nullptr ? stride(around.route->in[0])
           : conv != nullptr       ? parts_of_layout()
                                   : y.pairs_at)
       << (both ? 0u : slice.stride);
  const Experts experts = by_heads            ? Experts::kHeads
                          : !by_experts       ? Experts::kNone
                          : summed            ? Experts::kSummed
                          : expert->own_input ? Experts::kOwn
                                              : Experts::kShared;
  std::vector<uint32_t> constants = {s.threads,
                                     cols,
                                     columns,
                                     static_cast<uint32_t>(around.epilogue),
                                     static_cast<uint32_t>(experts),
                                     static_cast<uint32_t>(around.act),
                                     flag(staged),
                                     flag(folded >= 0),
                                     summed ? slots : 1u};
  for (const uint32_t constant : routing(around.route)) constants.push_back(constant);
  constants.push_back(both ? 2u : flag(slice.run != 0));
  constants.push_back(flag(n % group_rows != 0));
  constants.push_back(conv != nullptr ? conv->taps : 0);
  constants.push_back(flag(conv != nullptr && conv->silu));
  // Units of a lane that are loaded together: of 1,024 threads one is enough, and all that registers have room for.
  constants.push_back(around.epilogue == Epilogue::kSumInt8 ? 1 : 2);
  return add(o, program_of("gemv", file(o, 0).type), constants, push, up(n, group_rows), up(tokens, columns),
             summed ? 1 : slots, false, can_wait ? x.codes : 0);
}

uint32_t DecodeProducts::parts_of_layout() const {
  uint32_t parts = 0;
  for (const auto& [begin, count] : d_.layout.waves) parts += count;
  return parts;
}

DecodeProducts::Outputs DecodeProducts::outputs(const Around& around) const {
  if (around.quant != nullptr) {
    const Int8Rows made = int8(around.quant->out[0]);
    ENSURE(stride(around.added) == stride(around.out), "{}: rows of {} and {}", around.quant->name,
           stride(around.added), stride(around.out));
    return {.first = at_or_0(around.out),  // behind the last block nothing but the norm reads the sum
            .second = made.codes,
            .gain = vector_or_0(*around.norm, 0),
            .strides = packed(stride(around.out), made.code_stride),
            .pairs_at = static_cast<uint32_t>(made.pairs - made.codes)};
  }
  if (is_int8(around.out)) {
    const Int8Rows made = int8(around.out);
    return {.first = made.codes, .second = made.pairs, .strides = packed(made.code_stride, made.pair_stride)};
  }
  return {.first = at(around.out),
          .strides = packed(stride(around.out), around.added >= 0 ? stride(around.added) : 0)};
}

}  // namespace brass::vulkan
