#include "text/grammar/ebnf_lower.h"

#include <algorithm>
#include <limits>

#include "text/grammar/choices.h"

namespace brass::grammar {
namespace {

using ExprId = Ebnf::ExprId;
using RuleId = Ebnf::RuleId;
using Kind = Ebnf::Kind;

// A regular expression that tells more places apart stays rules: the sets of places that its derivatives stand for
// could be too many.
constexpr uint64_t kMaxWeight = 4096;
// A repeated single character is one place and a count; a long count is not worth its length.
constexpr uint64_t kMaxCountWeight = 256;
// A tree of literals is walked without choices.
constexpr uint64_t kLiteralsWeight = 64;

uint64_t times(uint64_t a, uint64_t b) {
  return b != 0 && a > std::numeric_limits<uint64_t>::max() / b ? std::numeric_limits<uint64_t>::max()
                                                                : a * b;
}

uint64_t plus(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max() : a + b;
}

// What an expression became: a regular expression, or a node.
struct Part {
  RegexId regex = -1;
  NodeId node = -1;
  uint64_t weight = 0;
  bool regular() const { return regex >= 0; }
};

class Lowering {
 public:
  Lowering(Ebnf& rules, Grammar& grammar) : rules_(rules), grammar_(grammar), parts_(rules.rules().size()) {}

  NodeId run(RuleId root) {
    for (const std::vector<RuleId>& group : order_rules(rules_, root)) {
      if (group.size() == 1) {
        lower_alone(group[0]);
        continue;
      }
      remove_left_cycles(rules_, group);
      for (const RuleId r : group) parts_[static_cast<size_t>(r)].node = grammar_.rule(name(r));
      for (const RuleId r : group)
        grammar_.define(parts_[static_cast<size_t>(r)].node, as_node(lower(without_own_ends(rules_, r))));
    }
    return as_node(parts_[static_cast<size_t>(root)]);
  }

 private:
  const std::string& name(RuleId r) const { return rules_.rules()[static_cast<size_t>(r)].name; }

  void lower_alone(RuleId r) {
    const ExprId body = without_own_ends(rules_, r);
    if (!refers_to(body, r)) {
      Part part = lower(body);
      // A name for what is not small, so that errors have it and users share it.
      if (!part.regular()) {
        const NodeId node = grammar_.rule(name(r));
        grammar_.define(node, part.node);
        part.node = node;
      }
      parts_[static_cast<size_t>(r)] = part;
      return;
    }
    parts_[static_cast<size_t>(r)].node = grammar_.rule(name(r));
    grammar_.define(parts_[static_cast<size_t>(r)].node, as_node(lower(body)));
  }

  bool refers_to(ExprId id, RuleId r) const {
    const Ebnf::Expr& e = rules_.at(id);
    if (e.kind == Kind::kRule) return e.value == r;
    if (e.kind == Kind::kRepeat) return refers_to(e.value, r);
    return std::ranges::any_of(rules_.children(e), [&](ExprId child) { return refers_to(child, r); });
  }

  NodeId as_node(const Part& part) { return part.regular() ? grammar_.terminal(part.regex) : part.node; }

  Part lower(ExprId id) {
    const Ebnf::Expr e = rules_.at(id);
    switch (e.kind) {
      case Kind::kText: {
        const std::string& text = rules_.text_of(e);
        return {.regex = rules_.regexes().literal(text), .weight = text.size()};
      }
      case Kind::kRegex:
        return {.regex = e.value, .weight = e.weight};
      case Kind::kRule:
        return parts_[static_cast<size_t>(e.value)];
      case Kind::kRepeat:
        return lower_repeat(e);
      case Kind::kSequence:
        return lower_sequence(e);
      case Kind::kChoice:
        return lower_choice(e);
    }
    return {};
  }

  Part lower_repeat(const Ebnf::Expr& e) {
    const Part body = lower(e.value);
    const auto count = static_cast<uint64_t>(e.max >= 0 ? e.max : e.min + 1);
    const uint64_t weight = body.weight <= 1 ? std::min(count, kMaxCountWeight)
                                             : times(body.weight, std::max<uint64_t>(count, 1));
    if (body.regular() && weight <= kMaxWeight)
      return {.regex = rules_.regexes().repeat(body.regex, e.min, e.max), .weight = weight};
    return {.node = grammar_.repeat(as_node(body), e.min, e.max)};
  }

  // Neighbours that are regular become one expression.
  Part lower_sequence(const Ebnf::Expr& e) {
    std::vector<NodeId> nodes;
    std::vector<RegexId> run;
    uint64_t weight = 0;
    const auto end_run = [&] {
      if (!run.empty()) nodes.push_back(grammar_.terminal(rules_.regexes().concat(run)));
      run.clear();
      weight = 0;
    };
    for (int32_t i = 0; i < e.count; i++) {
      const Part part = lower(rules_.children(e)[static_cast<size_t>(i)]);
      if (!part.regular() || plus(weight, part.weight) > kMaxWeight) end_run();
      if (part.regular()) {
        run.push_back(part.regex);
        weight = plus(weight, part.weight);
      } else {
        nodes.push_back(part.node);
      }
    }
    if (nodes.empty()) return {.regex = rules_.regexes().concat(run), .weight = weight};
    end_run();
    if (nodes.size() == 1) return {.node = nodes[0]};
    return {.node = grammar_.sequence(std::move(nodes))};
  }

  // All alternatives that are regular become one expression, literal ones a tree.
  Part lower_choice(const Ebnf::Expr& e) {
    std::vector<NodeId> nodes;
    std::vector<std::string> literals;
    std::vector<RegexId> run;
    uint64_t weight = 0;
    const auto end_run = [&] {
      if (!run.empty()) nodes.push_back(grammar_.terminal(rules_.regexes().any_of(run)));
      run.clear();
      weight = 0;
    };
    const auto take = [&](const Part& part) {
      if (!part.regular()) return nodes.push_back(part.node);
      if (plus(weight, part.weight) > kMaxWeight) end_run();
      run.push_back(part.regex);
      weight = plus(weight, part.weight);
    };
    for (int32_t i = 0; i < e.count; i++) {
      const ExprId child = rules_.children(e)[static_cast<size_t>(i)];
      if (rules_.at(child).kind == Kind::kText)
        literals.push_back(rules_.text_of(rules_.at(child)));
      else
        take(lower(child));
    }
    if (!literals.empty()) take(tree_of(literals));
    if (nodes.empty()) return {.regex = rules_.regexes().any_of(run), .weight = weight};
    end_run();
    if (nodes.size() == 1) return {.node = nodes[0]};
    return {.node = grammar_.choice(std::move(nodes))};
  }

  Part tree_of(const std::vector<std::string>& literals) {
    uint64_t size = 0;
    for (const std::string& text : literals) size += text.size();
    return {.regex = any_literal(rules_.regexes(), literals), .weight = std::min(size, kLiteralsWeight)};
  }

  Ebnf& rules_;
  Grammar& grammar_;
  std::vector<Part> parts_;  // [rule]
};

}  // namespace

NodeId lower_rules(Ebnf& rules, Grammar& grammar, RuleId root) { return Lowering(rules, grammar).run(root); }

}  // namespace brass::grammar
