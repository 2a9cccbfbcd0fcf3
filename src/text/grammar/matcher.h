// One reply's place in a grammar: what may come next.
//
// Owns: the set of stacks that the text so far leaves open. Must not know: JSON Schema, models, sampling. Invariants:
// a copy is independent and cheap (speculation tries a draft on one); accept() either consumes all or changes
// nothing; mask() allows exactly the tokens after which some text of the grammar is still reachable.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "text/grammar/grammar.h"

namespace brass {
class Tokenizer;
}

namespace brass::grammar {

// The vocabulary as a tree of bytes, made once a model. Control pieces are in no text, but where a grammar names them
// (Grammar::control).
class TokenTrie {
 public:
  static std::shared_ptr<const TokenTrie> create(const Tokenizer& tokenizer);
  struct Impl;
  const Impl& impl() const { return *impl_; }
  explicit TokenTrie(std::unique_ptr<Impl> impl);
  ~TokenTrie();

 private:
  std::unique_ptr<Impl> impl_;
};

// A frozen grammar made ready for a vocabulary; what is learned about it (masks) is shared by all its matchers.
// Thread safe.
class CompiledGrammar;

// `trie` may be null: then only accept_bytes() works (brass grammar check).
std::shared_ptr<CompiledGrammar> compile(std::shared_ptr<const Grammar> grammar,
                                         std::shared_ptr<const TokenTrie> trie);

class Matcher {
 public:
  explicit Matcher(std::shared_ptr<CompiledGrammar> grammar);
  Matcher(const Matcher&);
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(const Matcher&);
  Matcher& operator=(Matcher&&) noexcept;
  ~Matcher();

  bool accept_bytes(std::string_view bytes);
  bool accept_token(int32_t id);  // an end-of-generation token: only if can_end()
  bool can_end() const;           // the text so far is in the language
  bool must_end() const;          // and nothing longer is
  // A budget was passed in a text of this grammar (it nests too deep, or reads in too many ways): what is refused since
  // may be in the language.
  bool limited() const;

  // bits: one per token of the vocabulary, 64 to a word, [ceil(vocab / 64)]; end-of-generation tokens are set if
  // can_end().
  void mask(std::span<uint64_t> bits);

  // The bytes that every continuation begins with ("" where there is a choice); at most `limit`.
  std::string forced(size_t limit = 256) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace brass::grammar
