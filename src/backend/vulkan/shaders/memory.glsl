// Pages of keys and values. A page holds its layers one after another: K, then V (kv.glsl).
#include "kv.glsl"
layout(constant_id = 1) const uint kKeyType = 0;
layout(constant_id = 2) const uint kValueType = 0;

// starts[sequence · groups + group]: where that table begins among the pages.
int page_of(Ints starts, Ints pages, uint sequence, uint groups, uint group, uint position) {
  return pages.v[uint(starts.v[sequence * groups + group]) + position / kPageTokens];
}
