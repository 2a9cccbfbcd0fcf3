#version 460
// Attention of many rows by the matrix unit: a workgroup is 64 rows of one sequence in one query head, a subgroup kTileM of
// them. Keys and values (f16, int8 made f16) go by kStep positions with a running softmax; where steps begin depends on positions alone, and a
// step in which a row sees nothing changes nothing of it, so its bits do not depend on its neighbours.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_vote : require
#include "common.glsl"
#include "matrix.glsl"
#include "kv.glsl"
layout(constant_id = 6) const uint kKeyDim = 128;
layout(constant_id = 7) const uint kValueDim = 128;
layout(constant_id = 8) const uint kKeyType = 1;  // kF16 or kInt8
layout(constant_id = 9) const uint kValueType = 1;
const uint kStep = 32, kRowsOfTile = 64;
const uint kKeyTiles = kKeyDim / kTileK, kValueTiles = kValueDim / kTileN, kStepTiles = kStep / kTileN;
const uint kKeyUnits = kKeyDim / 8, kValueUnits = kValueDim / 8;  // of a position
const uint kMostUnits = kKeyUnits > kValueUnits ? kKeyUnits : kValueUnits, kPitch = kMostUnits + 1;
const uint kScorePitch = kStep / 4 + 1;                        // of scores, then of weights in halves
const uint kScoreUnits = kTileM * kScorePitch;                 // of a subgroup
const uint kLoads = (kStep * kMostUnits + kThreads - 1) / kThreads;
const uint kRowLanes = kLanes / kTileM;                        // lanes that share a row
const uint kOwnKeys = kStep / kRowLanes;
layout(push_constant) uniform Push {
  Floats q, sinks;
  Output y;
  Ints batch;          // sequences [T], positions [T] and the last of what each row sees, tiles, starts, pages: at the next ones
  uint64_t pool;
  uint page_bytes, positions_at, tiles_at, starts_at, pages_at;
  uint groups_group;   // groups · 65536 + group
  uint k_at, v_at;
  uint q_heads, group_size;
  uint window;
  float scale, softcap, temperature;
  uint temperature_length, has_sinks;
  uint q_stride, y_stride, tiles;
} p;
shared uvec4 memory[kStep * kPitch];  // keys of a step, then its values
shared uvec4 scores[kSubgroups * kScoreUnits];
shared float kept[kRowsOfTile];     // of a row: what its sums are multiplied by; in the end what they are divided by
shared float q_factor[kRowsOfTile];

uint64_t page_at(uint table, uint position) {
  return p.pool + uint64_t(p.batch.v[table + position / kPageTokens]) * p.page_bytes;
}

// Eight neighbours of head h as they lie: halves; or codes, and their scale.
uvec4 unit_of(uint64_t part, uint heads, uint units, uint h, uint unit, uint type) {
  if (type == kInt8)
    return uvec4(Pairs(part).v[h * units + unit], floatBitsToUint(Floats(scales_at(part, heads, 8 * units, h)).v[unit / 4]), 0);
  return Units(part + uint64_t(h) * units * 16).v[unit];
}
uvec4 halves_of(uvec4 loaded, uint type) {
  if (type != kInt8) return loaded;
  uvec4 words;
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    const int codes = int(loaded[i / 2]) >> 16 * (i % 2);
    words[i] = packHalf2x16(uintBitsToFloat(loaded.z) * vec2(bitfieldExtract(codes, 0, 8), bitfieldExtract(codes, 8, 8)));
  }
  return words;
}

void main() {
  const uint thread = gl_LocalInvocationID.x, sub = gl_SubgroupID, lane = gl_SubgroupInvocationID;
  const uint head = gl_WorkGroupID.y, tile = p.tiles_at + 2 * (p.tiles - 1 - gl_WorkGroupID.x);  // the longest first
  const uint first = uint(p.batch.v[tile]), count = uint(p.batch.v[tile + 1]);
  const int sequence = p.batch.v[first];
  if (sequence < 0) {
    for (uint i = thread; i < count * kValueDim; i += kThreads)
      p.y.v[(first + i / kValueDim) * p.y_stride + head * kValueDim + i % kValueDim] = 0.0;
    return;
  }
  const uint groups = p.groups_group >> 16, group = p.groups_group & 65535;
  const uint heads = p.q_heads / p.group_size, kv_head = head / p.group_size;
  const uint table = p.pages_at + uint(p.batch.v[p.starts_at + uint(sequence) * groups + group]);

  // The row that this lane looks after, with kRowLanes − 1 others.
  const uint row = sub * kTileM + lane / kRowLanes, part = lane % kRowLanes;
  const uint t = first + min(row, count - 1);
  const uint position = uint(p.batch.v[p.positions_at + t]);
  const uint begin = p.window > 0 && position + 1 > p.window ? position + 1 - p.window : 0;
  float factor = p.scale;
  if (p.temperature != 0.0) factor *= 1.0 + p.temperature * log(1.0 + float(position / p.temperature_length));
  const uint first_position = uint(p.batch.v[p.positions_at + first]);
  const uint last_key = uint(p.batch.v[p.positions_at + first + count - 1]);
  const uint first_key = p.window > 0 && first_position + 1 > p.window ? first_position + 1 - p.window : 0;

  // Queries as tiles: halves, each row times a power of two as in to_halves.comp.
  const uint q_at = t * p.q_stride + head * kKeyDim;
  float largest = 0.0;
  for (uint d = part; d < kKeyDim; d += kRowLanes) largest = max(largest, abs(p.q.v[q_at + d]));
  scores[sub * kScoreUnits + lane] = uvec4(floatBitsToUint(largest), 0, 0, 0);
  meet_lanes();
  for (uint i = 0; i < kRowLanes; ++i)
    largest = max(largest, uintBitsToFloat(scores[sub * kScoreUnits + lane / kRowLanes * kRowLanes + i].x));
  meet_lanes();
  const int exponent = int(floatBitsToUint(largest) >> 23 & 255) - 127;
  const int n = exponent == 128 ? 0 : clamp(10 - exponent, -100, 100);
  if (part == 0) q_factor[row] = uintBitsToFloat(uint(127 + n) << 23);
  factor *= uintBitsToFloat(uint(127 - n) << 23);
  meet_lanes();
  MatrixA q[kKeyTiles];
  const uint q_units = kTileK / 8;
  [[unroll]] for (uint k = 0; k < kKeyTiles; ++k) {
    for (uint u = lane; u < kTileM * q_units; u += kLanes) {
      const uint r = sub * kTileM + u / q_units;
      const uint from = (first + min(r, count - 1)) * p.q_stride + head * kKeyDim + k * kTileK + u % q_units * 8;
      uvec4 words;
      for (uint i = 0; i < 4; ++i)
        words[i] = packHalf2x16(q_factor[r] * vec2(p.q.v[from + 2 * i], p.q.v[from + 2 * i + 1]));
      scores[sub * kScoreUnits + u] = words;
    }
    meet_lanes();
    coopMatLoad(q[k], scores, sub * kScoreUnits, q_units, gl_CooperativeMatrixLayoutRowMajor);
    meet_lanes();
  }

  float top = p.has_sinks != 0 ? p.sinks.v[head] : -kInfinity;
  float total = p.has_sinks != 0 ? 1.0 : 0.0;
  MatrixC sum[kValueTiles];
  [[unroll]] for (uint i = 0; i < kValueTiles; ++i) sum[i] = MatrixC(0.0);

  uvec4 loaded[kLoads];
// Positions key … of keys or values: values outside of what the rows see are zeros, for there may be anything. All are loaded, and
// chosen from afterwards: a load under a condition is waited for.
#define LOAD(key, at, units, type, all)                                                       \
  {                                                                                           \
    const uint64_t page = page_at(table, key) + at;                                           \
    [[unroll]] for (uint i = 0; i < kLoads; ++i) {                                            \
      const uint u = thread + i * kThreads, j = u / units, here = key + j;                    \
      const bool there = j < kStep && (all || (here >= first_key && here <= last_key));       \
      const uint h = (key % kPageTokens + min(j, kStep - 1)) * heads + kv_head;               \
      const uvec4 found = unit_of(page, heads, units, h, u % units, type);                    \
      loaded[i] = there ? found : uvec4(0);                                                   \
    }                                                                                         \
  }
#define STORE(units, type)                                                                         \
  [[unroll]] for (uint i = 0; i < kLoads; ++i) {                                                   \
    const uint u = thread + i * kThreads;                                                          \
    if (u < kStep * units) memory[u / units * kPitch + u % units] = halves_of(loaded[i], type);    \
  }
  const uint begin_key = first_key / kStep * kStep, last_step = last_key / kStep * kStep;
  LOAD(begin_key, p.k_at, kKeyUnits, kKeyType, true)
  for (uint key = begin_key; key <= last_key; key += kStep) {
    STORE(kKeyUnits, kKeyType)
    LOAD(key, p.v_at, kValueUnits, kValueType, false)
    barrier();
    {
      [[unroll]] for (uint j = 0; j < kStepTiles; ++j) {
        MatrixC s = MatrixC(0.0);
        [[unroll]] for (uint k = 0; k < kKeyTiles; ++k) {
          MatrixB b;
          coopMatLoad(b, memory, j * kTileN * kPitch + k * kTileK / 8, kPitch, gl_CooperativeMatrixLayoutColumnMajor);
          s = coopMatMulAdd(q[k], b, s);
        }
        coopMatStore(s, scores, sub * kScoreUnits + j * kTileN / 4, kScorePitch, gl_CooperativeMatrixLayoutRowMajor);
      }
      meet_lanes();
      const uint mine = sub * kScoreUnits + lane / kRowLanes * kScorePitch;
      float s[kOwnKeys], highest = -kInfinity;
      [[unroll]] for (uint i = 0; i < kOwnKeys; ++i) {
        const uint at = part * kOwnKeys + i, here = key + at;
        float x = uintBitsToFloat(scores[mine + at / 4][at % 4]) * factor;
        if (p.softcap != 0.0) x = p.softcap * tanh_of(x / p.softcap);
        s[i] = here >= begin && here <= position ? x : -kInfinity;
        highest = isnan(s[i]) ? s[i] : max(highest, s[i]);
      }
      meet_lanes();
      // What the row's other lanes found, by way of the padding at its end.
      const uint end = mine + kScorePitch - 1;
      scores[end][part % 4] = floatBitsToUint(highest);
      meet_lanes();
      for (uint i = 0; i < kRowLanes; ++i) {
        const float other = uintBitsToFloat(scores[end][i]);
        highest = isnan(other) ? other : max(highest, other);
      }
      highest = isnan(highest) ? highest : max(top, highest);
      const float keep = highest == -kInfinity ? 1.0 : exp(top - highest);
      top = highest;
      float added = 0.0;
      [[unroll]] for (uint i = 0; i < kOwnKeys; i += 8) {
        uvec4 words;
        [[unroll]] for (uint w = 0; w < 4; ++w) {
          const float a = s[i + 2 * w], b = s[i + 2 * w + 1];
          const vec2 two = vec2(a == -kInfinity ? 0.0 : exp(a - highest), b == -kInfinity ? 0.0 : exp(b - highest));
          added += two.x + two.y;
          words[w] = packHalf2x16(two);
        }
        scores[mine + (part * kOwnKeys + i) / 8] = words;
      }
      meet_lanes();
      scores[end][part % 4] = floatBitsToUint(added);
      if (part == 0) kept[row] = keep;
      meet_lanes();
      added = 0.0;
      for (uint i = 0; i < kRowLanes; ++i) added += uintBitsToFloat(scores[end][i]);
      total = total * keep + added;
      if (!subgroupAll(keep == 1.0)) {
        MatrixC by_row;
        coopMatLoad(by_row, kept, sub * kTileM, 0, gl_CooperativeMatrixLayoutColumnMajor);
        [[unroll]] for (uint i = 0; i < kValueTiles; ++i) sum[i] = sum[i] * by_row;
      }
    }
    barrier();
    STORE(kValueUnits, kValueType)
    const uint after = min(key + kStep, last_step);
    LOAD(after, p.k_at, kKeyUnits, kKeyType, true)
    barrier();
    {
      [[unroll]] for (uint k = 0; k < kStep / kTileK; ++k) {
        MatrixA weights;
        coopMatLoad(weights, scores, sub * kScoreUnits + k * kTileK / 8, kScorePitch, gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint i = 0; i < kValueTiles; ++i) {
          MatrixB v;
          coopMatLoad(v, memory, k * kTileK * kPitch + i * kTileN / 8, kPitch, gl_CooperativeMatrixLayoutRowMajor);
          sum[i] = coopMatMulAdd(weights, v, sum[i]);
        }
      }
    }
    barrier();
  }

  if (part == 0) kept[row] = total;
  meet_lanes();
  const uint mine = sub * kScoreUnits, row_units = kTileN / 4;
  [[unroll]] for (uint i = 0; i < kValueTiles; ++i) {
    coopMatStore(sum[i], scores, mine, row_units, gl_CooperativeMatrixLayoutRowMajor);
    meet_lanes();
    for (uint u = lane; u < kTileM * row_units; u += kLanes) {
      const uint r = sub * kTileM + u / row_units;
      if (r >= count) continue;
      const uint at = (first + r) * p.y_stride + head * kValueDim + i * kTileN + u % row_units * 4;
      Fours(uint64_t(p.y)).v[at / 4] = uintBitsToFloat(scores[mine + u]) / kept[r];
    }
    meet_lanes();
  }
}
