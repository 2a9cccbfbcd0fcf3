// Finding control and user-defined pieces in text.
//
// Owns: the rule: at each position, from left to right, the longest piece that may match there wins, as in
// Hugging Face's added tokens. Must not know: what happens to the text between them. Invariants: user-defined
// pieces match anywhere; control pieces only where every byte of them is trusted.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace brass::tokens {

class SpecialPieces {
 public:
  struct Entry {
    std::string_view bytes;  // not empty; of equals the lowest id counts
    int32_t id;
    bool control;
  };
  struct Match {
    int32_t id = -1;  // -1: none
    size_t length = 0;
  };

  SpecialPieces() = default;
  explicit SpecialPieces(std::vector<Entry> entries);

  // The longest piece that starts at text[at]; control pieces must end by `trusted_end`.
  Match match(std::string_view text, size_t at, size_t trusted_end) const;
  // The first position at or after `at` where a piece might start.
  size_t candidate(std::string_view text, size_t at) const {
    while (at < text.size() && roots_[static_cast<uint8_t>(text[at])] < 0) ++at;
    return at;
  }

 private:
  struct Node {
    int32_t user_defined = -1, control = -1;  // pieces that end here
    int32_t first_child = 0, children = 0;    // side by side, in order of their bytes
    uint8_t byte = 0;
  };
  void grow(std::span<const Entry> sorted);

  std::array<int32_t, 256> roots_ = no_roots();
  std::vector<Node> nodes_;

  static std::array<int32_t, 256> no_roots() {
    std::array<int32_t, 256> roots;
    roots.fill(-1);
    return roots;
  }
};

}  // namespace brass::tokens
