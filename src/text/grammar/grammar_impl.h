// The nodes of a grammar, and what freeze() finds out about them.
//
// Invariants after freeze(): whatever can be reached from the root matches some text; no node reaches itself without
// reading a byte; a repetition whose turn may be empty has no minimum.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "text/grammar/grammar.h"

namespace brass::grammar {

enum class NodeKind : uint8_t {
  kNothing,
  kEmpty,
  kText,
  kTerminal,
  kSequence,
  kChoice,
  kRepeat,
  kObject,
  kAnyOrder,
  kRule
};

struct Node {
  NodeKind kind = NodeKind::kNothing;
  Spelling spelling = Spelling::kPlain;
  bool nullable = false;      // matches the empty text
  bool productive = false;    // matches some text
  std::string text;           // kText: its bytes; kRule: its name
  RegexId regex = -1;         // kTerminal
  std::vector<NodeId> parts;  // kSequence, kChoice
  NodeId body = -1;           // kRepeat, kRule (-1: not defined)
  NodeId separator = -1;      // kRepeat
  int min = 0, max = 0;       // kRepeat
  int object = -1;            // kObject: index of its data; kAnyOrder: index of its parts
};

// The keys of an object as a tree of code points; a node holds the keys [low, high) of the sorted list.
struct KeyNode {
  int low = 0, high = 0;
  int key = -1;  // the key that ends here, by place in the sorted list
  std::vector<std::pair<char32_t, int>> next;
};

struct ObjectData {
  Members members;
  std::vector<int> sorted;    // member of each place in the sorted list
  std::vector<KeyNode> tree;  // [0]: the root
  int required = 0;           // how many are
  bool tracks = false;        // distinct pattern keys must be told apart, for their number matters
};

struct Grammar::Impl {
  mutable RegexArena regexes;  // states are made when they are met, under the lock of `mutex`
  std::vector<Node> nodes;
  std::vector<ObjectData> objects;
  std::vector<AnyOrder> orders;
  std::map<std::string, NodeId, std::less<>> rules;
  NodeId root = -1;
  bool frozen = false, nothing = false;
  mutable std::mutex mutex;

  Node& at(NodeId id) { return nodes[static_cast<size_t>(id)]; }
  const Node& at(NodeId id) const { return nodes[static_cast<size_t>(id)]; }
  NodeId add(Node node);
  // What a node is made of, in the order of the text.
  std::vector<NodeId> children(NodeId id) const;
};

// The steps of freeze(), in this order.
Result<> check_defined(const Grammar::Impl& grammar, std::span<const NodeId> reachable);
void remove_unproductive(Grammar::Impl& grammar, std::span<const NodeId> reachable);
Result<> check_productive(const Grammar::Impl& grammar);
void remove_left_recursion(Grammar::Impl& grammar, std::span<const NodeId> reachable);
void find_nullable(Grammar::Impl& grammar, std::span<const NodeId> reachable);
Result<> check_left(const Grammar::Impl& grammar, std::span<const NodeId> reachable);
Result<> prepare_object(Grammar::Impl& grammar, ObjectData& object);

std::vector<NodeId> reachable_nodes(const Grammar::Impl& grammar, NodeId root);

}  // namespace brass::grammar
