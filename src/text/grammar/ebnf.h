// Rules as grammar notations write them (sequences, alternatives, repetitions, references), and their way into a
// Grammar.
//
// Owns: the rules of one notation's text while it is read, and what is done to them all alike. Must not know: how a
// notation is written, %ignore and the like. Invariants: build() keeps the language.
//
// What build() does, because a Grammar is walked the faster the more of it is regular: a rule that needs no stack
// becomes a regular expression, where that stays small; a rule that refers to itself at the ends of its alternatives
// (`list: list item | item`, `sum: sum "+" sum | number`) becomes a repetition, which also takes away direct left
// recursion; left recursion by way of other rules is made direct first. What is left is refused by Grammar::freeze().
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/grammar/grammar.h"
#include "text/grammar/source_text.h"

namespace brass::grammar {

class Ebnf {
 public:
  using ExprId = int32_t;
  using RuleId = int32_t;

  enum class Kind : uint8_t { kText, kRegex, kSequence, kChoice, kRepeat, kRule };
  struct Expr {
    Kind kind;
    int32_t value = -1;            // kText: index; kRegex: RegexId; kRepeat: its body; kRule: RuleId
    int min = 0, max = -1;         // kRepeat
    uint64_t weight = 1;           // kRegex: how many places of a text it tells apart, roughly
    int32_t first = 0, count = 0;  // kSequence, kChoice: of children()
    Place place;                   // kRule
  };
  struct Rule {
    std::string name;
    ExprId body = -1;
    Place place;
  };

  Ebnf() : grammar_(std::make_shared<Grammar>()) {}

  RegexArena& regexes() { return grammar_->regexes(); }

  ExprId text(std::string utf8);
  ExprId regex(RegexId regex, uint64_t weight);
  ExprId sequence(std::span<const ExprId> parts);
  ExprId choice(std::span<const ExprId> parts);
  ExprId repeat(ExprId body, int min, int max);  // max −1: no bound
  ExprId reference(std::string_view rule, Place place);

  // Fails where the rule has a body already.
  Result<> define(std::string_view rule, ExprId body, Place place);
  RuleId find(std::string_view rule) const;  // −1: nobody spoke of it

  // The grammar whose texts are those of `root`. Fails where a rule is used and not defined, and as freeze() does.
  Result<std::shared_ptr<const Grammar>> build(std::string_view root) &&;

  const Expr& at(ExprId id) const { return exprs_[static_cast<size_t>(id)]; }
  std::span<const ExprId> children(const Expr& e) const {
    return std::span(children_).subspan(static_cast<size_t>(e.first), static_cast<size_t>(e.count));
  }
  const std::string& text_of(const Expr& e) const { return texts_[static_cast<size_t>(e.value)]; }
  const std::vector<Rule>& rules() const { return rules_; }
  void set_body(RuleId rule, ExprId body) { rules_[static_cast<size_t>(rule)].body = body; }

 private:
  ExprId add(Expr expr);
  ExprId add_list(Kind kind, std::span<const ExprId> parts);
  RuleId rule(std::string_view name);

  std::shared_ptr<Grammar> grammar_;
  std::vector<Expr> exprs_;
  std::vector<ExprId> children_;
  std::vector<std::string> texts_;
  std::vector<Rule> rules_;
  std::unordered_map<std::string, RuleId> names_;
};

}  // namespace brass::grammar
