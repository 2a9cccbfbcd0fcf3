// Rules that begin with themselves by way of others: `value: call | NAME; call: value "(" ")"`.
#include <algorithm>

#include "text/grammar/ebnf_lower.h"

namespace brass::grammar {
namespace {

using ExprId = Ebnf::ExprId;
using RuleId = Ebnf::RuleId;
using Kind = Ebnf::Kind;

// What one rule may become; beyond it the rule is left as it is, and refused by freeze().
constexpr size_t kMaxAlternatives = 1000;

class LeftCycles {
 public:
  LeftCycles(Ebnf& rules, const std::vector<RuleId>& group) : rules_(rules), group_(group) {}

  void remove() {
    for (const RuleId rule : group_) {
      if (!begins_with(rule, rule)) continue;
      std::vector<ExprId> alternatives;
      if (!expand(rules_.rules()[static_cast<size_t>(rule)].body, {}, rule, 0, alternatives)) continue;
      rules_.set_body(rule, rules_.choice(alternatives));
      rules_.set_body(rule, without_own_ends(rules_, rule));
    }
  }

 private:
  bool in_group(RuleId rule) const { return std::ranges::find(group_, rule) != group_.end(); }

  // The rules of the group that a rule's alternatives begin with.
  void firsts(ExprId id, std::vector<RuleId>& into) const {
    const Ebnf::Expr& e = rules_.at(id);
    if (e.kind == Kind::kRule && in_group(e.value)) into.push_back(e.value);
    if (e.kind == Kind::kSequence && e.count > 0) firsts(rules_.children(e)[0], into);
    if (e.kind == Kind::kChoice)
      for (const ExprId child : rules_.children(e)) firsts(child, into);
  }

  bool begins_with(RuleId rule, RuleId wanted) const {
    std::vector<RuleId> seen, todo = {rule};
    while (!todo.empty()) {
      std::vector<RuleId> next;
      firsts(rules_.rules()[static_cast<size_t>(todo.back())].body, next);
      todo.pop_back();
      for (const RuleId other : next) {
        if (other == wanted) return true;
        if (std::ranges::find(seen, other) != seen.end()) continue;
        seen.push_back(other);
        todo.push_back(other);
      }
    }
    return false;
  }

  // The alternatives of `id` followed by `rest`, in which rules that lead back to `self` are replaced by what they are.
  // False: too many.
  bool expand(ExprId id, std::vector<ExprId> rest, RuleId self, int depth, std::vector<ExprId>& into) {
    if (depth > kMaxNesting || into.size() > kMaxAlternatives) return false;
    const Ebnf::Expr e = rules_.at(id);
    if (e.kind == Kind::kChoice) {
      for (int32_t i = 0; i < e.count; i++)
        if (!expand(rules_.children(e)[static_cast<size_t>(i)], rest, self, depth + 1, into)) return false;
      return true;
    }
    if (e.kind == Kind::kSequence && e.count > 0) {
      const std::span<const ExprId> parts = rules_.children(e);
      rest.insert(rest.begin(), parts.begin() + 1, parts.end());
      return expand(parts[0], std::move(rest), self, depth + 1, into);
    }
    if (e.kind == Kind::kRule && e.value != self && in_group(e.value) && begins_with(e.value, self))
      return expand(rules_.rules()[static_cast<size_t>(e.value)].body, std::move(rest), self, depth + 1,
                    into);
    rest.insert(rest.begin(), id);
    into.push_back(rules_.sequence(rest));
    return true;
  }

  Ebnf& rules_;
  const std::vector<RuleId>& group_;
};

}  // namespace

void remove_left_cycles(Ebnf& rules, const std::vector<RuleId>& group) {
  // Each rule looks at all others of its group.
  constexpr size_t kMaxGroup = 200;
  if (group.size() > 1 && group.size() <= kMaxGroup) LeftCycles(rules, group).remove();
}

}  // namespace brass::grammar
