#include "text/tokenizer_trie.h"

#include <algorithm>

#include "base/check.h"

namespace brass::tokens {

// Places nodes level by level: the crowded ones come first, while there is room.
struct PieceTrie::Builder {
  struct Range {
    uint32_t node;
    size_t begin, end, depth;  // the entries below the node, which agree on `depth` bytes
  };
  struct Child {
    uint8_t byte;
    size_t begin, end;
  };

  std::vector<Node>& nodes;
  const std::vector<Entry>& entries;
  // Free places in rising order, as a list: next_free[i] is the next one after i, or one behind the array.
  std::vector<uint32_t> next_free;
  uint32_t first_free = 0;
  std::vector<Child> children;

  void grow_to(size_t size) {
    ENSURE(size < kFree, "a trie of more than 2^32 nodes");
    for (size_t i = nodes.size(); i < size; ++i) next_free.push_back(static_cast<uint32_t>(i + 1));
    if (size > nodes.size()) nodes.resize(size);
  }

  void find_children(const Range& range) {
    children.clear();
    for (size_t i = range.begin; i < range.end; ++i) {
      if (entries[i].first.size() == range.depth) continue;  // the piece that ends at the node
      const auto byte = static_cast<uint8_t>(entries[i].first[range.depth]);
      if (children.empty() || children.back().byte != byte) children.push_back({byte, i, i});
      children.back().end = i + 1;
    }
  }

  bool fits(size_t base) const {
    return std::all_of(children.begin(), children.end(), [&](const Child& child) {
      return base + child.byte >= nodes.size() || nodes[base + child.byte].parent == kFree;
    });
  }

  // Few free places are tried, so that building stays linear; then the end of the array, where all fits.
  uint32_t find_base() {
    constexpr int kTries = 64;
    uint32_t* link = &first_free;
    for (int tries = 0; tries < kTries && *link < nodes.size();) {
      const uint32_t at = *link;
      if (nodes[at].parent != kFree) {
        *link = next_free[at];  // taken since
        continue;
      }
      if (at >= children[0].byte && fits(at - children[0].byte)) return at - children[0].byte;
      link = &next_free[at];
      ++tries;
    }
    return static_cast<uint32_t>(nodes.size());
  }

  void build() {
    grow_to(1);
    nodes[kRoot].parent = kNobody;
    std::vector<Range> level{{kRoot, 0, entries.size(), 0}}, below;
    for (; !level.empty(); std::swap(level, below)) {
      below.clear();
      for (const Range& range : level) {
        if (entries[range.begin].first.size() == range.depth)
          nodes[range.node].id = entries[range.begin].second;
        find_children(range);
        if (children.empty()) continue;
        const uint32_t base = find_base();
        grow_to(size_t{base} + children.back().byte + 1);
        nodes[range.node].base = base;
        for (const Child& child : children) {
          nodes[base + child.byte].parent = range.node;
          below.push_back({base + child.byte, child.begin, child.end, range.depth + 1});
        }
      }
    }
  }
};

PieceTrie::PieceTrie(std::vector<Entry> entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.first.empty(); });
  std::sort(entries.begin(), entries.end());
  if (entries.empty()) {
    nodes_.resize(1);
    nodes_[kRoot].parent = kNobody;
    return;
  }
  Builder{.nodes = nodes_, .entries = entries, .next_free = {}, .first_free = 0, .children = {}}.build();
}

}  // namespace brass::tokens
