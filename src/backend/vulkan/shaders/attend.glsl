// Partial results of attention over one page each, [row][page][query head]: v_dim sums of weighted values, the largest
// score, Σ of the weights, and room for two.
#include "vectors.glsl"
layout(buffer_reference, std430, buffer_reference_align = 8) buffer PartialHeads {
  vec2 v[];
};
const uint kPageTokens = 64;

uint64_t partial_sums(uint64_t partial, uint pages, uint heads, uint dim, uint t, uint page, uint head) {
  return partial + uint64_t((t * pages + page) * heads + head) * (4 * (dim + 4));
}
PartialHeads partial_head(uint64_t partial, uint pages, uint heads, uint dim, uint t, uint page, uint head) {
  return PartialHeads(partial_sums(partial, pages, heads, dim, t, page, head) + 4 * dim);
}
// Values 4 i … 4 i + 3.
vec4 four_values(uint64_t at, uint i, uint is_half) {
  if (is_half == 0) return Vectors(at).v[i];
  const uvec2 halves = Pairs(at).v[i];
  return vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y));
}
