#version 460
// The `wanted` largest of a part of a row, in the order in which they stand there: what is not finite counts as largest, and
// of equal ones the first comes first (ChooseAttrs in graph/graph.h). A workgroup a part, of kEach values a thread. The
// first round reads logits, later ones what the parts of the round before have left, each a pair: number, bits. The last
// one has one part, and leaves the numbers as f32, then the logits.
//
// The smallest of those that stay is found digit by digit, from the highest on: counts of a digit among the values that
// begin as it does say which digit it has, and how many with that beginning are wanted. Counts are whole numbers, so the
// order in which they are added does not show.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "subgroups.glsl"
#include "vectors.glsl"
layout(constant_id = 2) const uint kFirst = 0;
layout(constant_id = 3) const uint kLast = 0;
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer WordsOut {
  uint v[];
};
layout(push_constant) uniform Push {
  uint64_t x, y;
  uint values, wanted;      // of a row
  uint x_stride, y_stride;  // in values (of logits a multiple of four), or pairs
} p;
const uint kEach = 8, kDigits = 256;
shared uint counts[kDigits], totals[kSubgroups];
shared uint found_digit, found_left;

// Words in the order of logits; 0: there is none. Whole numbers, so that no bit is lost on the way.
uint order_of(uint bits) {
  if ((bits & 0x7f800000u) == 0x7f800000u) return 0xffffffffu;
  if (bits == 0x80000000u) bits = 0;  // −0 is 0
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// Values [first, first + kEach) of a row, those from `end` on none.
void load(uint row, uint first, uint end, out uint numbers[kEach], out uint bits[kEach], out uint keys[kEach]) {
  if (kFirst != 0) {
    Quads logits = Quads(p.x + 4ul * row * p.x_stride);
    const uint last = (p.values - 1) / 4;
    [[unroll]] for (uint q = 0; q < kEach / 4; ++q) {
      const uvec4 four = logits.v[min(first / 4 + q, last)];
      [[unroll]] for (uint k = 0; k < 4; ++k) {
        numbers[4 * q + k] = first + 4 * q + k;
        bits[4 * q + k] = four[k];
      }
    }
  } else {
    Pairs left = Pairs(p.x + 8ul * row * p.x_stride);
    [[unroll]] for (uint j = 0; j < kEach; ++j) {
      const uvec2 pair = left.v[min(first + j, p.values - 1)];
      numbers[j] = pair.x;
      bits[j] = pair.y;
    }
  }
  [[unroll]] for (uint j = 0; j < kEach; ++j) keys[j] = first + j < end ? order_of(bits[j]) : 0;
}

void count_digits(uint keys[kEach], uint prefix, uint shift) {
  for (uint i = thread_index(); i < kDigits; i += kThreads) counts[i] = 0;
  barrier();
  [[unroll]] for (uint j = 0; j < kEach; ++j) {
    if (keys[j] == 0 || (shift < 24 && keys[j] >> (shift + 8) != prefix)) continue;
    atomicAdd(counts[keys[j] >> shift & (kDigits - 1)], 1);
  }
  barrier();
}

// The digit of number `left` from above, and its number among those of that digit.
void find_digit(uint left) {
  if (gl_SubgroupID == 0) {
    const uint run = kDigits / kLanes, top = kDigits - 1 - gl_SubgroupInvocationID * run;
    uint own = 0;
    for (uint i = 0; i < run; ++i) own += counts[top - i];
    uint above = subgroupExclusiveAdd(own);
    if (above < left && left <= above + own) {
      uint digit = top;
      for (; above + counts[digit] < left; --digit) above += counts[digit];
      found_digit = digit;
      found_left = left - above;
    }
  }
  barrier();
}

void put(uint row, uint at, uint number, uint bits) {
  if (kLast != 0) {
    WordsOut made = WordsOut(p.y + 4ul * row * p.y_stride);
    made.v[at] = floatBitsToUint(float(number));
    made.v[p.wanted + at] = bits;
  } else {
    PairsOut(p.y + 8ul * row * p.y_stride).v[gl_WorkGroupID.x * p.wanted + at] = uvec2(number, bits);
  }
}

void main() {
  const uint row = gl_WorkGroupID.y, begin = gl_WorkGroupID.x * kThreads * kEach;
  const uint end = min(begin + kThreads * kEach, p.values);
  uint numbers[kEach], bits[kEach], keys[kEach];
  load(row, begin + thread_index() * kEach, end, numbers, bits, keys);
  uint smallest = 0, left = min(p.wanted, end - begin);
  for (int shift = 24; shift >= 0; shift -= 8) {
    count_digits(keys, smallest, shift);
    find_digit(left);
    smallest = smallest << 8 | found_digit;
    left = found_left;
  }
  // Now `left` of those that are equal to the smallest stay. Running sums: of larger ones, and above the 16th bit of equal ones.
  uint own = 0;
  [[unroll]] for (uint j = 0; j < kEach; ++j)
    own += keys[j] > smallest ? 1 : keys[j] == smallest ? 0x10000u : 0;
  uint before = subgroupExclusiveAdd(own);
  if (gl_SubgroupInvocationID == kLanes - 1) totals[gl_SubgroupID] = before + own;
  barrier();
  for (uint i = 0; i < gl_SubgroupID; ++i) before += totals[i];
  uint larger = before & 0xffffu, equal = before >> 16;
  [[unroll]] for (uint j = 0; j < kEach; ++j) {
    const bool is_larger = keys[j] > smallest, is_equal = keys[j] == smallest;
    if (is_larger || (is_equal && equal < left)) put(row, larger + min(equal, left), numbers[j], bits[j]);
    larger += is_larger ? 1 : 0;
    equal += is_equal ? 1 : 0;
  }
}
