// Pages of keys and values. A page holds its layers one after another: K [64][heads · k_dim], V [64][heads · v_dim].
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Halves {
  uint16_t v[];
};
const uint kPageTokens = 64;
layout(constant_id = 1) const uint kKeyHalf = 0;  // f16, else f32
layout(constant_id = 2) const uint kValueHalf = 0;

// What a step says of a group's pages.
struct Pages {
  uint64_t pool, page_bytes;
};
// starts[sequence · groups + group]: where that table begins among the pages.
int page_of(Ints starts, Ints pages, uint sequence, uint groups, uint group, uint position) {
  return pages.v[uint(starts.v[sequence * groups + group]) + position / kPageTokens];
}
float read_value(uint64_t at, uint index, uint is_half) {
  if (is_half != 0) return unpackHalf2x16(uint(Halves(at).v[index])).x;
  return Floats(at).v[index];
}
void write_value(uint64_t at, uint index, uint is_half, float x) {
  if (is_half != 0) {
    Halves(at).v[index] = uint16_t(packHalf2x16(vec2(x, 0.0)));
  } else {
    Output(at).v[index] = x;
  }
}
