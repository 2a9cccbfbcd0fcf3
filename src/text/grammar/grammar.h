// A grammar: which texts a reply may be. Built by the front ends (JSON Schema, regular expressions, GBNF, Lark,
// choices, tool calls), walked by Matcher.
//
// Owns: the nodes and their regular expressions. Must not know: JSON Schema, tokens, models. Invariants: immutable
// once frozen, any number of matchers may share it; every text is walked in time linear in its length for grammars
// without ambiguity; left recursion, rules without a finite text and loops over nothing are found by freeze(), named,
// and refused or removed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/grammar/regex.h"

namespace brass::grammar {

using NodeId = int32_t;

// Stands before a control piece where a grammar or a vocabulary holds one: no UTF-8 has this byte, so no other text is
// taken for it.
constexpr char kControlByte = '\xFF';

// How the code points of a regular expression are written in the text.
enum class Spelling : uint8_t {
  kPlain,  // as UTF-8
  kJsonString,  // between the quotes of a JSON string, escapes and surrogate pairs in every spelling that JSON allows;
                // never a raw control character, quote or backslash
  kSingleQuoted,  // the same between single quotes, as Python writes strings
};

// A JSON object's members, in any order, each key at most once where it is named. The languages of all keys are
// disjoint (the front end subtracts), so a key decides its member.
struct Members {
  struct Named {
    std::string key;  // decoded UTF-8
    NodeId value = -1;
    bool required = false;
  };
  struct Pattern {
    RegexId key = -1;  // of the decoded key
    NodeId value = -1;
  };
  std::vector<Named> named;
  std::vector<Pattern> patterns;  // additionalProperties is one whose key excludes all others
  int min = 0, max = -1;          // count of distinct members; -1: no bound
  NodeId space = -1;              // what may stand between the tokens of the object
  bool ordered = false;  // named members only in the order given, optional ones left out; others anywhere
  bool shortest_keys = false;  // named keys only as JSON has to write them, so that forced() knows them
};

// Parts in any order, each at most once. None of them matches the empty text.
struct AnyOrder {
  // The key of a part that comes any number of times, as members do that have no name: its texts tell one time from
  // another.
  struct Key {
    NodeId before = -1, behind = -1;  // what stands around it; -1: nothing before it
    RegexId regex = -1;
    Spelling spelling = Spelling::kPlain;
  };
  struct Part {
    NodeId body = -1;
    bool required = false;
    std::optional<Key>
        again;  // any number of times; the body is what stands before the key, it, and what is behind
  };
  std::vector<Part> parts;
  int min = 0;            // count of different parts, or keys of such that come again
  int max = -1;           // count of all; -1: no bound
  NodeId separator = -1;  // between two; -1: none
  // No key of a part that comes again comes twice; else only the first `min` are told apart. What is behind such a key may
  // be nothing, where keys are numbers, and the separator and what follows the whole read none of their characters.
  bool distinct = false;
};

class Grammar {
 public:
  Grammar();
  ~Grammar();

  RegexArena& regexes();

  NodeId text(std::string_view utf8);  // exactly this
  // A control piece of the vocabulary, as one token: its text spelled by others does not match.
  NodeId control(std::string_view piece);
  NodeId terminal(RegexId regex, Spelling spelling = Spelling::kPlain);
  NodeId sequence(std::vector<NodeId> parts);  // none: the empty text
  NodeId choice(std::vector<NodeId> parts);    // none: nothing matches
  // body, min to max times (-1: no bound), `separator` (-1: none) between. Counts are kept, not unrolled.
  NodeId repeat(NodeId body, int min, int max, NodeId separator = -1);
  NodeId object(Members members);  // from '{' to '}'
  NodeId any_order(AnyOrder parts);
  AnyOrder::Part part_again(const AnyOrder::Key& key);

  // A rule may be used before it is defined, and by itself.
  NodeId rule(std::string_view name);
  void define(NodeId rule, NodeId body);

  // Checks, simplifies and closes the grammar. Errors name the rule.
  Result<> freeze(NodeId root);
  bool matches_nothing() const;  // which is why freeze() failed

  struct Impl;  // grammar_impl.h
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace brass::grammar
