// Characters told apart as far as strings need it: the ASCII ones, and all others together.
#pragma once

#include <array>
#include <cstdint>

namespace brass::grammar {

struct CharClass {
  std::array<uint64_t, 2> ascii = {0, 0};
  bool others = false;

  bool has(uint8_t byte) const { return (ascii[byte / 64] >> (byte % 64) & 1) != 0; }
  void put(uint8_t byte) { ascii[byte / 64] |= uint64_t{1} << (byte % 64); }
  bool within(const CharClass& other) const {
    return (ascii[0] & ~other.ascii[0]) == 0 && (ascii[1] & ~other.ascii[1]) == 0 &&
           (!others || other.others);
  }
  bool empty() const { return (ascii[0] | ascii[1]) == 0 && !others; }
  friend bool operator==(const CharClass&, const CharClass&) = default;
};

}  // namespace brass::grammar
