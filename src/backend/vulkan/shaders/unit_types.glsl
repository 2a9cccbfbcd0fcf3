// 32 values of a weight as int8 codes: value = scale · code − low, each of both for 16 values. The second 16 lie kApart
// sixteens behind the first, so that a unit is what lies together in the file's block. A format's own unit.glsl (src/quant)
// has kApart, Raw, load_unit and decode_unit: what is loaded early, and what is made of it late.
struct Unit {
  uvec4 first, second;  // codes
  vec2 scale, low;
};

// Of a word: its bytes; its low 16 bits, four a word, each the lowest of a byte.
uvec4 bytes_of_word(uint word) { return uvec4(word, word >> 8, word >> 16, word >> 24) & 255u; }
uvec4 bytes_of_bits(uint bits) { return (uvec4(bits, bits >> 4, bits >> 8, bits >> 12) & 15u) * 0x00204081u & 0x01010101u; }

// Words from a place on: four, or five, in which four lie that begin within a word.
uvec4 four_words(Words from, uint at) { return uvec4(from.v[at], from.v[at + 1], from.v[at + 2], from.v[at + 3]); }
struct Five {
  uvec4 first;
  uint last;
};
Five five_words(Words from, uint at) { return Five(four_words(from, at), from.v[at + 4]); }
uvec4 last_four(Five words) { return uvec4(words.first.yzw, words.last); }
// Where u32_of_halves reads (block.glsl).
uvec2 two_words_of_halves(uint at) { return uvec2(u32_of_halves(at), u32_of_halves(at + 4)); }
uvec4 four_words_of_halves(uint at) { return uvec4(two_words_of_halves(at), two_words_of_halves(at + 8)); }

// Blocks whose size is no multiple of four are loaded by the aligned words that they lie in, from the one with the block's
// first byte on, since these are half as many loads as halves are. Words that begin in the middle of those, if `split`, and
// the half that such a word begins with:
Words words_around(uint64_t block) { return Words(block & ~3ul); }
bool begins_in_middle(uint64_t block) { return (uint(block) & 2) != 0; }
uint joined(bool split, uint a, uint next) { return split ? a >> 16 | next << 16 : a; }
uvec4 joined(bool split, Five a) { return split ? a.first >> 16 | last_four(a) << 16 : a.first; }
float half_of(bool split, uint word) {
  const vec2 halves = unpackHalf2x16(word);
  return split ? halves.y : halves.x;
}

// Codes 0 … 3 less one, four a word.
uvec4 less_one(uvec4 codes) { return codes + 0x7f7f7f7fu ^ 0x80808080u; }

#include "unit.glsl"

// Of a row, counted in sixteens.
uint first_16(uint u) { return u / kApart * (2 * kApart) + u % kApart; }
uint second_16(uint u) { return first_16(u) + kApart; }
