// Code books of formats whose blocks name entries of one, for unit.glsl: entries are looked up whole, signs set for four
// codes at once. unit.glsl has kBookEntries, and BOOK_OF_EIGHT where an entry is eight codes, not four. The book is copied
// to shared memory: 32 lanes want 32 entries at once, which lie in as many lines of a cache.
#define HAS_BOOK
#ifdef BOOK_OF_EIGHT
shared uvec2 book[kBookEntries];
const uint kBookQuads = kBookEntries / 2;
uvec4 book_entries(uvec2 entry) { return uvec4(book[entry.x], book[entry.y]); }
void keep_quad(uint i, uvec4 quad) {
  book[2 * i] = quad.xy;
  book[2 * i + 1] = quad.zw;
}
#else
shared uint book[kBookEntries];
const uint kBookQuads = kBookEntries / 4;
uvec4 book_entries(uvec4 entry) { return uvec4(book[entry.x], book[entry.y], book[entry.z], book[entry.w]); }
void keep_quad(uint i, uvec4 quad) {
  [[unroll]] for (uint k = 0; k < 4; ++k) book[4 * i + k] = quad[k];
}
#endif
const uint kBookTurns = (kBookQuads + kThreads - 1) / kThreads;
// By all threads of a workgroup, a barrier behind it. All loads before the first store.
void copy_book() {
  uvec4 quads[kBookTurns];
  [[unroll]] for (uint j = 0; j < kBookTurns; ++j)
    quads[j] = Quads(uint64_t(grid)).v[min(thread_index() + j * kThreads, kBookQuads - 1)];
  [[unroll]] for (uint j = 0; j < kBookTurns; ++j) {
    const uint i = thread_index() + j * kThreads;
    if (i < kBookQuads) keep_quad(i, quads[j]);
  }
}

uint u16_of_half(uint at) { return uint(Shorts(uint64_t(block_at)).v[at / 2]); }
uvec4 bytes_of_word(uint word) { return uvec4(word, word >> 8, word >> 16, word >> 24) & 255u; }

// 16 codes, none of them 0, with the signs of 16 bits: complement and add one, which carries into no other code.
uvec4 with_signs(uvec4 codes, uint minus) {
  const uvec4 bits = (uvec4(minus, minus >> 4, minus >> 8, minus >> 12) & 15u) * 0x00204081u & 0x01010101u;
  return (codes ^ bits * 255u) + bits;
}
// Four times seven bits of a word, a byte each.
uint sevens_of(uint word) {
  return (word & 0x7fu) | (word << 1 & 0x7f00u) | (word << 2 & 0x7f0000u) | (word << 3 & 0x7f000000u);
}
// Seven bits of a byte give eight signs, an even number of them minus.
uint signs_of_sevens(uint sevens) {
  uint odd = sevens ^ sevens >> 4;
  odd ^= odd >> 2;
  odd ^= odd >> 1;
  return sevens | (odd & 0x01010101u) << 7;
}
// 8 · code − 1 or + 1 of codes −1, 0, 1.
uvec2 shifted_up_or_down(uvec2 codes, bool down) {
  const uvec2 eight = codes << 3 & 0xf8f8f8f8u;
  return down ? ~eight ^ (codes & 0x01010101u) * 0xf0u : eight | 0x01010101u;
}
