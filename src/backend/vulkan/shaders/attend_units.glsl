// Keys and values as attention of few rows reads and writes them. A unit is what a lane loads at once of a head: kUnit
// values, 4 or 8, as bits. The including program has kUnit; f32 goes by 4.
const uint kHalvesOfUnit = kUnit / 4;

// Unit i of row h (position % 64 · heads + head) of `part`: what is made of it waits for it.
uvec4 load_unit(uint64_t part, uint heads, uint dim, uint h, uint i, uint type) {
  const uint at = h * (dim / kUnit) + i;
  switch (type) {
    case kF16:
    case kBF16:
      if (kUnit == 8) return Quads(part).v[at];
      return uvec4(Pairs(part).v[at], 0, 0);
    case kInt8: {  // codes, then the scale
      const uint scale = KvWords(scales_at(part, heads, dim, h)).v[i * kUnit / kScaled];
      if (kUnit == 8) return uvec4(Pairs(part).v[at], scale, 0);
      return uvec4(KvWords(part).v[at], 0, scale, 0);
    }
  }
  return floatBitsToUint(Vectors(part).v[at]);
}
// Four of its values; int8 ones without their scale.
vec4 four_of_unit(uvec4 bits, uint four, uint type) {
  const uvec2 two = four == 0 ? bits.xy : bits.zw;
  switch (type) {
    case kF16:
      return vec4(unpackHalf2x16(two.x), unpackHalf2x16(two.y));
    case kBF16:
      return uintBitsToFloat(uvec4(two.x << 16, two.x & 0xffff0000u, two.y << 16, two.y & 0xffff0000u));
    case kInt8: {
      const int codes = int(four == 0 ? bits.x : bits.y);
      return vec4(bitfieldExtract(codes, 0, 8), bitfieldExtract(codes, 8, 8), bitfieldExtract(codes, 16, 8),
                  bitfieldExtract(codes, 24, 8));
    }
  }
  return uintBitsToFloat(bits);
}
float scale_of_unit(uvec4 bits, uint type) { return type == kInt8 ? uintBitsToFloat(bits.z) : 1.0; }

// Four values as they lie: f32; two words of halves; or a word of codes, and their scale.
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
// The unit that begins with the four `low`; `high` are the next four.
uvec4 unit_of_fours(uvec4 low, uvec4 high, uint type) {
  if (type == kF32) return low;
  if (type == kInt8) return uvec4(low.x, high.x, low.y, 0);
  return uvec4(low.xy, high.xy);
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
