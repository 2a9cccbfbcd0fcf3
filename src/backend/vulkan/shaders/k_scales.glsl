// Scales of Q4_K and Q5_K, from a block's first 16 bytes: `scales` and `lows` of two runs of 32 columns, in bytes 0 and 1, and `d`,
// what they are multiplied by. Runs of the block's second half, if `upper`; `shift`: 16 for the second two of a half, else 0.
#define K_SCALES(head, upper, shift)                                                                                            \
  const uint scales =                                                                                                           \
      ((upper) ? ((head).w & 0x0f0f0f0fu) | ((head).y >> 2 & 0x30303030u) : (head).y & 0x3f3f3f3fu) >> (shift);                 \
  const uint lows =                                                                                                             \
      ((upper) ? ((head).w >> 4 & 0x0f0f0f0fu) | ((head).z >> 2 & 0x30303030u) : (head).z & 0x3f3f3f3fu) >> (shift);            \
  const vec2 d = unpackHalf2x16((head).x);
