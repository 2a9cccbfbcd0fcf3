// Activations in int8: codes in the order of the values, four in a word, and for each 32 values their scale and the sums
// of the codes of both halves. A row of codes begins at a multiple of 64 bytes, its scales at a multiple of 128.
#extension GL_EXT_spirv_intrinsics : require
#include "vectors.glsl"

// Σ of the products of four signed bytes (OpSDot of SPIR-V 1.6, packed 4 × 8 bit).
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int dot_of_bytes(int a, int b, spirv_literal int packed_format);
int dot_of_words(uvec4 a, uvec4 b) {
  return dot_of_bytes(int(a.x), int(b.x), 0) + dot_of_bytes(int(a.y), int(b.y), 0) +
         dot_of_bytes(int(a.z), int(b.z), 0) + dot_of_bytes(int(a.w), int(b.w), 0);
}

layout(buffer_reference, std430, buffer_reference_align = 4) buffer WordsOut {
  uint v[];
};
struct Quantized32 {
  uvec4 codes[2];
  uvec2 meta;  // the scale's bits; sums of both halves, 16 bits each
};
float scale_of(uvec2 meta) { return uintBitsToFloat(meta.x); }
int sum_of(uvec2 meta, uint half_of_32) { return bitfieldExtract(int(meta.y), int(16 * half_of_32), 16); }

// What is not finite stays so: codes of 0 under a scale of NaN.
Quantized32 quantize(vec4 x[8]) {
  float largest = 0.0;
  bool finite = true;
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    const vec4 size = abs(x[i]);
    largest = max(largest, max(max(size.x, size.y), max(size.z, size.w)));
    finite = finite && all(lessThan(size, vec4(kInfinity)));
  }
  const float inverse = finite && largest > 0.0 ? 127.0 / largest : 0.0;
  Quantized32 q;
  ivec2 sums = ivec2(0);
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    ivec4 code = ivec4(0);
    if (inverse > 0.0) {
      // Where the inverse is infinite (values near the smallest float), 0 · ∞ is no number.
      const vec4 scaled = clamp(roundEven(x[i] * inverse), vec4(-127.0), vec4(127.0));
      code = ivec4(mix(scaled, vec4(0.0), equal(x[i], vec4(0.0))));
    }
    sums[i / 4] += code.x + code.y + code.z + code.w;
    q.codes[i / 4][i % 4] = uint(code.x & 255) | uint(code.y & 255) << 8 | uint(code.z & 255) << 16 | uint(code.w) << 24;
  }
  q.meta.x = finite ? floatBitsToUint(largest / 127.0) : 0x7fc00000u;
  q.meta.y = uint(sums.x & 65535) | uint(sums.y) << 16;
  return q;
}

// The same of 32 values that the first eight lanes of a subgroup hold, four each: the lane's word of codes. Other lanes
// bring zeros; all know `meta`.
uint quantize_by_lanes(vec4 x, out uvec2 meta) {
  // Sizes in the order of their bits, in which no number is above infinity.
  const uvec4 size = floatBitsToUint(abs(x));
  const uint most = subgroupMax(max(max(size.x, size.y), max(size.z, size.w)));
  const float largest = uintBitsToFloat(most);
  const bool finite = most < 0x7f800000u;
  const float inverse = finite && largest > 0.0 ? 127.0 / largest : 0.0;
  ivec4 code = ivec4(0);
  if (inverse > 0.0) {
    const vec4 scaled = clamp(roundEven(x * inverse), vec4(-127.0), vec4(127.0));
    code = ivec4(mix(scaled, vec4(0.0), equal(x, vec4(0.0))));
  }
  const int sum = code.x + code.y + code.z + code.w;
  const int both = subgroupAdd(gl_SubgroupInvocationID < 4 ? sum : sum << 16);
  const int first = bitfieldExtract(both, 0, 16);
  meta.x = finite ? floatBitsToUint(largest / 127.0) : 0x7fc00000u;
  meta.y = uint(first & 65535) | uint(both - first);
  return uint(code.x & 255) | uint(code.y & 255) << 8 | uint(code.z & 255) << 16 | uint(code.w) << 24;
}
