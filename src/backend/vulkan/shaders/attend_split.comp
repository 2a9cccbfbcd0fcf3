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
layout(constant_id = 2) const uint kKeyHalf = 0;  // f16, else f32
layout(constant_id = 3) const uint kValueHalf = 0;
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
shared vec4 query[kHeads * kKeyQuads];
shared float dots[kKeyParts * kHeads * kPageTokens];
shared float weight[kHeads * kPageTokens];
shared vec4 slices[kSlices * kHeads * kValueQuads];
shared float head_values[kOne != 0 ? (kHeads + 1) * kKeyDim : 1];
// As they lie in a page (halves in .xy). Floats would not do: NVIDIA's compiler takes what is packed to halves and unpacked
// again for the float that it was.
shared uvec4 new_key[kOne != 0 ? kKeyQuads : 1], new_value[kOne != 0 ? kValueQuads : 1];
#include "head_parts.glsl"

uvec4 bits_of(vec4 x, uint is_half) {
  return is_half == 0 ? floatBitsToUint(x) : uvec4(packHalf2x16(x.xy), packHalf2x16(x.zw), 0, 0);
}
vec4 four_of(uvec4 bits, uint is_half) {
  return is_half == 0 ? uintBitsToFloat(bits) : vec4(unpackHalf2x16(bits.x), unpackHalf2x16(bits.y));
}
void write_four(uint64_t at, uint i, uint is_half, uvec4 bits) {
  if (is_half == 0) {
    VectorsOut(at).v[i] = uintBitsToFloat(bits);
  } else {
    PairsOut(at).v[i] = bits.xy;
  }
}

// Queries, and the new key where it is wanted, from what the products made.
void make_heads(uint head, uint heads, uint kv_head, bool with_key) {
  const uint thread = thread_index();
  for (uint i = thread; i < heads * kKeyDim; i += kThreads) head_values[i] = Floats(p.q).v[head * kKeyDim + i];
  if (with_key)
    for (uint i = thread; i < kKeyDim; i += kThreads)
      head_values[kHeads * kKeyDim + i] = Floats(p.k).v[kv_head * kKeyDim + i];
  barrier();
  for (uint h = gl_SubgroupID; h <= kHeads; h += kSubgroups) {
    if (h == kHeads ? !with_key : h >= heads) continue;
    const uint64_t gain = h == kHeads ? p.k_gain : p.q_gain;
    if (kNorm == 1) norm_head(h * kKeyDim, kKeyDim, gain, p.eps);
    if (kRotated > 0) rotate_head(h * kKeyDim, kRotated, kNeox != 0, p.table);
    if (kNorm == 2) norm_head(h * kKeyDim, kKeyDim, gain, p.eps);
  }
  barrier();
}
vec4 four_of_head(uint at) {
  return vec4(head_values[at], head_values[at + 1], head_values[at + 2], head_values[at + 3]);
}

// The new key and value as they will be read, and by one workgroup to the page.
void make_new(uint64_t page, uint slot, uint kv_head, bool writes) {
  const uint row = slot * kKvHeads + kv_head;
  for (uint i = thread_index(); i < kKeyQuads; i += kThreads) {
    const uvec4 bits = bits_of(four_of_head(kHeads * kKeyDim + 4 * i), kKeyHalf);
    new_key[i] = bits;
    if (writes) write_four(page + p.k_at, row * kKeyQuads + i, kKeyHalf, bits);
  }
  for (uint i = thread_index(); i < kValueQuads; i += kThreads) {
    const uvec4 bits = bits_of(Vectors(p.v).v[kv_head * kValueQuads + i], kValueHalf);
    new_value[i] = bits;
    if (writes) write_four(page + p.v_at, row * kValueQuads + i, kValueHalf, bits);
  }
}

void load_keys(uint64_t at, uint row, uint part, uint from, out vec4 keys[kTogether]) {
  [[unroll]] for (uint j = 0; j < kTogether; ++j)
    keys[j] = four_values(at, row + min(part + (from + j) * kKeyParts, kKeyQuads - 1), kKeyHalf);
}

void main() {
  const uint t = gl_WorkGroupID.z, page = gl_WorkGroupID.y, thread = thread_index();
  const int sequence = p.batch.v[t];
  const uint position = uint(p.batch.v[(p.positions_starts_at & 65535) + t]);
  if (sequence < 0) return;
  const uint begin = p.window > 0 && position + 1 > p.window ? position + 1 - p.window : 0;
  if (page < begin / kPageTokens || page > position / kPageTokens) return;
  const uint blocks = (kGroup + kHeads - 1) / kHeads;  // of query heads that share keys
  const uint kv_head = gl_WorkGroupID.x / blocks, first_head = gl_WorkGroupID.x % blocks * kHeads;
  const uint heads = min(kHeads, kGroup - first_head), head = kv_head * kGroup + first_head;
  const uint q_heads = kKvHeads * kGroup;
  const uint groups = p.groups_group >> 16, group = p.groups_group & 65535;
  const uint table =
      p.pages_at + uint(p.batch.v[(p.positions_starts_at >> 16) + uint(sequence) * groups + group]);
  const uint64_t at = p.pool + uint64_t(p.batch.v[table + page]) * p.page_bytes;
  const bool has_new = kOne != 0 && page == position / kPageTokens;
  const uint new_slot = has_new ? position % kPageTokens : kPageTokens;

  // The first keys are under way while the heads are made. What lies at positions that the row does not see is not used.
  const uint slot = thread % kPageTokens, part = thread / kPageTokens;
  const uint key_row = (slot * kKvHeads + kv_head) * kKeyQuads;
  vec4 keys[kTogether];
  load_keys(at + p.k_at, key_row, part, 0, keys);

  float factor = p.scale;
  if (p.temperature != 0.0) factor *= 1.0 + p.temperature * log(1.0 + float(position / p.temperature_length));
  if (kOne != 0) {
    make_heads(head, heads, kv_head, has_new);
    if (has_new) make_new(at, new_slot, kv_head, first_head == 0);
  }
  for (uint i = thread; i < kHeads * kKeyQuads; i += kThreads) {
    query[i] = vec4(0.0);
    if (i < heads * kKeyQuads)
      query[i] = kOne != 0 ? four_of_head(4 * i) : Vectors(p.q + 4ul * (t * p.q_stride + head * kKeyDim)).v[i];
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
        if (kOne != 0 && slot == new_slot) keys[j] = four_of(new_key[min(i, kKeyQuads - 1)], kKeyHalf);
        if (i >= kKeyQuads) break;
        [[unroll]] for (uint h = 0; h < kHeads; ++h) {
          const vec4 q = query[h * kKeyQuads + i];
          sum[h] = fma(keys[j].x, q.x, fma(keys[j].y, q.y, fma(keys[j].z, q.z, fma(keys[j].w, q.w, sum[h]))));
        }
      }
    }
    for (uint h = 0; h < kHeads; ++h) dots[(part * kHeads + h) * kPageTokens + slot] = sum[h];
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
    const uint slice = thread / kValueQuads, quad = thread % kValueQuads;
    vec4 sum[kHeads], values[kTogether];
    [[unroll]] for (uint h = 0; h < kHeads; ++h) sum[h] = vec4(0.0);
    for (uint from = 0; from < kValueTurns; from += kTogether) {
      [[unroll]] for (uint j = 0; j < kTogether; ++j) {
        const uint row = min(slice + (from + j) * kSlices, kPageTokens - 1) * kKvHeads + kv_head;
        values[j] = four_values(at + p.v_at, row * kValueQuads + quad, kValueHalf);
      }
      [[unroll]] for (uint j = 0; j < kTogether; ++j) {
        const uint other = slice + (from + j) * kSlices, here = page * kPageTokens + other;
        if (kOne != 0 && other == new_slot) values[j] = four_of(new_value[quad], kValueHalf);
        // What lies where nothing is seen may be no number: it is left out, not weighed with 0.
        if (other < kPageTokens && here >= begin && here <= position) {
          [[unroll]] for (uint h = 0; h < kHeads; ++h)
            sum[h] = fma(vec4(weight[h * kPageTokens + other]), values[j], sum[h]);
        }
      }
    }
    for (uint h = 0; h < kHeads; ++h) slices[(slice * kHeads + h) * kValueQuads + quad] = sum[h];
  }
  barrier();
  for (uint i = thread; i < heads * kValueQuads; i += kThreads) {
    vec4 sum = slices[i];
    for (uint s = 1; s < kSlices; ++s) sum += slices[s * kHeads * kValueQuads + i];
    const uint h = i / kValueQuads;
    VectorsOut(partial_sums(p.partial, p.pages, q_heads, kValueDim, t, page, head + h)).v[i % kValueQuads] = sum;
  }
}
