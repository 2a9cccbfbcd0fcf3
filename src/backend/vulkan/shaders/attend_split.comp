#version 460
// Attention of few rows, a split of positions at a time (attend.glsl): a workgroup takes the query heads of one key head, up
// to kHeads of them, over the pages of one split, so a key and a value are loaded once for all of them. A subgroup goes
// through its positions alone, kBatch times kAcross at a time, with the softmax's largest score so far; the next keys
// and values are under way while it sums. Subgroups meet at the end. A row that is alone in its step (kOne) brings its heads
// as the products made them: each workgroup norms and rotates its own queries, and the one with the row's page the key
// too, which it writes there beside the value.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#include "common.glsl"
#include "subgroups.glsl"
#include "attend.glsl"
#define OVERLAP_ID 18
#include "overlap.glsl"
layout(constant_id = 2) const uint kKeyType = 0;  // kv.glsl
layout(constant_id = 3) const uint kValueType = 0;
layout(constant_id = 4) const uint kKeyDim = 64;
layout(constant_id = 5) const uint kValueDim = 64;
layout(constant_id = 6) const uint kHeads = 1;    // a power of two
layout(constant_id = 7) const uint kGroup = 1;    // query heads that share keys
layout(constant_id = 8) const uint kKvHeads = 1;
layout(constant_id = 9) const uint kOne = 0;
layout(constant_id = 10) const uint kRotated = 0;  // kOne: of a head's dimensions
layout(constant_id = 11) const uint kNeox = 0;
layout(constant_id = 12) const uint kNorm = 0;     // 0: none, 1: before the rotation, 2: behind it
layout(constant_id = 13) const uint kUnit = 4;     // attend_units.glsl
layout(constant_id = 14) const uint kShare = 8;    // lanes that share a position: a power of two, kHeads at least
layout(constant_id = 15) const uint kBatch = 1;    // positions of those lanes that are under way together: a power of two
layout(constant_id = 16) const uint kSplits = 1;   // most of a row
layout(constant_id = 17) const uint kMerged = 1;   // heads whose sums meet in shared memory at once: divides kHeads
layout(push_constant) uniform Push {
  uint64_t q;
  Ints batch;  // sequences [T], positions [T], starts, pages: at the next ones
  uint64_t pool, partial;
  uint64_t k, v, q_gain, k_gain, table;  // kOne
  uint page_bytes, positions_starts_at, pages_at;  // starts · 65536 + positions
  uint groups_group;         // groups · 65536 + group
  uint k_at, v_at;           // bytes of the layer within a page
  uint window;
  float scale, softcap, temperature;
  uint temperature_length;
  uint q_stride_splits;      // q_stride / 16 + 65536 · splits that the partial results have room for
  float eps;
  uint after_counter;        // kOverlap: bytes from the counter to q
} p;
uint64_t counter() { return p.q - p.after_counter; }
#include "attend_units.glsl"
const uint kAcross = kLanes / kShare;             // positions that a subgroup loads at once
const uint kStep = kBatch * kAcross;              // positions of a subgroup that are under way together: divides a page
const uint kKeyUnits = kKeyDim / kUnit, kValueUnits = kValueDim / kUnit;
const uint kKeyTurns = (kKeyUnits + kShare - 1) / kShare, kValueTurns = (kValueUnits + kShare - 1) / kShare;
const uint kKeyFours = kKeyTurns * kHalvesOfUnit, kValueFours = kValueTurns * kHalvesOfUnit;  // of a lane
const uint kKeyQuads = kKeyDim / 4, kValueQuads = kValueDim / 4;
// Scores of a batch, [head][position], and how they lie once the lanes that share have summed them: each lane has kMine
// neighbours, all of one head; kCopies lanes have the same ones.
const uint kScores = kHeads * kBatch;
const uint kMine = kScores > kShare ? kScores / kShare : 1, kCopies = kScores > kShare ? 1 : kShare / kScores;
const uint kLanesOfHead = kShare / kHeads;
shared vec4 room[kSubgroups * kMerged * kValueQuads];  // sums of the subgroups
shared vec2 tops[kSubgroups * kHeads];                 // and their largest scores and weights
// Heads as the products made them (queries, then the key), their gains (queries', key's), the row's angles.
const uint kHeadValues = (kHeads + 1) * kKeyDim;
shared float head_values[kOne != 0 ? kHeadValues : 1];
shared float head_gains[kOne != 0 && kNorm != 0 ? 2 * kKeyDim : 1];
shared float angles[kOne != 0 && kRotated > 0 ? kRotated : 1];
// As they lie in a page (bits_of). Floats would not do: NVIDIA's compiler takes what is packed to halves and unpacked
// again for the float that it was.
shared uvec4 new_key[kOne != 0 ? kKeyQuads : 1], new_value[kOne != 0 ? kValueQuads : 1];
float gain_of(uint which, uint i) { return head_gains[which * kKeyDim + i]; }
float angle_of(uint i) { return angles[i]; }
#include "head_parts.glsl"

// What a row that is alone brings, thread by thread: nothing of it depends on where the row's pages lie.
const uint kHeadTurns = (kHeadValues + kThreads - 1) / kThreads, kGainTurns = (2 * kKeyDim + kThreads - 1) / kThreads,
           kAngleTurns = (kRotated + kThreads) / kThreads;
void load_brought(uint head, uint heads, uint kv_head, out float raw[kHeadTurns], out float gains[kGainTurns],
                  out float turns[kAngleTurns], out vec4 value) {
  const uint thread = thread_index();
  [[unroll]] for (uint j = 0; j < kHeadTurns; ++j) {
    const uint i = min(thread + j * kThreads, kHeadValues - 1);
    raw[j] = i < kHeads * kKeyDim ? Floats(p.q).v[head * kKeyDim + min(i, heads * kKeyDim - 1)]
                                      : Floats(p.k).v[kv_head * kKeyDim + i - kHeads * kKeyDim];
  }
  [[unroll]] for (uint j = 0; j < kGainTurns; ++j) {
    const uint i = min(thread + j * kThreads, 2 * kKeyDim - 1);
    const uint64_t gain = i < kKeyDim ? p.q_gain : p.k_gain;
    gains[j] = kNorm != 0 && gain != 0 ? Floats(gain).v[i % kKeyDim] : 1.0;
  }
  [[unroll]] for (uint j = 0; j < kAngleTurns; ++j)
    turns[j] = kRotated > 0 ? Floats(p.table).v[min(thread + j * kThreads, kRotated - 1)] : 0.0;
  value = Vectors(p.v).v[kv_head * kValueQuads + min(thread, kValueQuads - 1)];
}

// Queries, and the new key where it is wanted, from what the products made.
void make_heads(float raw[kHeadTurns], float gains[kGainTurns], float turns[kAngleTurns], uint heads, bool with_key) {
  const uint thread = thread_index();
  [[unroll]] for (uint j = 0; j < kHeadTurns; ++j) {
    if (thread + j * kThreads < kHeadValues) head_values[thread + j * kThreads] = raw[j];
  }
  [[unroll]] for (uint j = 0; j < kGainTurns; ++j) {
    if (kNorm != 0 && thread + j * kThreads < 2 * kKeyDim) head_gains[thread + j * kThreads] = gains[j];
  }
  [[unroll]] for (uint j = 0; j < kAngleTurns; ++j) {
    if (thread + j * kThreads < kRotated) angles[thread + j * kThreads] = turns[j];
  }
  barrier();
  for (uint first = 0; first <= kHeads; first += kSubgroups) {
    const uint h = first + gl_SubgroupID, which = h == kHeads ? 1 : 0;
    const bool mine = h < heads || (h == kHeads && with_key);
    if (kNorm == 1) norm_head(mine, h * kKeyDim, kKeyDim, which, p.eps);
    if (kRotated > 0) rotate_head(mine, h * kKeyDim, kRotated, kNeox != 0);
    if (kNorm == 2) norm_head(mine, h * kKeyDim, kKeyDim, which, p.eps);
  }
  barrier();
}
vec4 four_of_head(uint at) {
  return vec4(head_values[at], head_values[at + 1], head_values[at + 2], head_values[at + 3]);
}

// The new key and value as they will be read, and by one workgroup to the page.
void make_new(uint64_t page, uint slot, uint kv_head, vec4 value, bool writes) {
  const uint row = slot * kKvHeads + kv_head;
  for (uint i = thread_index(); i < kKeyQuads; i += kThreads) {
    Sizes sizes = no_sizes();
    if (kKeyType == kInt8)
      for (uint d = i / 8 * kScaled; d < min((i / 8 + 1) * kScaled, kKeyDim); ++d)
        see(sizes, head_values[kHeads * kKeyDim + d]);
    const uvec4 bits = bits_of(four_of_head(kHeads * kKeyDim + 4 * i), kKeyType, sizes);
    new_key[i] = bits;
    if (writes) write_four(page + p.k_at, kKvHeads, kKeyDim, row, i, kKeyType, bits);
  }
  for (uint i = thread_index(); i < kValueQuads; i += kThreads) {
    Sizes sizes = no_sizes();
    if (kValueType == kInt8)
      for (uint q = i / 8 * 8; q < min((i / 8 + 1) * 8, kValueQuads); ++q) {
        const vec4 x = Vectors(p.v).v[kv_head * kValueQuads + q];
        [[unroll]] for (uint j = 0; j < 4; ++j) see(sizes, x[j]);
      }
    const uvec4 bits = bits_of(i < kThreads ? value : Vectors(p.v).v[kv_head * kValueQuads + i], kValueType, sizes);
    new_value[i] = bits;
    if (writes) write_four(page + p.v_at, kKvHeads, kValueDim, row, i, kValueType, bits);
  }
}

// Where a batch of a subgroup's positions lies: `first` is its first one, and what the row does not see is some position
// that it does, whose weight will be 0.
uint position_of(uint first, uint b, uint begin, uint position) {
  return max(min(first + b * kAcross + gl_SubgroupInvocationID / kShare, position), begin);
}
#define LOAD_KEYS(page, first)                                                                                     \
  [[unroll]] for (uint b = 0; b < kBatch; ++b) {                                                                   \
    const uint row = position_of(first, b, seen.begin, position) % kPageTokens * kKvHeads + kv_head;               \
    [[unroll]] for (uint j = 0; j < kKeyTurns; ++j)                                                                \
      keys[b * kKeyTurns + j] =                                                                                    \
          load_unit(page + p.k_at, kKvHeads, kKeyDim, row, min(lane + j * kShare, kKeyUnits - 1), kKeyType);       \
  }
#define LOAD_VALUES(page, first)                                                                                   \
  [[unroll]] for (uint b = 0; b < kBatch; ++b) {                                                                   \
    const uint row = position_of(first, b, seen.begin, position) % kPageTokens * kKvHeads + kv_head;               \
    [[unroll]] for (uint j = 0; j < kValueTurns; ++j)                                                              \
      values[b * kValueTurns + j] =                                                                                \
          load_unit(page + p.v_at, kKvHeads, kValueDim, row, min(lane + j * kShare, kValueUnits - 1), kValueType); \
  }
// One step of the sum over the lanes that share: those with the bit keep the upper half of the scores that are left.
#define FOLD(step)                                                                                        \
  if ((kShare >> step) > 0) {                                                                             \
    const bool upper = (gl_SubgroupInvocationID & (kShare >> step)) != 0;                                 \
    [[unroll]] for (uint i = 0; i < (kScores >> step); ++i) {                                             \
      const float keep = upper ? scores[i + (kScores >> step)] : scores[i];                               \
      const float give = upper ? scores[i] : scores[i + (kScores >> step)];                               \
      scores[i] = keep + subgroupShuffleXor(give, kShare >> step);                                        \
    }                                                                                                     \
    if ((kScores >> step) == 0) scores[0] += subgroupShuffleXor(scores[0], kShare >> step);               \
  }

void attend() {
  const uint t = gl_WorkGroupID.z, split = gl_WorkGroupID.y, lane = gl_SubgroupInvocationID % kShare;
  const uint blocks = (kGroup + kHeads - 1) / kHeads;  // of query heads that share keys
  const uint kv_head = gl_WorkGroupID.x / blocks, first_head = gl_WorkGroupID.x % blocks * kHeads;
  const uint heads = min(kHeads, kGroup - first_head), head = kv_head * kGroup + first_head;
  const uint q_heads = kKvHeads * kGroup, q_stride = (p.q_stride_splits & 65535) * 16, splits = p.q_stride_splits >> 16;
  const uint groups = p.groups_group >> 16, group = p.groups_group & 65535, starts_at = p.positions_starts_at >> 16;
  // All that depends on nothing is loaded together; one after another these loads are most of what a few pages take.
  const int sequence = p.batch.v[t];
  const uint position = uint(p.batch.v[(p.positions_starts_at & 65535) + t]);
  uint start = uint(p.batch.v[starts_at + group]);  // of the first sequence, which is the usual one
  float raw[kHeadTurns], gains[kGainTurns], turns[kAngleTurns];
  vec4 brought;
  // A row that is alone reads no page that this step writes but where its own key and value go, which it takes from elsewhere.
  const bool early = kWaits && kOne != 0;
  if (!early) wait_for_input(counter());
  if (kOne != 0 && !early) load_brought(head, heads, kv_head, raw, gains, turns, brought);
  if (sequence < 0) {
    if (early) wait_for_input(counter());
    return;
  }
  const Seen seen = seen_by(position, p.window, kSplits);
  const uint first_page = seen.first + split * seen.pages_of_split;
  if (first_page >= seen.end) {
    if (early) wait_for_input(counter());
    return;
  }
  const uint end = min((first_page + seen.pages_of_split) * kPageTokens, position + 1);  // position
  if (sequence > 0) start = uint(p.batch.v[starts_at + uint(sequence) * groups + group]);
  const uint ids_at = p.pages_at + start, last_page = seen.end - 1;
#define PAGE(first) (p.pool + uint64_t(p.batch.v[ids_at + min((first) / kPageTokens, last_page)]) * p.page_bytes)

  // The first keys and values are under way while the heads are made.
  uint at = first_page * kPageTokens + gl_SubgroupID * kStep;
  uint64_t page = PAGE(at), next_page = PAGE(at + kSubgroups * kStep);
  uvec4 keys[kBatch * kKeyTurns], values[kBatch * kValueTurns];
  LOAD_KEYS(page, at)
  LOAD_VALUES(page, at)
  if (early) {
    wait_for_input(counter());
    load_brought(head, heads, kv_head, raw, gains, turns, brought);
  }

  float factor = p.scale;
  if (p.temperature != 0.0) factor *= 1.0 + p.temperature * log(1.0 + float(position / p.temperature_length));
  const bool has_new = kOne != 0 && end == position + 1;
  vec4 q[kHeads * kKeyFours];
  if (kOne != 0) {
    make_heads(raw, gains, turns, heads, has_new);
    if (has_new) {
      const uint64_t last = PAGE(position);
      make_new(last, position % kPageTokens, kv_head, brought, first_head == 0);
      barrier();
    }
  }
  [[unroll]] for (uint h = 0; h < kHeads; ++h) {
    [[unroll]] for (uint i = 0; i < kKeyFours; ++i) {
      const uint unit = lane + i / kHalvesOfUnit * kShare, quad = unit * kHalvesOfUnit + i % kHalvesOfUnit;
      q[h * kKeyFours + i] = vec4(0.0);
      if (h < heads && unit < kKeyUnits)
        q[h * kKeyFours + i] = kOne != 0 ? four_of_head(h * kKeyDim + 4 * quad)
                                         : Vectors(p.q + 4ul * (t * q_stride + (head + h) * kKeyDim)).v[quad];
    }
  }

  vec4 sums[kHeads * kValueFours];
  [[unroll]] for (uint i = 0; i < kHeads * kValueFours; ++i) sums[i] = vec4(0.0);
  float top = -kInfinity, total = 0.0;  // of this lane's head; of this lane's scores
  for (; at < end; at += kSubgroups * kStep) {
    const bool more = at + kSubgroups * kStep < end;
    if (has_new && at + kStep > position) {
      [[unroll]] for (uint b = 0; b < kBatch; ++b) {
        if (position_of(at, b, seen.begin, position) != position) continue;
        [[unroll]] for (uint j = 0; j < kKeyTurns; ++j) {
          const uint i = min(lane + j * kShare, kKeyUnits - 1) * kHalvesOfUnit;
          keys[b * kKeyTurns + j] = unit_of_fours(new_key[i], new_key[i + kHalvesOfUnit - 1], kKeyType);
        }
        [[unroll]] for (uint j = 0; j < kValueTurns; ++j) {
          const uint i = min(lane + j * kShare, kValueUnits - 1) * kHalvesOfUnit;
          values[b * kValueTurns + j] = unit_of_fours(new_value[i], new_value[i + kHalvesOfUnit - 1], kValueType);
        }
      }
    }
    float scores[kScores];
    [[unroll]] for (uint b = 0; b < kBatch; ++b) {
      [[unroll]] for (uint h = 0; h < kHeads; ++h) {
        float sum = 0.0;
        [[unroll]] for (uint j = 0; j < kKeyTurns; ++j) {
          float dot = 0.0;
          [[unroll]] for (uint f = 0; f < kHalvesOfUnit; ++f) {
            const vec4 key = four_of_unit(keys[b * kKeyTurns + j], f, kKeyType);
            const vec4 x = q[h * kKeyFours + j * kHalvesOfUnit + f];
            dot = fma(key.x, x.x, fma(key.y, x.y, fma(key.z, x.z, fma(key.w, x.w, dot))));
          }
          sum = fma(dot, scale_of_unit(keys[b * kKeyTurns + j], kKeyType), sum);
        }
        scores[h * kBatch + b] = sum;
      }
    }
    if (more) {
      page = next_page;
      LOAD_KEYS(page, at + kSubgroups * kStep)
      next_page = PAGE(at + 2 * kSubgroups * kStep);
    }
    FOLD(1)
    FOLD(2)
    FOLD(3)
    FOLD(4)
    FOLD(5)
    FOLD(6)

    // The softmax's weights; what is seen of a position beyond the row's is not.
    float largest = top;
    [[unroll]] for (uint i = 0; i < kMine; ++i) {
      const uint here = at + (lane / kCopies * kMine % kBatch + i) * kAcross + gl_SubgroupInvocationID / kShare;
      float score = scores[i] * factor;
      if (p.softcap != 0.0) score = p.softcap * tanh_of(score / p.softcap);
      scores[i] = here >= seen.begin && here <= position ? score : -kInfinity;
      largest = isnan(scores[i]) ? scores[i] : max(largest, scores[i]);
    }
    [[unroll]] for (uint w = kCopies; w < kLanesOfHead; w *= 2) largest = max(largest, subgroupShuffleXor(largest, w));
    [[unroll]] for (uint w = kShare; w < kLanes; w *= 2) largest = max(largest, subgroupShuffleXor(largest, w));
    const float shrink = top == largest ? 1.0 : exp(top - largest);
    top = largest;
    total *= shrink;
    [[unroll]] for (uint i = 0; i < kMine; ++i) {
      scores[i] = scores[i] == -kInfinity ? 0.0 : exp(scores[i] - top);
      total += scores[i];
    }
    const uint base = gl_SubgroupInvocationID - lane;  // of the lanes that share
    if (subgroupAny(shrink != 1.0)) {
      [[unroll]] for (uint h = 0; h < kHeads; ++h) {
        const float less = subgroupShuffle(shrink, base + h * kLanesOfHead);
        [[unroll]] for (uint i = 0; i < kValueFours; ++i) sums[h * kValueFours + i] *= less;
      }
    }
    [[unroll]] for (uint b = 0; b < kBatch; ++b) {
      [[unroll]] for (uint h = 0; h < kHeads; ++h) {
        const uint i = h * kBatch + b;
        const float weight = subgroupShuffle(scores[i % kMine], base + i / kMine * kCopies);
        [[unroll]] for (uint j = 0; j < kValueTurns; ++j) {
          const uvec4 bits = values[b * kValueTurns + j];
          const float scaled = kValueType == kInt8 ? weight * scale_of_unit(bits, kValueType) : weight;
          [[unroll]] for (uint f = 0; f < kHalvesOfUnit; ++f) {
            const uint s = h * kValueFours + j * kHalvesOfUnit + f;
            sums[s] = fma(vec4(scaled), four_of_unit(bits, f, kValueType), sums[s]);
          }
        }
      }
    }
    if (more) { LOAD_VALUES(page, at + kSubgroups * kStep) }
  }

  // All of the subgroup, then all subgroups. One that had no position has weights of 0.
  [[unroll]] for (uint w = kShare; w < kLanes; w *= 2) {
    [[unroll]] for (uint i = 0; i < kHeads * kValueFours; ++i) {
      [[unroll]] for (uint j = 0; j < 4; ++j) sums[i][j] += subgroupShuffleXor(sums[i][j], w);
    }
    total += subgroupShuffleXor(total, w);
  }
  [[unroll]] for (uint w = kCopies; w < kLanesOfHead; w *= 2) total += subgroupShuffleXor(total, w);
  if (gl_SubgroupInvocationID < kShare && lane % kLanesOfHead == 0)
    tops[gl_SubgroupID * kHeads + lane / kLanesOfHead] = vec2(top, total);
  [[unroll]] for (uint from = 0; from < kHeads; from += kMerged) {
    if (from > 0) barrier();
    if (gl_SubgroupInvocationID < kShare) {
      [[unroll]] for (uint h = 0; h < kMerged; ++h) {
        [[unroll]] for (uint i = 0; i < kValueFours; ++i) {
          const uint unit = lane + i / kHalvesOfUnit * kShare, quad = unit * kHalvesOfUnit + i % kHalvesOfUnit;
          if (unit < kValueUnits)
            room[(gl_SubgroupID * kMerged + h) * kValueQuads + quad] = sums[(from + h) * kValueFours + i];
        }
      }
    }
    barrier();
    for (uint i = thread_index(); i < kMerged * kValueQuads; i += kThreads) {
      const uint h = from + i / kValueQuads;
      if (h >= heads) break;
      float most = tops[h].x;
      [[unroll]] for (uint s = 1; s < kSubgroups; ++s) {
        const float other = tops[s * kHeads + h].x;
        most = isnan(other) ? other : max(most, other);
      }
      vec4 sum = vec4(0.0);
      float weights = 0.0;
      [[unroll]] for (uint s = 0; s < kSubgroups; ++s) {
        const vec2 other = tops[s * kHeads + h];
        const float less = other.x == most ? 1.0 : exp(other.x - most);
        sum = fma(vec4(less), room[s * kMerged * kValueQuads + i], sum);
        weights = fma(less, other.y, weights);
      }
      VectorsOut(partial_sums(p.partial, splits, q_heads, kValueDim, t, split, head + h)).v[i % kValueQuads] = sum;
      if (i % kValueQuads == 0)
        partial_head(p.partial, splits, q_heads, kValueDim, t, split, head + h).v[0] = vec2(most, weights);
    }
  }
}

void main() {
  attend();
  say_done(counter());
}
