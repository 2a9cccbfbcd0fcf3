#include "text/grammar/mask.h"

#include <algorithm>

namespace brass::grammar {

namespace {

constexpr size_t kMostMasks = 128;  // 19 KB each for 150,000 tokens

void set_bit(std::span<uint64_t> bits, int32_t id) {
  bits[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
}

}  // namespace

// Where only long tokens can exhaust a count, the mask of the others is one for many places; and so it is where only
// tokens with two keys can tell how the first one begins.
void Masks::fill(SetId set, std::span<uint64_t> bits) {
  const SetId exact = walk_.relaxed(set, trie_.longest);
  const SetId usual = walk_.relaxed(exact, TokenTrie::Impl::kUsual);
  const SetId common = walk_.nameless(usual);
  fill_known(common, bits);
  if (usual != exact) redo(trie_.unusual, exact, bits);
  if (common == usual) return;
  redo(trie_.two_keys, exact, bits);
  if (walk_.reads_part_key(exact)) redo(trie_.two_parts, exact, bits);
}

void Masks::redo(const TokenGroup& group, SetId set, std::span<uint64_t> bits) {
  for (size_t word = 0; word < bits.size(); ++word) bits[word] &= ~group.mask[word];
  walk_tree(group.tree, set, bits);
}

void Masks::fill_known(SetId set, std::span<uint64_t> bits) {
  if (const auto found = made_.find(set); found != made_.end()) {
    std::copy(found->second.begin(), found->second.end(), bits.begin());
    return;
  }
  make(set, bits);
  if (made_.size() >= kMostMasks) made_.clear();
  made_.emplace(set, std::vector<uint64_t>(bits.begin(), bits.end()));
}

void Masks::make(SetId set, std::span<uint64_t> bits) {
  const Walk::Loop loop = walk_.loop(set);
  const auto slice = std::ranges::find(trie_.slices, loop.chars, &TrieSlice::chars);
  if (slice != trie_.slices.end()) {
    make_from(*slice, loop, set, bits);
  } else {
    std::fill(bits.begin(), bits.end(), 0);
    walk_tree(trie_.tree, set, bits);
  }
  if (!walk_.can_end(set)) return;
  for (const int32_t id : trie_.end_ids) set_bit(bits, id);
}

void Masks::make_from(const TrieSlice& slice, const Walk::Loop& loop, SetId set, std::span<uint64_t> bits) {
  if (loop.most == INT32_MAX) {
    std::ranges::copy(slice.inside, bits.begin());
    return walk_tree(loop.exact ? slice.rest : slice.others, set, bits);
  }
  std::ranges::copy(slice.by_count[std::min(TrieSlice::kCounted, static_cast<size_t>(loop.most))],
                    bits.begin());
  if (!loop.closed)
    return walk_tree(trie_.tree, set, bits);  // what has more such characters than that may go on, too
  if (loop.most > static_cast<int32_t>(TrieSlice::kCounted)) walk_tree(slice.longer, set, bits);
  walk_tree(slice.others, set, bits);
}

// Adds the tokens of `tree` after which the walk goes on. Where all that lies below a node is made of characters that
// the walk stays alive with, it is not visited.
void Masks::walk_tree(const TokenTree& tree, SetId set, std::span<uint64_t> bits) {
  struct Place {
    SetId set;
    const Walk::Loop* loop;  // null: none
  };
  std::array<Place, 256> path;  // by depth
  const auto place = [&](SetId at) {
    const Walk::Loop& loop = walk_.loop(at);
    return Place{at, loop.chars.empty() ? nullptr : &loop};
  };
  const auto last = static_cast<int32_t>(tree.nodes.size()) - 1;
  path[0] = place(set);
  for (int32_t at = 1; at < last;) {
    const TrieNode& node = tree.nodes[static_cast<size_t>(at)];
    const Place& from = path[node.depth - 1u];
    if (from.loop != nullptr && node.decodes && node.longest <= from.loop->most &&
        tree.classes[static_cast<size_t>(node.chars)].within(from.loop->chars)) {
      const int32_t end = tree.nodes[static_cast<size_t>(node.end)].tokens;
      for (int32_t i = node.tokens; i < end; ++i) set_bit(bits, tree.ids[static_cast<size_t>(i)]);
      at = node.end;
      continue;
    }
    const SetId next = walk_.step(from.set, node.byte);
    if (next == kDead) {
      at = node.end;
      continue;
    }
    for (int32_t i = node.tokens; i < node.own; ++i) set_bit(bits, tree.ids[static_cast<size_t>(i)]);
    if (++at < node.end) path[node.depth] = next == from.set ? from : place(next);
  }
}

}  // namespace brass::grammar
