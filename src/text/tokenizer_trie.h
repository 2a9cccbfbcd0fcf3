// Byte strings to ids, walked byte by byte: what prefixes of a text are pieces.
//
// Owns: a double array (Aoe 1989): the children of a node lie at its base plus their byte, and know their
// parent. Invariants: immutable; building and walking take linear time whatever the pieces are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace brass::tokens {

class PieceTrie {
 public:
  using Entry = std::pair<std::string_view, int32_t>;

  PieceTrie() : PieceTrie(std::vector<Entry>()) {}
  // Empty strings are left out; of equals the lowest id counts.
  explicit PieceTrie(std::vector<Entry> entries);

  static constexpr uint32_t kRoot = 0;
  // Moves `node` down by one byte; false if nothing goes on so.
  bool step(uint32_t& node, char byte) const {
    const size_t at = size_t{nodes_[node].base} + static_cast<uint8_t>(byte);
    if (at >= nodes_.size() || nodes_[at].parent != node) return false;
    node = static_cast<uint32_t>(at);
    return true;
  }
  int32_t id(uint32_t node) const { return nodes_[node].id; }  // -1: no piece ends here

 private:
  static constexpr uint32_t kFree = UINT32_MAX, kNobody = UINT32_MAX - 1;  // kNobody: the root's parent
  struct Node {
    uint32_t base = 0;
    uint32_t parent = kFree;
    int32_t id = -1;
  };
  struct Builder;

  std::vector<Node> nodes_;
};

}  // namespace brass::tokens
