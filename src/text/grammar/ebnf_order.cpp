#include <algorithm>

#include "text/grammar/ebnf_lower.h"

namespace brass::grammar {
namespace {

using ExprId = Ebnf::ExprId;
using RuleId = Ebnf::RuleId;
using Kind = Ebnf::Kind;

void collect_references(const Ebnf& rules, ExprId id, std::vector<RuleId>& into) {
  const Ebnf::Expr& e = rules.at(id);
  if (e.kind == Kind::kRule) into.push_back(e.value);
  if (e.kind == Kind::kRepeat) collect_references(rules, e.value, into);
  for (const ExprId child : rules.children(e)) collect_references(rules, child, into);
}

// Tarjan, Depth-first search and linear graph algorithms (1972), with a stack of its own: chains of rules may be long.
class Components {
 public:
  explicit Components(const Ebnf& rules) : rules_(rules), state_(rules.rules().size()) {}

  std::vector<std::vector<RuleId>> from(RuleId root) {
    visit(root);
    while (!calls_.empty()) {
      Call& call = calls_.back();
      if (call.next < call.references.size()) {
        const RuleId other = call.references[call.next++];
        if (at(other).index < 0)
          visit(other);
        else if (at(other).open)
          at(call.rule).low = std::min(at(call.rule).low, at(other).index);
        continue;
      }
      const RuleId done = call.rule;
      calls_.pop_back();
      if (!calls_.empty()) at(calls_.back().rule).low = std::min(at(calls_.back().rule).low, at(done).low);
      if (at(done).low == at(done).index) close(done);
    }
    return std::move(groups_);
  }

 private:
  struct State {
    int32_t index = -1, low = 0;
    bool open = false;
  };
  struct Call {
    RuleId rule;
    std::vector<RuleId> references;
    size_t next = 0;
  };

  State& at(RuleId rule) { return state_[static_cast<size_t>(rule)]; }

  void visit(RuleId rule) {
    at(rule) = {.index = count_, .low = count_, .open = true};
    count_++;
    open_.push_back(rule);
    Call call{.rule = rule, .references = {}};
    collect_references(rules_, rules_.rules()[static_cast<size_t>(rule)].body, call.references);
    calls_.push_back(std::move(call));
  }

  void close(RuleId rule) {
    std::vector<RuleId> group;
    do {
      group.push_back(open_.back());
      at(open_.back()).open = false;
      open_.pop_back();
    } while (group.back() != rule);
    groups_.push_back(std::move(group));
  }

  const Ebnf& rules_;
  std::vector<State> state_;
  std::vector<Call> calls_;
  std::vector<RuleId> open_;
  std::vector<std::vector<RuleId>> groups_;
  int32_t count_ = 0;
};

// ---- alternatives that refer to their own rule at an end

struct Ends {
  std::vector<ExprId> neither, prefix, suffix, infix;
};

void flatten(const Ebnf& rules, ExprId id, Kind kind, std::vector<ExprId>& into) {
  const Ebnf::Expr e = rules.at(id);
  if (e.kind != kind) {
    into.push_back(id);
    return;
  }
  for (const ExprId child : rules.children(e)) flatten(rules, child, kind, into);
}

Ends sort_by_ends(Ebnf& rules, RuleId rule) {
  Ends ends;
  std::vector<ExprId> alternatives;
  flatten(rules, rules.rules()[static_cast<size_t>(rule)].body, Kind::kChoice, alternatives);
  const auto is_self = [&](ExprId id) {
    return rules.at(id).kind == Kind::kRule && rules.at(id).value == rule;
  };
  for (const ExprId alternative : alternatives) {
    std::vector<ExprId> parts;
    flatten(rules, alternative, Kind::kSequence, parts);
    const bool first = !parts.empty() && is_self(parts.front());
    const bool last = !parts.empty() && is_self(parts.back());
    if (!first && !last) {
      ends.neither.push_back(alternative);
    } else if (parts.size() > 1) {  // the rule alone says nothing
      const std::span<const ExprId> inner =
          std::span(parts).subspan(first ? 1 : 0, parts.size() - (first ? 1 : 0) - (last ? 1 : 0));
      (first && last ? ends.infix : first ? ends.suffix : ends.prefix).push_back(rules.sequence(inner));
    }
  }
  return ends;
}

}  // namespace

std::vector<std::vector<RuleId>> order_rules(const Ebnf& rules, RuleId root) {
  return Components(rules).from(root);
}

ExprId without_own_ends(Ebnf& rules, RuleId rule) {
  const ExprId body = rules.rules()[static_cast<size_t>(rule)].body;
  const Ends ends = sort_by_ends(rules, rule);
  const bool alone = ends.prefix.empty() && ends.suffix.empty() && ends.infix.empty();
  // Without an alternative to begin with no text is ever finished: freeze() says so.
  if (ends.neither.empty()) return body;
  if (alone) return rules.choice(ends.neither);
  std::vector<ExprId> unit;
  if (!ends.prefix.empty()) unit.push_back(rules.repeat(rules.choice(ends.prefix), 0, -1));
  unit.push_back(rules.choice(ends.neither));
  if (!ends.suffix.empty()) unit.push_back(rules.repeat(rules.choice(ends.suffix), 0, -1));
  const ExprId operand = rules.sequence(unit);
  if (ends.infix.empty()) return operand;
  const ExprId pair[] = {rules.choice(ends.infix), operand};
  const ExprId whole[] = {operand, rules.repeat(rules.sequence(pair), 0, -1)};
  return rules.sequence(whole);
}

}  // namespace brass::grammar
