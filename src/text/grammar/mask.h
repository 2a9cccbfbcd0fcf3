// Which tokens may come next: a walk over the tree of the vocabulary and the automaton of the grammar together.
//
// Owns: the masks that were made, up to a bound. Must not know: sampling, matchers. Invariants: a mask allows exactly
// the tokens after whose bytes the walk is not dead, and the tokens that end a text where it may end.
#pragma once

#include <span>
#include <unordered_map>

#include "text/grammar/token_trie.h"
#include "text/grammar/walk.h"

namespace brass::grammar {

class Masks {
 public:
  Masks(const TokenTrie::Impl& trie, Walk& walk) : trie_(trie), walk_(walk) {}

  void forget() { made_.clear(); }
  void fill(SetId set, std::span<uint64_t> bits);

 private:
  void fill_known(SetId set, std::span<uint64_t> bits);
  void make(SetId set, std::span<uint64_t> bits);
  void redo(const TokenGroup& group, SetId set, std::span<uint64_t> bits);
  void make_from(const TrieSlice& slice, const Walk::Loop& loop, SetId set, std::span<uint64_t> bits);
  void walk_tree(const TokenTree& tree, SetId set, std::span<uint64_t> bits);

  const TokenTrie::Impl& trie_;
  Walk& walk_;
  std::unordered_map<SetId, std::vector<uint64_t>> made_;
};

}  // namespace brass::grammar
