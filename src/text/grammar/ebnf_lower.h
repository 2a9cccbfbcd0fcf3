// From rules to the nodes of a Grammar: what Ebnf::build() does (ebnf.h says why).
//
// Invariants: linear in the rules, but for sequences and alternatives that regular expressions are made of. Recursion
// is as deep as brackets are nested (kMaxNesting), however long chains of rules are.
#pragma once

#include "text/grammar/ebnf.h"

namespace brass::grammar {

// The node of `root`; every rule in use is defined. Adds expressions to `rules`.
NodeId lower_rules(Ebnf& rules, Grammar& grammar, Ebnf::RuleId root);

// The rules that `root` needs in groups that refer to each other, a group behind those that it needs.
std::vector<std::vector<Ebnf::RuleId>> order_rules(const Ebnf& rules, Ebnf::RuleId root);

// Where `rule` refers to itself at the ends of its alternatives and nowhere else that makes a difference: the same
// language as a repetition; else its body.
//
// With alternatives b (neither end), p X, X q, X i X, a text of X is u (i u)* where u = p* b q*: it holds for b, and
// each of the others makes a text of that form from such texts; and each text of that form is made by them.
Ebnf::ExprId without_own_ends(Ebnf& rules, Ebnf::RuleId rule);

// The same for the rules of a group that begin with themselves by way of others: those others are written out in their
// place. Does nothing to groups and rules that would grow too large.
void remove_left_cycles(Ebnf& rules, const std::vector<Ebnf::RuleId>& group);

}  // namespace brass::grammar
