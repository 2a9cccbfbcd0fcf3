#include "text/grammar/grammar.h"

#include <algorithm>

#include "base/check.h"
#include "text/grammar/grammar_impl.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar {

Grammar::Grammar() : impl_(std::make_unique<Impl>()) {}
Grammar::~Grammar() = default;

RegexArena& Grammar::regexes() { return impl_->regexes; }

NodeId Grammar::Impl::add(Node node) {
  ENSURE(!frozen, "a frozen grammar does not change");
  const auto known = [&](NodeId id) { return id >= 0 && static_cast<size_t>(id) < nodes.size(); };
  for (const NodeId part : node.parts) ENSURE(known(part), "node {}", part);
  nodes.push_back(std::move(node));
  return static_cast<NodeId>(nodes.size() - 1);
}

NodeId Grammar::text(std::string_view utf8) {
  if (utf8.empty()) return impl_->add({.kind = NodeKind::kEmpty});
  return impl_->add({.kind = NodeKind::kText, .text = std::string(utf8)});
}

NodeId Grammar::control(std::string_view piece) { return text(kControlByte + std::string(piece)); }

NodeId Grammar::terminal(RegexId regex, Spelling spelling) {
  return impl_->add({.kind = NodeKind::kTerminal, .spelling = spelling, .regex = regex});
}

NodeId Grammar::sequence(std::vector<NodeId> parts) {
  if (parts.empty()) return impl_->add({.kind = NodeKind::kEmpty});
  if (parts.size() == 1) return parts[0];
  return impl_->add({.kind = NodeKind::kSequence, .parts = std::move(parts)});
}

NodeId Grammar::choice(std::vector<NodeId> parts) {
  if (parts.empty()) return impl_->add({.kind = NodeKind::kNothing});
  if (parts.size() == 1) return parts[0];
  return impl_->add({.kind = NodeKind::kChoice, .parts = std::move(parts)});
}

NodeId Grammar::repeat(NodeId body, int min, int max, NodeId separator) {
  ENSURE(min >= 0 && (max < 0 || min <= max), "counts {} to {}", min, max);
  if (max == 0) return impl_->add({.kind = NodeKind::kEmpty});
  return impl_->add(
      {.kind = NodeKind::kRepeat, .body = body, .separator = separator, .min = min, .max = max});
}

NodeId Grammar::object(Members members) {
  ENSURE(members.min >= 0, "at least {} members", members.min);
  impl_->objects.push_back({.members = std::move(members)});
  return impl_->add({.kind = NodeKind::kObject, .object = static_cast<int>(impl_->objects.size() - 1)});
}

NodeId Grammar::any_order(AnyOrder parts) {
  ENSURE(parts.min >= 0, "at least {} parts", parts.min);
  impl_->orders.push_back(std::move(parts));
  return impl_->add({.kind = NodeKind::kAnyOrder, .object = static_cast<int>(impl_->orders.size() - 1)});
}

AnyOrder::Part Grammar::part_again(const AnyOrder::Key& key) {
  std::vector<NodeId> parts = {terminal(key.regex, key.spelling), key.behind};
  if (key.before >= 0) parts.insert(parts.begin(), key.before);
  return {.body = sequence(std::move(parts)), .required = false, .again = key};
}

NodeId Grammar::rule(std::string_view name) {
  if (const auto found = impl_->rules.find(name); found != impl_->rules.end()) return found->second;
  const NodeId id = impl_->add({.kind = NodeKind::kRule, .text = std::string(name)});
  impl_->rules.emplace(name, id);
  return id;
}

void Grammar::define(NodeId rule, NodeId body) {
  ENSURE(impl_->at(rule).kind == NodeKind::kRule, "node {} is no rule", rule);
  ENSURE(impl_->at(rule).body < 0, "rule '{}' is defined twice", impl_->at(rule).text);
  impl_->at(rule).body = body;
}

std::vector<NodeId> Grammar::Impl::children(NodeId id) const {
  const Node& node = at(id);
  std::vector<NodeId> out = node.parts;
  if (node.body >= 0) out.push_back(node.body);
  if (node.separator >= 0) out.push_back(node.separator);
  if (node.kind == NodeKind::kObject) {
    const Members& members = objects[static_cast<size_t>(node.object)].members;
    for (const Members::Named& named : members.named) out.push_back(named.value);
    for (const Members::Pattern& pattern : members.patterns) out.push_back(pattern.value);
    if (members.space >= 0) out.push_back(members.space);
  }
  if (node.kind == NodeKind::kAnyOrder) {
    const AnyOrder& order = orders[static_cast<size_t>(node.object)];
    for (const AnyOrder::Part& part : order.parts) out.push_back(part.body);
    if (order.separator >= 0) out.push_back(order.separator);
  }
  return out;
}

// Children before those that use them, but for rules.
std::vector<NodeId> reachable_nodes(const Grammar::Impl& grammar, NodeId root) {
  std::vector<NodeId> out;
  std::vector<bool> seen(grammar.nodes.size());
  struct Visit {
    NodeId id;
    std::vector<NodeId> children;
    size_t next = 0;
  };
  std::vector<Visit> stack;
  const auto enter = [&](NodeId id) {
    if (seen[static_cast<size_t>(id)]) return;
    seen[static_cast<size_t>(id)] = true;
    stack.push_back({id, grammar.children(id)});
  };
  enter(root);
  while (!stack.empty()) {
    Visit& top = stack.back();
    if (top.next < top.children.size()) {
      enter(top.children[top.next++]);  // may move `top`
    } else {
      out.push_back(top.id);
      stack.pop_back();
    }
  }
  return out;
}

namespace {

// Many texts to choose from are one automaton: a step then does not depend on how many there are.
void join_texts(Grammar::Impl& grammar, Node& choice) {
  const auto is_text = [&](NodeId id) {
    const std::string& text = grammar.at(id).text;
    return grammar.at(id).kind == NodeKind::kText && tokens::valid_utf8_end(text, 0) == text.size();
  };
  std::vector<std::string_view> texts;
  for (const NodeId part : choice.parts) {
    if (is_text(part)) texts.push_back(grammar.at(part).text);
  }
  if (texts.size() < 3) return;
  const RegexId regex = grammar.regexes.any_literal(texts);
  std::erase_if(choice.parts, is_text);
  grammar.nodes.push_back({.kind = NodeKind::kTerminal, .regex = regex});
  choice.parts.push_back(static_cast<NodeId>(grammar.nodes.size() - 1));
}

// What may come in any order reads something.
void check_parts(const Grammar::Impl& grammar, const Node& node) {
  const AnyOrder& order = grammar.orders[static_cast<size_t>(node.object)];
  for (const AnyOrder::Part& part : order.parts) {
    ENSURE(!grammar.at(part.body).nullable, "a part that may come in any order matches the empty text");
    ENSURE(!part.again || order.distinct || !grammar.at(part.again->behind).nullable, "nothing ends a key");
    ENSURE(!part.again || part.again->before < 0 || !grammar.at(part.again->before).nullable,
           "what stands before a key matches the empty text");
  }
}

}  // namespace

bool Grammar::matches_nothing() const { return impl_->nothing; }

Result<> Grammar::freeze(NodeId root) {
  Impl& grammar = *impl_;
  ENSURE(!grammar.frozen, "frozen twice");
  grammar.root = root;
  std::vector<NodeId> reachable = reachable_nodes(grammar, root);
  TRY_VOID(check_defined(grammar, reachable));
  for (const NodeId id : reachable) {
    if (grammar.at(id).kind != NodeKind::kChoice) continue;
    Node choice = std::move(grammar.at(id));
    join_texts(grammar, choice);
    grammar.at(id) = std::move(choice);
  }
  remove_left_recursion(grammar, reachable);
  reachable = reachable_nodes(grammar, root);
  remove_unproductive(grammar, reachable);
  grammar.nothing = !grammar.at(root).productive;
  TRY_VOID(check_productive(grammar));
  reachable = reachable_nodes(grammar, root);
  find_nullable(grammar, reachable);
  TRY_VOID(check_left(grammar, reachable));
  for (const NodeId id : reachable) {
    const Node& node = grammar.at(id);
    if (node.kind == NodeKind::kAnyOrder) check_parts(grammar, node);
    if (node.kind == NodeKind::kTerminal)
      grammar.regexes.edges(node.regex);  // too large is found here, not in a reply
    if (node.kind == NodeKind::kObject)
      TRY_VOID(prepare_object(grammar, grammar.objects[static_cast<size_t>(node.object)]));
  }
  if (grammar.regexes.exhausted()) return wrong_use("grammar: its regular expressions are too large");
  grammar.frozen = true;
  return {};
}

}  // namespace brass::grammar
