// Code books of formats whose blocks name entries of one, for unit.glsl: entries are looked up whole, signs set for four
// codes at once.
uint u16_of_half(uint at) { return uint(Shorts(uint64_t(block_at)).v[at / 2]); }

// Entries of four codes, of eight.
uvec4 book_words(uvec4 entry) {
  Words book = Words(uint64_t(grid));
  return uvec4(book.v[entry.x], book.v[entry.y], book.v[entry.z], book.v[entry.w]);
}
uvec4 book_pairs(uvec2 entry) {
  Pairs book = Pairs(uint64_t(grid));
  return uvec4(book.v[entry.x], book.v[entry.y]);
}

// 16 codes, none of them 0, with the signs of 16 bits: complement and add one, which carries into no other code.
uvec4 with_signs(uvec4 codes, uint minus) {
  const uvec4 bits = bytes_of_bits(minus);
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
