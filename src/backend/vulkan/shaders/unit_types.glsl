// 32 values of a weight as int8 codes: value = scale · code − low, each of both for 16 values. The second 16 lie kApart
// sixteens behind the first, so that a unit is what lies together in the file's block. A format's own unit.glsl (src/quant)
// has kApart, Raw, load_unit and decode_unit: what is loaded early, and what is made of it late.
struct Unit {
  uvec4 first, second;  // codes
  vec2 scale, low;
};

// For formats with a fifth bit: four of them, one for each byte.
uvec4 fifth_bits(uint bits) { return ((uvec4(bits, bits >> 4, bits >> 8, bits >> 12) & 15u) * 0x00204081u & 0x01010101u) << 4; }

#include "unit.glsl"

// Of a row, counted in sixteens.
uint first_16(uint u) { return u / kApart * (2 * kApart) + u % kApart; }
uint second_16(uint u) { return first_16(u) + kApart; }
