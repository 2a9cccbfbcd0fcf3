// The vocabulary as a tree of bytes.
//
// Owns: which tokens a text can become, in the order of their bytes. Must not know: grammars. Invariants: node 0 is the
// root; nodes stand in preorder, so what lies below a node is the range up to its `end`; the tokens below it are a
// range, too.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/char_class.h"
#include "text/grammar/matcher.h"
#include "text/tokenizer.h"

namespace brass::grammar {

struct TrieNode {
  uint8_t byte = 0;  // that leads here
  uint8_t depth = 0;
  bool decodes =
      false;  // this byte begins a character, and all that follows is UTF-8 (but may be cut at its end)
  uint8_t longest = 0;  // where `decodes`: the most characters of a token from this byte on
  int32_t end = 0;      // the first node that is not below this one
  int32_t tokens = 0;   // tokens [tokens, own) end here, [tokens, tokens of `end`) here or below
  int32_t own = 0;
  int32_t chars = 0;  // where `decodes`: the characters from this byte on, as a row of TokenTree::classes
};

struct TokenTree {
  std::vector<TrieNode> nodes;     // and one more behind the last
  std::vector<int32_t> ids;        // of tokens, in the order of the tree
  std::vector<CharClass> classes;  // what lies below nodes, each once
};

// What there is to know for a class of characters that a text can go on with: tokens of such characters only, and the
// others.
struct TrieSlice {
  static constexpr size_t kCounted = 32;
  CharClass chars;
  std::vector<uint64_t> inside;                 // mask of the tokens of such characters only
  std::vector<std::vector<uint64_t>> by_count;  // [k]: those of them that have no more than k characters
  TokenTree longer;                             // those of them that have more than kCounted
  TokenTree others;                             // tokens with another character
  TokenTree rest;                               // these, from the first such character on
};

// Some tokens that are walked apart from the others.
struct TokenGroup {
  std::vector<uint64_t> mask;
  TokenTree tree;
};

struct TokenTrie::Impl {
  TokenTree tree;
  std::vector<TrieSlice> slices;
  std::vector<int32_t> end_ids;          // end-of-generation tokens
  std::vector<std::string_view> pieces;  // by token; empty: in no text
  std::string bytes;
  int32_t size = 0;     // of the vocabulary
  int32_t longest = 0;  // bytes of a token

  // Tokens longer than this are few: what only they tell apart is asked of them alone.
  static constexpr int32_t kUsual = 32;
  TokenGroup unusual;
  // Tokens in which a key of a JSON object may end and another one begin; the same of keys between other marks.
  TokenGroup two_keys, two_parts;
};

}  // namespace brass::grammar
