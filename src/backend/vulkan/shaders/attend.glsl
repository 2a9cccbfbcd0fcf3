// Partial results of attention over one page each, [row][page][query head]: v_dim sums of weighted values, the largest
// score, Σ of the weights, and room for two.
#include "kv.glsl"
layout(buffer_reference, std430, buffer_reference_align = 8) buffer PartialHeads {
  vec2 v[];
};

uint64_t partial_sums(uint64_t partial, uint pages, uint heads, uint dim, uint t, uint page, uint head) {
  return partial + uint64_t((t * pages + page) * heads + head) * (4 * (dim + 4));
}
PartialHeads partial_head(uint64_t partial, uint pages, uint heads, uint dim, uint t, uint page, uint head) {
  return PartialHeads(partial_sums(partial, pages, heads, dim, t, page, head) + 4 * dim);
}
// Four neighbours among a head's keys or values, as bits: f32; two words of halves; or a word of codes, and their scale.
uvec4 bits_of(vec4 x, uint type, Sizes sizes) {
  switch (type) {
    case kF16:
      return uvec4(packHalf2x16(x.xy), packHalf2x16(x.zw), 0, 0);
    case kBF16:
      return uvec4(bf16_of(x.x) | bf16_of(x.y) << 16, bf16_of(x.z) | bf16_of(x.w) << 16, 0, 0);
    case kInt8: {
      uint codes = 0;
      [[unroll]] for (uint i = 0; i < 4; ++i) codes |= uint(kv_code(sizes, x[i]) & 255) << 8 * i;
      return uvec4(codes, floatBitsToUint(kv_scale(sizes)), 0, 0);
    }
  }
  return floatBitsToUint(x);
}
vec4 four_of(uvec4 bits, uint type) {
  switch (type) {
    case kF16:
      return vec4(unpackHalf2x16(bits.x), unpackHalf2x16(bits.y));
    case kBF16:
      return uintBitsToFloat(uvec4(bits.x << 16, bits.x & 0xffff0000u, bits.y << 16, bits.y & 0xffff0000u));
    case kInt8: {
      const int codes = int(bits.x);
      return uintBitsToFloat(bits.y) * vec4(bitfieldExtract(codes, 0, 8), bitfieldExtract(codes, 8, 8),
                                            bitfieldExtract(codes, 16, 8), bitfieldExtract(codes, 24, 8));
    }
  }
  return uintBitsToFloat(bits);
}
// Values 4 i … 4 i + 3 of head h (kv.glsl) as they lie there: what is made of them waits for them.
uvec4 load_four(uint64_t part, uint heads, uint dim, uint h, uint i, uint type) {
  const uint at = h * (dim / 4) + i;
  switch (type) {
    case kF16:
    case kBF16:
      return uvec4(Pairs(part).v[at], 0, 0);
    case kInt8:
      return uvec4(KvWords(part).v[at], KvWords(scales_at(part, heads, dim, h)).v[i / 8], 0, 0);
  }
  return floatBitsToUint(Vectors(part).v[at]);
}
void write_four(uint64_t part, uint heads, uint dim, uint h, uint i, uint type, uvec4 bits) {
  const uint at = h * (dim / 4) + i;
  switch (type) {
    case kF16:
    case kBF16:
      PairsOut(part).v[at] = bits.xy;
      break;
    case kInt8:
      KvWords(part).v[at] = bits.x;
      if (i % 8 == 0) KvWords(scales_at(part, heads, dim, h)).v[i / 8] = bits.y;
      break;
    default:
      VectorsOut(part).v[at] = uintBitsToFloat(bits);
  }
}
