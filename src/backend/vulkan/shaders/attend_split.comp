#version 460
// Attention of few rows, a page of positions at a time: a workgroup takes the query heads of one key head, up to kHeads of
// them, over one page, and leaves their sums without the softmax's denominator (attend.glsl). Pages are fixed places, so
// the bits of a row depend on nothing but its own positions. A row that is alone in its step (kOne) brings its heads as the
// products made them: each workgroup norms and rotates its own queries, and the one with the row's page the key too, which
// it writes there beside the value.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "subgroups.glsl"
#include "attend.glsl"
layout(constant_id = 2) const uint kKeyType = 0;  // kv.glsl
layout(constant_id = 3) const uint kValueType = 0;
layout(constant_id = 4) const uint kKeyDim = 64;
layout(constant_id = 5) const uint kValueDim = 64;
layout(constant_id = 6) const uint kHeads = 1;
layout(constant_id = 7) const uint kGroup = 1;    // query heads that share keys
layout(constant_id = 8) const uint kKvHeads = 1;
layout(constant_id = 9) const uint kOne = 0;
layout(constant_id = 10) const uint kRotated = 0;  // kOne: of a head's dimensions
layout(constant_id = 11) const uint kNeox = 0;
layout(constant_id = 12) const uint kNorm = 0;     // 0: none, 1: before the rotation, 2: behind it
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
  uint temperature_length, q_stride, pages;  // pages: that the partial results have room for
  float eps;
} p;
const uint kKeyParts = kThreads / kPageTokens;   // threads that share a position's key
const uint kKeyQuads = kKeyDim / 4;
const uint kValueQuads = kValueDim / 4;
const uint kSlices = kThreads / kValueQuads;     // of positions, summed apart
const uint kKeyTurns = (kKeyQuads + kKeyParts - 1) / kKeyParts, kValueTurns = (kPageTokens + kSlices - 1) / kSlices;
const uint kTogether = 8;                        // loads of a thread that are under way together
// Queries, and later, in their place, the slices of the weighted values.
const uint kQueryRoom = kHeads * kKeyQuads, kSliceRoom = kSlices * kHeads * kValueQuads;
shared vec4 room[kQueryRoom > kSliceRoom ? kQueryRoom : kSliceRoom];
shared float dots[kKeyParts * kHeads * kPageTokens];
shared float weight[kHeads * kPageTokens];
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
    const uvec4 bits = bits_of(value, kValueType, sizes);
    new_value[i] = bits;
    if (writes) write_four(page + p.v_at, kKvHeads, kValueDim, row, i, kValueType, bits);
  }
}

void load_keys(uint64_t at, uint row, uint part, uint from, out uvec4 keys[kTogether]) {
  [[unroll]] for (uint j = 0; j < kTogether; ++j)
    keys[j] = load_four(at, kKvHeads, kKeyDim, row, min(part + (from + j) * kKeyParts, kKeyQuads - 1), kKeyType);
}
void load_values(uint64_t at, uint kv_head, uint slice, uint quad, uint from, out uvec4 values[kTogether]) {
  [[unroll]] for (uint j = 0; j < kTogether; ++j) {
    const uint row = min(slice + (from + j) * kSlices, kPageTokens - 1) * kKvHeads + kv_head;
    values[j] = load_four(at, kKvHeads, kValueDim, row, quad, kValueType);
  }
}

void main() {
  const uint t = gl_WorkGroupID.z, page = gl_WorkGroupID.y, thread = thread_index();
  const uint blocks = (kGroup + kHeads - 1) / kHeads;  // of query heads that share keys
  const uint kv_head = gl_WorkGroupID.x / blocks, first_head = gl_WorkGroupID.x % blocks * kHeads;
  const uint heads = min(kHeads, kGroup - first_head), head = kv_head * kGroup + first_head;
  const uint q_heads = kKvHeads * kGroup;
  const uint groups = p.groups_group >> 16, group = p.groups_group & 65535, starts_at = p.positions_starts_at >> 16;
  // All that depends on nothing is loaded together; one after another these loads are most of what a page takes.
  const int sequence = p.batch.v[t];
  const uint position = uint(p.batch.v[(p.positions_starts_at & 65535) + t]);
  uint start = uint(p.batch.v[starts_at + group]);  // of the first sequence, which is the usual one
  float raw[kHeadTurns], gains[kGainTurns], turns[kAngleTurns];
  vec4 value;
  if (kOne != 0) load_brought(head, heads, kv_head, raw, gains, turns, value);
  if (sequence < 0) return;
  const uint begin = p.window > 0 && position + 1 > p.window ? position + 1 - p.window : 0;
  if (page < begin / kPageTokens || page > position / kPageTokens) return;
  if (sequence > 0) start = uint(p.batch.v[starts_at + uint(sequence) * groups + group]);
  const uint64_t at = p.pool + uint64_t(p.batch.v[p.pages_at + start + page]) * p.page_bytes;
  const bool has_new = kOne != 0 && page == position / kPageTokens;
  const uint new_slot = has_new ? position % kPageTokens : kPageTokens;

  // The first keys and values are under way while the heads are made. What lies at positions that the row does not see is
  // not used. Neighbours share a position's key.
  const uint slot = thread / kKeyParts, part = thread % kKeyParts;
  const uint key_row = slot * kKvHeads + kv_head;
  const uint slice = min(thread / kValueQuads, kSlices - 1), quad = thread % kValueQuads;
  uvec4 keys[kTogether], values[kTogether];
  load_keys(at + p.k_at, key_row, part, 0, keys);
  load_values(at + p.v_at, kv_head, slice, quad, 0, values);

  float factor = p.scale;
  if (p.temperature != 0.0) factor *= 1.0 + p.temperature * log(1.0 + float(position / p.temperature_length));
  if (kOne != 0) {
    make_heads(raw, gains, turns, heads, has_new);
    if (has_new) make_new(at, new_slot, kv_head, value, first_head == 0);
  }
  for (uint i = thread; i < kHeads * kKeyQuads; i += kThreads) {
    room[i] = vec4(0.0);
    if (i < heads * kKeyQuads)
      room[i] = kOne != 0 ? four_of_head(4 * i) : Vectors(p.q + 4ul * (t * p.q_stride + head * kKeyDim)).v[i];
  }
  barrier();

  // Scores: a thread takes every kKeyParts-th four dimensions of one position's key.
  {
    const uint here = page * kPageTokens + slot;
    float sum[kHeads];
    [[unroll]] for (uint h = 0; h < kHeads; ++h) sum[h] = 0.0;
    for (uint from = 0; from < kKeyTurns; from += kTogether) {
      if (from > 0) load_keys(at + p.k_at, key_row, part, from, keys);
      [[unroll]] for (uint j = 0; j < kTogether; ++j) {
        const uint i = part + (from + j) * kKeyParts;
        if (i >= kKeyQuads) break;
        if (kOne != 0 && slot == new_slot) keys[j] = new_key[i];
        const vec4 key = four_of(keys[j], kKeyType);
        [[unroll]] for (uint h = 0; h < kHeads; ++h) {
          const vec4 q = room[h * kKeyQuads + i];
          sum[h] = fma(key.x, q.x, fma(key.y, q.y, fma(key.z, q.z, fma(key.w, q.w, sum[h]))));
        }
      }
    }
    [[unroll]] for (uint h = 0; h < kHeads; ++h)
      dots[(part * kHeads + h) * kPageTokens + slot] = sum[h];
  }
  barrier();

  // The softmax's weights, a subgroup a head.
  for (uint h = gl_SubgroupID; h < heads; h += kSubgroups) {
    float score[kPageTokens / kLanes], largest = -kInfinity;
    for (uint i = 0; i < kPageTokens / kLanes; ++i) {
      const uint at_slot = i * kLanes + gl_SubgroupInvocationID, here = page * kPageTokens + at_slot;
      score[i] = -kInfinity;
      if (here >= begin && here <= position) {
        float dot = 0.0;
        for (uint other = 0; other < kKeyParts; ++other) dot += dots[(other * kHeads + h) * kPageTokens + at_slot];
        score[i] = dot * factor;
        if (p.softcap != 0.0) score[i] = p.softcap * tanh_of(score[i] / p.softcap);
      }
      largest = isnan(score[i]) ? score[i] : max(largest, score[i]);
    }
    const float top = subgroupMax(largest);
    float mine = 0.0;
    for (uint i = 0; i < kPageTokens / kLanes; ++i) {
      const float w = score[i] == -kInfinity ? 0.0 : exp(score[i] - top);
      weight[h * kPageTokens + i * kLanes + gl_SubgroupInvocationID] = w;
      mine += w;
    }
    const float total = subgroupAdd(mine);
    if (gl_SubgroupInvocationID == 0)
      partial_head(p.partial, p.pages, q_heads, kValueDim, t, page, head + h).v[0] = vec2(top, total);
  }
  barrier();

  // Sums of values: a thread takes four dimensions of every kSlices-th position.
  if (thread < kSlices * kValueQuads) {
    vec4 sum[kHeads];
    [[unroll]] for (uint h = 0; h < kHeads; ++h) sum[h] = vec4(0.0);
    for (uint from = 0; from < kValueTurns; from += kTogether) {
      if (from > 0) load_values(at + p.v_at, kv_head, slice, quad, from, values);
      [[unroll]] for (uint j = 0; j < kTogether; ++j) {
        const uint other = slice + (from + j) * kSlices, here = page * kPageTokens + other;
        if (kOne != 0 && other == new_slot) values[j] = new_value[quad];
        const vec4 value = four_of(values[j], kValueType);
        // What lies where nothing is seen may be no number: it is left out, not weighed with 0.
        if (other < kPageTokens && here >= begin && here <= position) {
          [[unroll]] for (uint h = 0; h < kHeads; ++h)
            sum[h] = fma(vec4(weight[h * kPageTokens + other]), value, sum[h]);
        }
      }
    }
    for (uint h = 0; h < kHeads; ++h) room[(slice * kHeads + h) * kValueQuads + quad] = sum[h];
  }
  barrier();
  for (uint i = thread; i < heads * kValueQuads; i += kThreads) {
    vec4 sum = room[i];
    for (uint s = 1; s < kSlices; ++s) sum += room[s * kHeads * kValueQuads + i];
    const uint h = i / kValueQuads;
    VectorsOut(partial_sums(p.partial, p.pages, q_heads, kValueDim, t, page, head + h)).v[i % kValueQuads] = sum;
  }
}
