#include "text/tokenizer_special.h"

#include <algorithm>

namespace brass::tokens {

SpecialPieces::SpecialPieces(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.id < b.id;
  });
  grow(entries);
}

// Builds the trie level by level, so that the children of a node lie side by side.
void SpecialPieces::grow(std::span<const Entry> sorted) {
  struct Pending {
    int32_t node;              // -1: above the roots
    size_t depth, begin, end;  // entries that share the first `depth` bytes
  };
  std::vector<Pending> queue{{-1, 0, 0, sorted.size()}};
  for (size_t next = 0; next < queue.size(); ++next) {
    const Pending here = queue[next];
    size_t at = here.begin;
    for (; at < here.end && sorted[at].bytes.size() == here.depth; ++at) {
      Node& node = nodes_[static_cast<size_t>(here.node)];
      int32_t& id = sorted[at].control ? node.control : node.user_defined;
      if (id < 0) id = sorted[at].id;
    }
    const auto first = static_cast<int32_t>(nodes_.size());
    while (at < here.end) {
      const char byte = sorted[at].bytes[here.depth];
      size_t last = at + 1;
      while (last < here.end && sorted[last].bytes[here.depth] == byte) ++last;
      const auto child = static_cast<int32_t>(nodes_.size());
      nodes_.push_back({.byte = static_cast<uint8_t>(byte)});
      if (here.node < 0) roots_[static_cast<uint8_t>(byte)] = child;
      queue.push_back({child, here.depth + 1, at, last});
      at = last;
    }
    if (here.node < 0) continue;
    nodes_[static_cast<size_t>(here.node)].first_child = first;
    nodes_[static_cast<size_t>(here.node)].children = static_cast<int32_t>(nodes_.size()) - first;
  }
}

SpecialPieces::Match SpecialPieces::match(std::string_view text, size_t at, size_t trusted_end) const {
  Match best;
  int32_t index = roots_[static_cast<uint8_t>(text[at])];
  for (size_t end = at + 1; index >= 0; ++end) {
    const Node& node = nodes_[static_cast<size_t>(index)];
    if (node.control >= 0 && end <= trusted_end) {
      best = {node.control, end - at};
    } else if (node.user_defined >= 0) {
      best = {node.user_defined, end - at};
    }
    if (end >= text.size()) break;
    const auto first = nodes_.begin() + node.first_child, last = first + node.children;
    const auto byte = static_cast<uint8_t>(text[end]);
    const auto child =
        std::lower_bound(first, last, byte, [](const Node& n, uint8_t b) { return n.byte < b; });
    index = child != last && child->byte == byte ? static_cast<int32_t>(child - nodes_.begin()) : -1;
  }
  return best;
}

}  // namespace brass::tokens
