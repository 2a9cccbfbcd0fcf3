// Attention of few rows in two programs. The positions that a row sees go by splits of whole pages, as many as its
// position says and nothing else does, so a row's bits do not depend on what shares its step. Of each split and query head
// the first program leaves v_dim sums of weighted values, the largest score, Σ of the weights, and room for two:
// [row][split][query head].
#include "kv.glsl"
layout(buffer_reference, std430, buffer_reference_align = 8) buffer PartialHeads {
  vec2 v[];
};

uint64_t partial_sums(uint64_t partial, uint splits, uint heads, uint dim, uint t, uint split, uint head) {
  return partial + uint64_t((t * splits + split) * heads + head) * (4 * (dim + 4));
}
PartialHeads partial_head(uint64_t partial, uint splits, uint heads, uint dim, uint t, uint split, uint head) {
  return PartialHeads(partial_sums(partial, splits, heads, dim, t, split, head) + 4 * dim);
}

// The pages that the row at `position` sees, and those of one of its splits, of which there are `most`.
struct Seen {
  uint begin;             // first position
  uint first, end;        // pages
  uint pages_of_split;
};
Seen seen_by(uint position, uint window, uint most) {
  Seen seen;
  seen.begin = window > 0 && position + 1 > window ? position + 1 - window : 0;
  seen.first = seen.begin / kPageTokens;
  seen.end = position / kPageTokens + 1;
  seen.pages_of_split = (seen.end - seen.first + most - 1) / most;
  return seen;
}
uint splits_of(Seen seen) { return (seen.end - seen.first + seen.pages_of_split - 1) / seen.pages_of_split; }
