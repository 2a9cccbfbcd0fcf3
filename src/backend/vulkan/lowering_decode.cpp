#include "backend/vulkan/lowering_decode.h"

#include <algorithm>
#include <bit>

#include "backend/vulkan/candidates.h"
#include "backend/vulkan/decode_step.h"
#include "base/check.h"
#include "plan/rules.h"

namespace brass::vulkan {
namespace {

constexpr uint32_t kRowThreads = 256, kCombineThreads = 256;

// How attention of few rows is cut (attend_split.comp).
struct AttentionShape {
  uint32_t heads;   // of queries, in a workgroup
  uint32_t splits;  // most of a row's positions
  uint32_t unit, share, batch, threads, merged;
};

// As many query heads as share keys, as far as a subgroup's registers hold their queries and sums.
uint32_t heads_together(const AttentionAttrs& a) {
  uint32_t n = std::bit_ceil(std::min(a.q_heads / a.kv_heads, 8u));
  while (n > 1 && n * std::max(a.k_dim, a.v_dim) > 1024) n /= 2;
  return n;
}

// As many as keep a large card busy. Bits depend on it, so it depends on the model alone.
uint32_t most_splits(const AttentionAttrs& a) {
  constexpr uint32_t kWorkgroups = 256, kMost = 128;
  const uint32_t heads = heads_together(a),
                 blocks = a.kv_heads * ((a.q_heads / a.kv_heads + heads - 1) / heads);
  return std::clamp(kWorkgroups / blocks, 8u, kMost);
}

AttentionShape attention_shape(const AttentionAttrs& a, const PagePool& pool, uint32_t lanes) {
  AttentionShape s{.heads = heads_together(a), .splits = most_splits(a)};
  const uint32_t most = std::max(a.k_dim, a.v_dim);
  const auto share = [&](uint32_t unit) {
    return std::min(lanes, std::max(s.heads, std::bit_ceil((most + unit - 1) / unit)));
  };
  const auto values = [&](uint32_t unit) {  // of a lane, for all heads
    return s.heads * unit * ((most / unit + share(unit) - 1) / share(unit));
  };
  const bool wide = pool.key_type() != KvType::kF32 && pool.value_type() != KvType::kF32 &&
                    a.k_dim % 8 == 0 && a.v_dim % 8 == 0;
  s.unit = wide && values(8) <= std::max(values(4), 32u) ? 8 : 4;
  s.share = share(s.unit);
  // Positions of a subgroup that are under way together: with more of them registers leave room for half as many
  // subgroups. Few lanes, as of Mesa's CPU driver, hold more of a head each.
  const uint32_t positions = std::max(lanes < 32 ? 2u : 4u, 512 / std::bit_ceil(most));
  s.batch = std::clamp(positions * s.share / lanes, 1u, 4u);
  ENSURE(kPageTokens % (s.batch * lanes / s.share) == 0, "{} lanes, {} of them for a position", lanes,
         s.share);
  s.threads = std::min(256u, 8 * lanes);
  s.merged = s.heads;
  const auto shared_bytes =
      [&] {  // heads as they come, gains, angles, new key and value; the sums of subgroups
        const uint32_t subgroups = s.threads / lanes;
        return 4 * ((s.heads + 1) * a.k_dim + 3 * a.k_dim + 4 * (a.k_dim / 4 + a.v_dim / 4) +
                    subgroups * (s.merged * a.v_dim + 2 * s.heads));
      };
  while (s.merged > 1 && shared_bytes() > kSharedBytes) s.merged /= 2;
  while (s.threads > lanes && shared_bytes() > kSharedBytes) s.threads /= 2;
  return s;
}

// Bytes that an attention by splits leaves from its first program to its second; 0: it is none.
uint64_t partial_of(const Plan& plan, const Op& op, uint32_t pages) {
  if (op.kind != OpKind::kAttention || !splits_over_positions(op.as<AttentionAttrs>())) return 0;
  const auto& a = op.as<AttentionAttrs>();
  const uint64_t of_head = (a.v_dim + 4) * sizeof(float);
  return uint64_t{plan.key.t} * std::min(pages, most_splits(a)) * a.q_heads * of_head;
}

bool has_own_places(const Plan& plan) { return plan.key.t <= plan.caps.own_place_rows; }

// Where it does, from the begin of that memory.
uint64_t partial_at(const Plan& plan, const Op& attention, uint32_t pages) {
  uint64_t at = 0;
  for (const Op& op : plan.ops) {
    if (&op == &attention || !has_own_places(plan)) break;
    at += partial_of(plan, op, pages);
  }
  return at;
}

class Decode : public DecodeProducts {
 public:
  using DecodeProducts::DecodeProducts;

  // False: none of ours.
  Result<bool> run() {
    const Op& first = op(0);
    if (step_.rule == kRouteGlu) return done(products());
    if (step_.rule == kNormLinear) return done(router(op(1), &first));
    if (first.kind == OpKind::kRmsNorm || first.kind == OpKind::kLayerNorm)
      if (first.as<NormAttrs>().heads != 1) return false;
    switch (first.kind) {
      case OpKind::kQuantAct:
        return done(row());
      case OpKind::kRmsNorm:
      case OpKind::kLayerNorm:
        return done(row());
      case OpKind::kAdd:
      case OpKind::kMoeCombine:
        if (step_.ops.size() == 1) return false;
        return done(row());
      case OpKind::kLinear:
      case OpKind::kLmHead:
      case OpKind::kHeadLinear:
      case OpKind::kMoeLinear:
        if (is_by_rows(first)) return done(router(first, nullptr));
        if (!is_int8(first.in[0])) return false;
        return done(products());
      case OpKind::kActMul:
        if (step_.ops.size() == 1) return false;
        return done(gate());
      case OpKind::kHeadNorm:
      case OpKind::kRope:
      case OpKind::kKvWrite:
        if (step_.ops.size() == 1) return false;
        return done(step_.rule == "gate_quant"               ? gate()
                    : step_.rule == "head_rope_write_attend" ? attention()
                                                             : heads());
      case OpKind::kAttention:
        if (d_.plan.key.t > kFewRows || !splits_over_positions(first.as<AttentionAttrs>())) return false;
        return done(attention());
      case OpKind::kDeltaNet:
        if (d_.plan.key.t > kFewRows || !steps_by_shares(first.as<DeltaAttrs>())) return false;
        return done(delta());
      case OpKind::kChoose:
        return done(choose());
      default:
        return false;
    }
  }

 private:
  static Result<bool> done(Result<> result) {
    TRY_VOID(std::move(result));
    return true;
  }

  Result<> choose() {
    const Op& o = op(0);
    if (o.as<ChooseAttrs>().candidates > 0) return candidates(o);
    Push push;
    push << at(o.in[0]) << d_.choices << d_.next_ids << width(o.in[0]) << stride(o.in[0]) << stride(o.out[0]);
    return add(o, "choose", {std::min(1024u, 32 * d_.programs.lanes())}, push, rows(o.out[0]), 1, 1, false,
               at(o.in[0]));
  }

  // What a round leaves, rows of pairs, lies behind what the one before has left.
  Result<> candidates(const Op& o) {
    const uint32_t wanted = o.as<ChooseAttrs>().candidates;
    uint64_t from = at(o.in[0]), to = d_.partial;
    uint32_t from_stride = stride(o.in[0]);
    bool first = true;
    for (const CandidateRound& round : candidate_rounds(width(o.in[0]), wanted, d_.programs.lanes())) {
      const bool last = round.parts == 1;
      ENSURE(last || d_.partial != 0, "{}: no memory between its rounds", o.name);
      const uint32_t to_stride = last ? stride(o.out[0]) : round.left;
      Push push;
      push << from << (last ? d_.choices : to) << round.values << wanted << from_stride << to_stride;
      TRY_VOID(add(o, "candidates", {round.threads, flag(first), flag(last)}, push, round.parts,
                   rows(o.out[0]), 1, !first));
      from = to, from_stride = to_stride;
      to += uint64_t{8} * d_.plan.key.r * round.left;
      first = false;
    }
    return {};
  }

  // ---- rows: (combine) (add) (norm) (quant)

  Result<> row() {
    const Op *combine = find(OpKind::kMoeCombine), *sum = find(OpKind::kAdd),
             *quant = find(OpKind::kQuantAct);
    const Op *rms = find(OpKind::kRmsNorm), *norm = rms != nullptr ? rms : find(OpKind::kLayerNorm);
    const ValueId total = sum != nullptr && is_stored(sum->out[0]) ? sum->out[0] : -1;
    const ValueId y = norm != nullptr && (is_stored(norm->out[0]) || quant == nullptr) ? norm->out[0] : -1;
    const Int8Rows codes = quant != nullptr ? int8(quant->out[0]) : Int8Rows{};
    const std::vector<uint32_t> constants = {kRowThreads, flag(total >= 0),
                                             norm == nullptr  ? 0u
                                             : rms != nullptr ? 1u
                                                              : 2u,
                                             flag(y >= 0), flag(quant != nullptr)};
    const uint64_t gain = norm != nullptr ? vector_or_0(*norm, 0) : 0;
    const float eps = norm != nullptr ? norm->as<NormAttrs>().eps : 0;
    const Op& first = op(0);
    Push push;
    if (combine == nullptr) {
      const ValueId other = sum != nullptr ? sum->in[1] : -1;
      push << at(first.in[0]) << at_or_0(other) << at_or_0(total) << gain
           << (norm != nullptr ? vector_or_0(*norm, 1) : 0) << at_or_0(y) << codes.codes << codes.pairs
           << width(first.in[0]) << stride(first.in[0]) << stride_or_0(other) << stride_or_0(total)
           << stride_or_0(y) << codes.code_stride << codes.pair_stride << eps;
      return add(first, "norm_row", constants, push, rows(first.in[0]), 1, 1, false, at(first.in[0]));
    }
    const auto input = [&](size_t i) { return combine->in.size() > i ? combine->in[i] : ValueId{-1}; };
    const ValueId y0 = combine->out[0], added = sum->in[0] == y0 ? sum->in[1] : sum->in[0];
    push << at(input(0)) << at(input(1)) << at_or_0(input(2)) << at_or_0(input(3)) << at(added)
         << at_or_0(total) << gain << at_or_0(y) << codes.codes << codes.pairs << width(y0)
         << 2 * combine->as<ExpertAttrs>().used + flag(input(3) >= 0) << stride(input(0)) << stride(input(1))
         << stride_or_0(input(2)) << stride_or_0(input(3)) << stride(added) << stride_or_0(total)
         << stride_or_0(y) << codes.code_stride << codes.pair_stride << eps;
    return add(first, "combine_row", constants, push, rows(y0));
  }

  // ---- (norm of heads) gate, quant

  Result<> gate() {
    const Op *norm = find(OpKind::kHeadNorm), *act = find(OpKind::kActMul), *quant = find(OpKind::kQuantAct);
    ENSURE(act != nullptr && quant != nullptr, "{}", op(0).name);
    const ValueId x = norm != nullptr ? norm->in[0] : act->in[1];
    const uint32_t n = width(x), dim = norm != nullptr ? n / norm->as<NormAttrs>().heads
                                       : n % 128 == 0  ? 128
                                                       : 32;
    const bool own_gains = norm != nullptr && !norm->weights.empty() && file(*norm, 0).cols > dim;
    const Int8Rows codes = int8(quant->out[0]);
    Push push;
    push << at(act->in[0]) << at(x) << (norm != nullptr ? vector_or_0(*norm, 0) : 0) << codes.codes
         << codes.pairs << stride(act->in[0]) << stride(x) << (own_gains ? dim : 0u) << codes.code_stride
         << codes.pair_stride << (norm != nullptr ? norm->as<NormAttrs>().eps : 0.0f);
    return add(*act, "gate_quant",
               {dim, flag(norm != nullptr), static_cast<uint32_t>(act->as<ActAttrs>().kind)}, push, n / dim,
               rows(x));
  }

  // ---- heads: norm and rotation of q and k, keys and values to their pages

  // The operations of the step that lead to v, first one first.
  std::vector<const Op*> chain_to(ValueId v) const {
    std::vector<const Op*> chain;
    for (size_t i = step_.ops.size(); i-- > 0;)
      if (op(i).out.size() == 1 && op(i).out[0] == v) {
        chain.push_back(&op(i));
        v = op(i).in[0];
      }
    std::ranges::reverse(chain);
    return chain;
  }

  struct Heads {
    ValueId x;  // what they are made from
    const Op *norm = nullptr, *rope = nullptr;
    uint32_t place = 0;  // of the norm: 1 before the rotation, 2 behind it
  };
  Heads heads_of(ValueId v) const {
    Heads made{.x = v};
    for (const Op* o : chain_to(v)) {
      ENSURE(o->kind == OpKind::kHeadNorm ? made.norm == nullptr : made.rope == nullptr, "{}: twice",
             o->name);
      if (made.norm == nullptr && made.rope == nullptr) made.x = o->in[0];
      if (o->kind == OpKind::kRope) made.rope = o;
      if (o->kind != OpKind::kHeadNorm) continue;
      made.norm = o;
      made.place = made.rope == nullptr ? 1 : 2;
    }
    return made;
  }

  // Of v: to its own place, or as the keys or values of `write`.
  Result<> head_chain(ValueId v, const Op* write = nullptr, bool keys = false) {
    const auto [x, norm, rope, place] = heads_of(v);
    const auto* a = write != nullptr ? &write->as<KvAttrs>() : nullptr;
    const uint32_t heads = a != nullptr      ? a->heads
                           : norm != nullptr ? norm->as<NormAttrs>().heads
                                             : rope->as<RopeAttrs>().heads;
    const uint32_t dim = width(v) / heads;
    const PagePool* pool = a != nullptr ? &d_.pools[a->group] : nullptr;
    const uint64_t part = pool == nullptr ? 0 : keys ? pool->layer(a->layer).k : pool->layer(a->layer).v;
    const uint32_t type = pool == nullptr ? 0 : number(keys ? pool->key_type() : pool->value_type());
    const auto gain_step = norm != nullptr && !norm->weights.empty() && file(*norm, 0).cols > dim ? dim : 0u;
    const auto* turn = rope != nullptr ? &rope->as<RopeAttrs>() : nullptr;
    Push push;
    push << at(x) << (norm != nullptr ? vector_or_0(*norm, 0) : 0) << (rope != nullptr ? at(rope->in[1]) : 0)
         << (pool != nullptr ? pool->address() + part : at(v)) << d_.batch
         << (pool != nullptr ? pool->page_bytes() : uint64_t{0}) << d_.layout.positions << d_.layout.starts
         << d_.layout.pages << (static_cast<uint32_t>(d_.pools.size()) << 16 | (a != nullptr ? a->group : 0))
         << heads << (turn != nullptr ? turn->n_rot : 0) << flag(turn != nullptr && turn->neox) << gain_step
         << stride(x) << (rope != nullptr ? stride(rope->in[1]) : 0) << (pool != nullptr ? 0 : stride(v))
         << (norm != nullptr ? norm->as<NormAttrs>().eps : 0.0f);
    const Op& whose = write != nullptr ? *write : rope != nullptr ? *rope : *norm;
    return add(whose, "heads", {dim, flag(pool != nullptr), type, place}, push, heads, rows(v));
  }

  Result<> heads() {
    for (size_t i = 0; i < step_.ops.size(); i++) {
      const Op& o = op(i);
      if (o.kind == OpKind::kKvWrite) {
        TRY_VOID(head_chain(o.in[0], &o, true));
        if (o.in.size() > 1) TRY_VOID(head_chain(o.in[1], &o));
      } else if (is_stored(o.out[0])) {
        TRY_VOID(head_chain(o.out[0]));
      }
    }
    return {};
  }

  // ---- attention

  Result<> attention() {
    const Op &o = *find(OpKind::kAttention), *write = find(OpKind::kKvWrite);
    const auto& a = o.as<AttentionAttrs>();
    const PagePool& pool = d_.pools[a.group];
    const uint32_t positions = TRY(positions_seen(d_, o));
    const uint32_t group = a.q_heads / a.kv_heads;
    const AttentionShape shape = attention_shape(a, pool, d_.programs.lanes());
    const uint32_t room = std::min(shape.splits, d_.pages);  // a split is a page at least
    const auto window = static_cast<uint32_t>(std::max(a.window, 0));
    ENSURE(d_.partial != 0 && d_.pages > 0 && positions < 65536 && d_.layout.starts < 65536, "{}", o.name);
    const bool one = write != nullptr;  // brings its heads unmade
    const Heads q = one ? heads_of(o.in[0]) : Heads{.x = o.in[0]},
                k = one ? heads_of(write->in[0]) : Heads{.x = -1};
    const auto* turn = q.rope != nullptr ? &q.rope->as<RopeAttrs>() : nullptr;
    const uint64_t partial = d_.partial + partial_at(d_.plan, o, d_.pages);
    Push split;
    split << at(q.x) << d_.batch << pool.address() << partial << at_or_0(k.x) << (one ? at(write->in[1]) : 0)
          << (q.norm != nullptr ? vector_or_0(*q.norm, 0) : 0)
          << (k.norm != nullptr ? vector_or_0(*k.norm, 0) : 0) << (q.rope != nullptr ? at(q.rope->in[1]) : 0)
          << static_cast<uint32_t>(pool.page_bytes()) << (positions | d_.layout.starts << 16)
          << d_.layout.pages << (static_cast<uint32_t>(d_.pools.size()) << 16 | a.group)
          << static_cast<uint32_t>(pool.layer(a.layer).k) << static_cast<uint32_t>(pool.layer(a.layer).v)
          << window << a.scale << a.softcap << a.temperature << std::max(a.temperature_length, 1u)
          << packed(stride(q.x), 16 * room) << (q.norm != nullptr ? q.norm->as<NormAttrs>().eps : 0.0f);
    // What an earlier operation has left may still be read.
    TRY_VOID(add(o, "attend_split",
                 {shape.threads, number(pool.key_type()), number(pool.value_type()), a.k_dim, a.v_dim,
                  shape.heads, group, a.kv_heads, flag(one), turn != nullptr ? turn->n_rot : 0u,
                  flag(turn != nullptr && turn->neox), q.place, shape.unit, shape.share, shape.batch,
                  shape.splits, shape.merged},
                 split, a.kv_heads * up(group, shape.heads), room, rows(o.out[0]), true, at(q.x)));
    const Op *gate = find(OpKind::kActMul), *quant = find(OpKind::kQuantAct);
    const Int8Rows made = quant != nullptr ? int8(quant->out[0])
                                           : Int8Rows{.codes = at(o.out[0]), .code_stride = stride(o.out[0])};
    const ValueId gated_by = gate != nullptr ? gate->in[0] : -1;
    const uint32_t gate_kind = gate != nullptr ? 1 + static_cast<uint32_t>(gate->as<ActAttrs>().kind) : 0;
    Push combine;
    combine << vector_or_0(o, 0) << d_.batch << partial << made.codes << made.pairs << at_or_0(gated_by)
            << positions << a.q_heads << window << flag(a.sinks) << room << made.code_stride
            << made.pair_stride << stride_or_0(gated_by);
    return add(o, "attend_combine",
               {kCombineThreads, a.v_dim, flag(quant != nullptr), gate_kind, shape.splits}, combine,
               a.q_heads, rows(o.out[0]), 1, true, made.codes);
  }

  // ---- the delta rule

  Result<> delta() {
    const Op& o = op(0);
    const auto& a = o.as<DeltaAttrs>();
    const Op *norm = find(OpKind::kHeadNorm), *act = find(OpKind::kActMul), *quant = find(OpKind::kQuantAct);
    const Int8Rows made = quant != nullptr ? int8(quant->out[0])
                                           : Int8Rows{.codes = at(o.out[0]), .code_stride = stride(o.out[0])};
    const ValueId gated_by = act != nullptr ? act->in[0] : -1;
    const uint32_t gate_kind = act != nullptr ? 1 + static_cast<uint32_t>(act->as<ActAttrs>().kind) : 0;
    const uint32_t shares = 4 * a.v_dim <= 512 ? 4 : 2 * a.v_dim <= 512 ? 2 : 1;
    const PagePool& pool = d_.pools[a.group];
    for (const auto& [begin, count] : d_.layout.waves) {
      Push push;
      push << at(o.in[0]) << at(o.in[1]) << at(o.in[2]) << gpu(o, 0).address << gpu(o, 1).address
           << made.codes << made.pairs << at_or_0(gated_by) << (norm != nullptr ? vector_or_0(*norm, 0) : 0)
           << batch(d_.layout.parts + 4 * begin) << batch(d_.layout.snapshots) << pool.address()
           << static_cast<uint32_t>(pool.page_bytes()) << static_cast<uint32_t>(pool.state(a.layer))
           << (a.k_heads | a.v_heads << 16) << packed(stride(o.in[0]), stride(o.in[1]))
           << packed(stride(o.in[2]), stride_or_0(gated_by)) << packed(made.code_stride, made.pair_stride)
           << (norm != nullptr ? norm->as<NormAttrs>().eps : 0.0f);
      TRY_VOID(add(o, "delta_step", {shares * a.v_dim, a.k_dim, a.v_dim, flag(a.tiled), gate_kind}, push,
                   a.v_heads, count, 1, begin > 0, at(o.in[0])));
    }
    return {};
  }
};

}  // namespace

Result<std::optional<std::vector<Dispatch>>> lower_decode(const Target& target, const Step& step) {
  Decode decode(target, step);
  if (!TRY(decode.run())) return std::nullopt;
  return decode.take();
}

uint64_t partial_bytes(const Plan& plan, uint32_t pages, uint32_t lanes) {
  uint64_t most = candidate_bytes(plan, lanes);
  if (plan.key.t > kFewRows) return most;
  uint64_t all = 0;
  for (const Op& op : plan.ops) {
    const uint64_t bytes = partial_of(plan, op, pages);
    most = std::max(most, bytes);
    all += bytes;
  }
  return has_own_places(plan) ? std::max(most, all) : most;
}

}  // namespace brass::vulkan
