// Characters told apart as far as masks need it: the ASCII ones, and the others in a few groups.
#pragma once

#include <array>
#include <cstdint>

namespace brass::grammar {

// Groups of characters that are not ASCII. What patterns name are lines, spaces, letters, or nothing of that.
enum CharGroup : uint8_t {
  kLineEnds = 1,  // U+2028, U+2029
  kSpaces = 2,    // what else \s matches
  kLetters = 4,   // \p{L}
  kRest = 8,
  kCut = 16,  // the beginning of a character, any that is not ASCII
  kAllGroups = 31,
};

struct CharClass {
  std::array<uint64_t, 2> ascii = {0, 0};
  uint8_t groups = 0;

  bool has(uint8_t byte) const { return (ascii[byte / 64] >> (byte % 64) & 1) != 0; }
  void put(uint8_t byte) { ascii[byte / 64] |= uint64_t{1} << (byte % 64); }
  void add(const CharClass& other) {
    ascii[0] |= other.ascii[0], ascii[1] |= other.ascii[1];
    groups |= other.groups;
  }
  bool within(const CharClass& other) const {
    return (ascii[0] & ~other.ascii[0]) == 0 && (ascii[1] & ~other.ascii[1]) == 0 &&
           (groups & ~other.groups) == 0;
  }
  bool empty() const { return (ascii[0] | ascii[1]) == 0 && groups == 0; }
  friend bool operator==(const CharClass&, const CharClass&) = default;
};

// The group of a character that is not ASCII.
CharGroup group_of(char32_t point);

}  // namespace brass::grammar
