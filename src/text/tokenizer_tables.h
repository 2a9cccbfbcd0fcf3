// The two hash tables of a tokenizer: bytes -> piece, and pair of pieces -> merge.
//
// Owns: open addressing with linear probing, at most half full, filled once and read by any number of
// threads. Must not know: what the pieces mean. Invariants: the first insertion of a key stays; later ones
// are refused.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace brass::tokens {

inline uint64_t mix_bits(uint64_t x) {
  const auto product = static_cast<unsigned __int128>(x) * 0x9E3779B97F4A7C15u;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t hash_bytes(std::string_view bytes) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  uint64_t hash = mix_bits(left + 0x51ED270B), word = 0;
  for (; left > 8; at += 8, left -= 8) {
    std::memcpy(&word, at, 8);
    hash = mix_bits(hash ^ word);
  }
  word = 0;
  for (size_t i = 0; i < left; ++i) word |= static_cast<uint64_t>(static_cast<uint8_t>(at[i])) << (8 * i);
  return mix_bits(hash ^ word);
}

class PieceTable {
 public:
  static constexpr int32_t kNone = -1;

  explicit PieceTable(size_t pieces = 0) : slots_(std::bit_ceil(2 * pieces + 2)) {}

  // False if the bytes are already there. At most as many insertions as the constructor was told.
  bool insert(std::string_view bytes, int32_t id) {
    const uint64_t hash = hash_bytes(bytes);
    Slot& slot = slots_[locate(bytes, hash)];
    if (slot.id != kNone) return false;
    ENSURE(arena_.size() + bytes.size() <= UINT32_MAX, "pieces of more than 4 GiB");
    slot = {static_cast<uint32_t>(hash >> 32), id, static_cast<uint32_t>(arena_.size()),
            static_cast<uint32_t>(bytes.size())};
    arena_.append(bytes);
    longest_ = std::max(longest_, bytes.size());
    return true;
  }

  // The piece with exactly these bytes, or kNone.
  int32_t find(std::string_view bytes) const {
    if (bytes.size() > longest_) return kNone;
    return slots_[locate(bytes, hash_bytes(bytes))].id;
  }

  size_t longest() const { return longest_; }  // bytes of the longest piece

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t id = kNone;
    uint32_t offset = 0, length = 0;  // in the arena
  };

  size_t locate(std::string_view bytes, uint64_t hash) const {
    const size_t mask = slots_.size() - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
      const Slot& slot = slots_[i];
      if (slot.id == kNone) return i;
      if (slot.hash == hash >> 32 && slot.length == bytes.size() &&
          std::memcmp(arena_.data() + slot.offset, bytes.data(), bytes.size()) == 0) {
        return i;
      }
    }
  }

  std::vector<Slot> slots_;
  std::string arena_;
  size_t longest_ = 0;
};

// What two neighbours become: the lower the rank, the earlier it happens.
struct Merge {
  static constexpr uint32_t kNever = UINT32_MAX;
  uint32_t rank = kNever;
  int32_t id = -1;
};

class PairTable {
 public:
  explicit PairTable(size_t pairs = 0) : slots_(std::bit_ceil(2 * pairs + 2)) {}

  bool insert(int32_t left, int32_t right, Merge merge) {
    Slot& slot = slots_[locate(key(left, right))];
    if (slot.key != kFree) return false;
    slot = {key(left, right), merge};
    return true;
  }

  Merge find(int32_t left, int32_t right) const { return slots_[locate(key(left, right))].merge; }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;  // no pair of ids >= 0 has this key
  struct Slot {
    uint64_t key = kFree;
    Merge merge;
  };

  static uint64_t key(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t locate(uint64_t wanted) const {
    const size_t mask = slots_.size() - 1;
    size_t i = mix_bits(wanted) & mask;
    while (slots_[i].key != wanted && slots_[i].key != kFree) i = (i + 1) & mask;
    return i;
  }

  std::vector<Slot> slots_;
};

}  // namespace brass::tokens
