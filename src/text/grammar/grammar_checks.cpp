// What freeze() proves, and what it removes.
#include <algorithm>
#include <set>

#include "text/grammar/grammar_impl.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar {

namespace {

constexpr int kDeepestLeft = 1000;  // nodes entered without reading a byte
constexpr int kMostAtOnce = 4096;   // ways open at one place

// Decides a property of all nodes that follows from their parts and only ever turns true.
template <class Test>
void settle(Grammar::Impl& grammar, std::span<const NodeId> reachable, bool Node::* property,
            const Test& holds) {
  std::vector<std::vector<NodeId>> users(grammar.nodes.size());
  for (const NodeId id : reachable) {
    for (const NodeId child : grammar.children(id)) users[static_cast<size_t>(child)].push_back(id);
  }
  std::vector<NodeId> todo(reachable.rbegin(), reachable.rend());
  while (!todo.empty()) {
    const NodeId id = todo.back();
    todo.pop_back();
    if (grammar.at(id).*property || !holds(grammar.at(id))) continue;
    grammar.at(id).*property = true;
    const auto& again = users[static_cast<size_t>(id)];
    todo.insert(todo.end(), again.begin(), again.end());
  }
}

bool object_is_productive(const Grammar::Impl& grammar, const Members& members) {
  const auto productive = [&](NodeId id) { return grammar.at(id).productive; };
  if (members.space >= 0 && !productive(members.space)) return false;
  int required = 0, possible = 0;
  for (const Members::Named& named : members.named) {
    if (named.required && !productive(named.value)) return false;
    required += named.required;
    possible += productive(named.value);
  }
  if (members.max >= 0 && std::max(required, members.min) > members.max) return false;
  // Whether patterns with few keys give enough of them is seen when the object is prepared.
  const bool patterns = std::any_of(members.patterns.begin(), members.patterns.end(),
                                    [&](const Members::Pattern& p) { return productive(p.value); });
  return patterns || possible >= members.min;
}

bool order_is_productive(const Grammar::Impl& grammar, const AnyOrder& order) {
  int required = 0;
  int64_t possible = 0;
  for (const AnyOrder::Part& part : order.parts) {
    const bool productive = grammar.at(part.body).productive;
    if (part.required && !productive) return false;
    required += part.required;
    if (productive)
      possible += part.again ? grammar.regexes.count_strings(part.again->regex, std::max(order.min, 1)) : 1;
  }
  const bool several = order.separator < 0 || grammar.at(order.separator).productive;
  const int least = std::max(required, order.min);
  if (order.max >= 0 && least > order.max) return false;
  return possible >= order.min && (several || least <= 1);
}

bool is_productive(const Grammar::Impl& grammar, const Node& node) {
  const auto productive = [&](NodeId id) { return grammar.at(id).productive; };
  switch (node.kind) {
    case NodeKind::kNothing:
      return false;
    case NodeKind::kEmpty:
    case NodeKind::kText:
      return true;
    case NodeKind::kTerminal:
      return grammar.regexes.is_live(node.regex);
    case NodeKind::kSequence:
      return std::all_of(node.parts.begin(), node.parts.end(), productive);
    case NodeKind::kChoice:
      return std::any_of(node.parts.begin(), node.parts.end(), productive);
    case NodeKind::kRepeat:
      return node.min == 0 ||
             (productive(node.body) && (node.min == 1 || node.separator < 0 || productive(node.separator)));
    case NodeKind::kRule:
      return productive(node.body);
    case NodeKind::kObject:
      return object_is_productive(grammar, grammar.objects[static_cast<size_t>(node.object)].members);
    case NodeKind::kAnyOrder:
      return order_is_productive(grammar, grammar.orders[static_cast<size_t>(node.object)]);
  }
  return false;
}

bool is_nullable(const Grammar::Impl& grammar, const Node& node) {
  const auto nullable = [&](NodeId id) { return grammar.at(id).nullable; };
  switch (node.kind) {
    case NodeKind::kEmpty:
      return true;
    case NodeKind::kTerminal:
      return grammar.regexes.matches_empty(node.regex);
    case NodeKind::kSequence:
      return std::all_of(node.parts.begin(), node.parts.end(), nullable);
    case NodeKind::kChoice:
      return std::any_of(node.parts.begin(), node.parts.end(), nullable);
    case NodeKind::kRepeat:
      return node.min == 0 ||
             (nullable(node.body) && (node.min == 1 || node.separator < 0 || nullable(node.separator)));
    case NodeKind::kRule:
      return nullable(node.body);
    case NodeKind::kAnyOrder: {
      const AnyOrder& order = grammar.orders[static_cast<size_t>(node.object)];
      return order.min == 0 && std::none_of(order.parts.begin(), order.parts.end(),
                                            [](const AnyOrder::Part& part) { return part.required; });
    }
    default:
      return false;
  }
}

// What may stand at the left end of a node.
std::vector<NodeId> leftmost(const Grammar::Impl& grammar, const Node& node) {
  if (node.kind == NodeKind::kChoice) return node.parts;
  if (node.kind == NodeKind::kRule) return {node.body};
  std::vector<NodeId> out;
  if (node.kind == NodeKind::kSequence) {
    for (const NodeId part : node.parts) {
      out.push_back(part);
      if (!grammar.at(part).nullable) break;
    }
  }
  if (node.kind == NodeKind::kAnyOrder) {
    for (const AnyOrder::Part& part : grammar.orders[static_cast<size_t>(node.object)].parts)
      out.push_back(part.body);
  }
  if (node.kind == NodeKind::kRepeat) {
    out.push_back(node.body);
    if (node.separator >= 0 && grammar.at(node.body).nullable) out.push_back(node.separator);
  }
  return out;
}

}  // namespace

Result<> check_defined(const Grammar::Impl& grammar, std::span<const NodeId> reachable) {
  for (const NodeId id : reachable) {
    const Node& node = grammar.at(id);
    if (node.kind == NodeKind::kRule && node.body < 0)
      return wrong_use("grammar: rule '{}' is used but not defined", node.text);
  }
  return {};
}

// A: A x | y becomes A: y x*.
void remove_left_recursion(Grammar::Impl& grammar, std::span<const NodeId> reachable) {
  const auto add = [&](Node node) {
    grammar.nodes.push_back(std::move(node));
    return static_cast<NodeId>(grammar.nodes.size() - 1);
  };
  const auto any = [&](std::vector<NodeId> parts) {
    return parts.size() == 1 ? parts[0] : add({.kind = NodeKind::kChoice, .parts = std::move(parts)});
  };
  for (const NodeId id : reachable) {
    if (grammar.at(id).kind != NodeKind::kRule) continue;
    const Node body = grammar.at(grammar.at(id).body);
    if (body.kind != NodeKind::kChoice) continue;
    std::vector<NodeId> starts, turns;
    for (const NodeId part : body.parts) {
      const Node& way = grammar.at(part);
      if (part == id) continue;  // A: A says nothing
      if (way.kind != NodeKind::kSequence || way.parts[0] != id) {
        starts.push_back(part);
      } else if (way.parts.size() == 2) {
        turns.push_back(way.parts[1]);
      } else {
        turns.push_back(
            add({.kind = NodeKind::kSequence, .parts = {way.parts.begin() + 1, way.parts.end()}}));
      }
    }
    if (starts.size() == body.parts.size() || starts.empty()) continue;
    NodeId made = any(std::move(starts));
    if (!turns.empty()) {
      const NodeId loop =
          add({.kind = NodeKind::kRepeat, .body = any(std::move(turns)), .min = 0, .max = -1});
      made = add({.kind = NodeKind::kSequence, .parts = {made, loop}});
    }
    grammar.at(id).body = made;
  }
}

void remove_unproductive(Grammar::Impl& grammar, std::span<const NodeId> reachable) {
  settle(grammar, reachable, &Node::productive,
         [&](const Node& node) { return is_productive(grammar, node); });
  const auto dead = [&](NodeId id) { return !grammar.at(id).productive; };
  for (const NodeId id : reachable) {
    Node& node = grammar.at(id);
    if (node.kind == NodeKind::kChoice) std::erase_if(node.parts, dead);
    if (node.kind == NodeKind::kRepeat && node.separator >= 0 && dead(node.separator))
      node.max = 1, node.separator = -1;
    if (node.kind == NodeKind::kRepeat && node.min == 0 && dead(node.body))
      node = {.kind = NodeKind::kEmpty, .productive = true};
    if (node.kind == NodeKind::kObject) {
      Members& members = grammar.objects[static_cast<size_t>(node.object)].members;
      std::erase_if(members.named, [&](const Members::Named& m) { return !m.required && dead(m.value); });
      std::erase_if(members.patterns, [&](const Members::Pattern& m) { return dead(m.value); });
    }
    if (node.kind == NodeKind::kAnyOrder) {
      AnyOrder& order = grammar.orders[static_cast<size_t>(node.object)];
      std::erase_if(order.parts, [&](const AnyOrder::Part& p) { return !p.required && dead(p.body); });
      if (order.separator >= 0 && dead(order.separator)) order.max = 1, order.separator = -1;
    }
  }
}

// Why the root matches nothing: the first rule on the way down from it that cannot end.
Result<> check_productive(const Grammar::Impl& grammar) {
  if (grammar.at(grammar.root).productive) return {};
  std::set<NodeId> seen;
  NodeId id = grammar.root;
  std::string_view name;
  while (seen.insert(id).second) {
    if (grammar.at(id).kind == NodeKind::kRule) name = grammar.at(id).text;
    for (const NodeId child : grammar.children(id)) {
      if (grammar.at(child).productive) continue;
      id = child;
      break;
    }
  }
  if (name.empty()) return wrong_use("grammar: no text matches it");
  return wrong_use("grammar: no text matches it, for rule '{}' has no finite text", name);
}

void find_nullable(Grammar::Impl& grammar, std::span<const NodeId> reachable) {
  settle(grammar, reachable, &Node::nullable, [&](const Node& node) { return is_nullable(grammar, node); });
  for (const NodeId id : reachable) {
    Node& node = grammar.at(id);
    if (node.kind != NodeKind::kRepeat || !grammar.at(node.body).nullable) continue;
    // Turns that read nothing can make up any number, so the least number says nothing.
    if (node.separator < 0 || grammar.at(node.separator).nullable) node.min = 0;
  }
}

// No way from a node back to itself before a byte is read, and not too many ways at once.
Result<> check_left(const Grammar::Impl& grammar, std::span<const NodeId> reachable) {
  enum State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> state(grammar.nodes.size(), kNew);
  std::vector<int> depth(grammar.nodes.size(), 1), ways(grammar.nodes.size(), 1);
  struct Visit {
    NodeId id;
    std::vector<NodeId> next;
    size_t at = 0;
  };
  std::vector<Visit> stack;
  const auto rule_on_stack = [&]() -> std::string_view {
    for (size_t i = stack.size(); i-- > 0;) {
      if (grammar.at(stack[i].id).kind == NodeKind::kRule) return grammar.at(stack[i].id).text;
    }
    return "the root";
  };
  for (const NodeId start : reachable) {
    if (state[static_cast<size_t>(start)] != kNew) continue;
    stack.push_back({start, leftmost(grammar, grammar.at(start))});
    state[static_cast<size_t>(start)] = kOpen;
    while (!stack.empty()) {
      Visit& top = stack.back();
      const auto self = static_cast<size_t>(top.id);
      if (top.at < top.next.size()) {
        const NodeId next = top.next[top.at++];
        if (state[static_cast<size_t>(next)] == kOpen) {
          return wrong_use("grammar: rule '{}' is left-recursive: it begins with itself", rule_on_stack());
        }
        if (state[static_cast<size_t>(next)] == kDone) continue;
        state[static_cast<size_t>(next)] = kOpen;
        stack.push_back({next, leftmost(grammar, grammar.at(next))});
        continue;
      }
      int sum = top.next.empty() ? 1 : 0;
      for (const NodeId next : top.next) {
        depth[self] = std::max(depth[self], depth[static_cast<size_t>(next)] + 1);
        sum = std::min(sum + ways[static_cast<size_t>(next)], kMostAtOnce + 1);
      }
      ways[self] = sum;
      if (sum > kMostAtOnce)
        return wrong_use("grammar: rule '{}' has more than {} alternatives that are no plain texts",
                         rule_on_stack(), kMostAtOnce);
      if (depth[self] > kDeepestLeft)
        return wrong_use("grammar: rule '{}' is nested too deeply", rule_on_stack());
      state[self] = kDone;
      stack.pop_back();
    }
  }
  return {};
}

namespace {

// A key as JSON has to write it: only what must be escaped is.
std::string shortest_spelling(std::string_view key) {
  std::string out;
  for (const char c : key) {
    constexpr std::string_view kShort = "\b\t\n\f\r\"\\", kLetters = "btnfr\"\\";
    if (const size_t at = kShort.find(c); at != std::string_view::npos) {
      out += '\\';
      out += kLetters[at];
    } else if (static_cast<uint8_t>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

void build_tree(ObjectData& object, std::span<const std::u32string> keys) {
  struct Todo {
    int node;
    size_t depth;
  };
  object.tree = {{.low = 0, .high = static_cast<int>(keys.size())}};
  std::vector<Todo> todo = {{0, 0}};
  while (!todo.empty()) {
    const auto [index, depth] = todo.back();
    todo.pop_back();
    const auto [low, high] =
        std::pair(object.tree[static_cast<size_t>(index)].low, object.tree[static_cast<size_t>(index)].high);
    for (int i = low; i < high;) {
      const std::u32string& key = keys[static_cast<size_t>(i)];
      if (key.size() == depth) {
        object.tree[static_cast<size_t>(index)].key = i++;
        continue;
      }
      const int begin = i;
      while (i < high && keys[static_cast<size_t>(i)].size() > depth &&
             keys[static_cast<size_t>(i)][depth] == key[depth])
        ++i;
      const auto child = static_cast<int>(object.tree.size());
      object.tree.push_back({.low = begin, .high = i});
      object.tree[static_cast<size_t>(index)].next.emplace_back(key[depth], child);
      todo.push_back({child, depth + 1});
    }
  }
}

}  // namespace

Result<> prepare_object(Grammar::Impl& grammar, ObjectData& object) {
  Members& members = object.members;
  std::erase_if(members.patterns, [&](const Members::Pattern& p) { return !grammar.regexes.is_live(p.key); });
  std::vector<std::pair<std::u32string, int>> keys;
  for (size_t i = 0; i < members.named.size(); ++i) {
    const std::string key =
        members.shortest_keys ? shortest_spelling(members.named[i].key) : members.named[i].key;
    std::u32string points;
    for (size_t at = 0; at < key.size();) {
      const tokens::Utf8Step step = tokens::utf8_step(key, at);
      if (step.state != tokens::Utf8State::kValid)
        return wrong_use("grammar: the key of member {} is not valid UTF-8", i);
      points.push_back(step.code);
      at += step.length;
    }
    keys.emplace_back(std::move(points), static_cast<int>(i));
    object.required += members.named[i].required;
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::u32string> sorted;
  for (auto& [key, member] : keys) {
    if (!sorted.empty() && sorted.back() == key)
      return wrong_use("grammar: the key '{}' is named twice",
                       members.named[static_cast<size_t>(member)].key);
    sorted.push_back(std::move(key));
    object.sorted.push_back(member);
  }
  build_tree(object, sorted);
  object.tracks = !members.patterns.empty() && members.min > std::max(object.required, 1);
  return {};
}

}  // namespace brass::grammar
