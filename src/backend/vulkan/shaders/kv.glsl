// How a head's keys or values lie in a page, by type: f32, f16 or bf16, [64][heads][dim]; or int8 codes in the same order and
// behind them, for each position and head, a scale (f32) for every 32 values and for what is left.
#ifndef KV_GLSL
#define KV_GLSL
#include "vectors.glsl"
const uint kF32 = 0, kF16 = 1, kBF16 = 2, kInt8 = 3;  // KvType of graph/kv_type.h, in its order
const uint kPageTokens = 64, kScaled = 32;
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Halves {
  uint16_t v[];
};
layout(buffer_reference, std430, buffer_reference_align = 1) buffer Codes {
  uint8_t v[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer KvWords {
  uint v[];
};

uint bf16_of(float x) {
  const uint u = floatBitsToUint(x);
  return (u & 0x7fffffff) > 0x7f800000 ? u >> 16 | 64 : u + 0x7fff + (u >> 16 & 1) >> 16;
}
float of_bf16(uint bits) { return uintBitsToFloat(bits << 16); }

// The scale of up to 32 values: what is not finite stays so, codes of 0 under a scale of NaN.
struct Sizes {
  float largest;
  bool finite;
};
Sizes no_sizes() { return Sizes(0.0, true); }
void see(inout Sizes sizes, float x) {
  sizes.largest = max(sizes.largest, abs(x));
  sizes.finite = sizes.finite && abs(x) < kInfinity;
}
float kv_scale(Sizes sizes) {
  precise const float scale = sizes.largest / 127.0;
  return sizes.finite ? scale : uintBitsToFloat(0x7fc00000u);
}
int kv_code(Sizes sizes, float x) {
  if (!sizes.finite || x == 0.0) return 0;
  precise const float inverse = 127.0 / sizes.largest, scaled = x * inverse;
  return int(clamp(roundEven(scaled), -127.0, 127.0));
}

uint scales_of_head(uint dim) { return (dim + kScaled - 1) / kScaled; }
// Of head h = position % 64 · heads + head of `part`, a layer's keys or values in a page: the address of its scales.
uint64_t scales_at(uint64_t part, uint heads, uint dim, uint h) {
  return part + uint64_t(kPageTokens * heads * dim) + uint64_t(4) * (h * scales_of_head(dim));
}

float read_value(uint64_t part, uint heads, uint dim, uint h, uint d, uint type) {
  const uint at = h * dim + d;
  switch (type) {
    case kF16:
      return unpackHalf2x16(uint(Halves(part).v[at])).x;
    case kBF16:
      return of_bf16(uint(Halves(part).v[at]));
    case kInt8:
      return float(int(int8_t(Codes(part).v[at]))) * Floats(scales_at(part, heads, dim, h)).v[d / kScaled];
  }
  return Floats(part).v[at];
}
// `sizes`: of the values that share x's scale (int8).
void write_value(uint64_t part, uint heads, uint dim, uint h, uint d, uint type, float x, Sizes sizes) {
  const uint at = h * dim + d;
  switch (type) {
    case kF16:
      Halves(part).v[at] = uint16_t(packHalf2x16(vec2(x, 0.0)));
      break;
    case kBF16:
      Halves(part).v[at] = uint16_t(bf16_of(x));
      break;
    case kInt8:
      Codes(part).v[at] = uint8_t(kv_code(sizes, x) & 255);
      if (d % kScaled == 0) Output(scales_at(part, heads, dim, h)).v[d / kScaled] = kv_scale(sizes);
      break;
    default:
      Output(part).v[at] = x;
  }
}
#endif
