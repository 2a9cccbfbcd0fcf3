// The store behind RegexArena: expressions, sets of code points, states.
//
// Invariants: expressions are shared: equal after simplification means equal ids. A child is made before its parent, so
// ids only point down. Concatenations are lists (right-nested, a head is never itself one); unions and intersections
// are sorted, flat and without repetition.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "text/grammar/code_points.h"
#include "text/grammar/regex.h"

namespace brass::grammar {

enum class RegexKind : uint8_t { kNothing, kEmpty, kSet, kConcat, kOr, kAnd, kNot, kRepeat };

struct RegexNode {
  RegexKind kind;
  bool nullable = false;
  bool guarded = false;  // holds an intersection or a complement: not nothing says little about it
  int32_t a = -1,
          b = -1;  // concat: head, tail; not, repeat: a; set: a = the set; or, and: members [a, a + b)
  int32_t min = 0, max = 0;  // repeat
  int32_t shortest = 0,
          longest = 0;  // bounds of the lengths of its strings, in code points; longest -1: none
};

struct RegexState {
  std::vector<RegexArena::Edge> raw;    // targets may be without strings
  std::vector<RegexArena::Edge> edges;  // live targets only
  bool filtered = false;
};

struct RegexArena::Impl {
  std::vector<RegexNode> nodes;
  std::vector<RegexId> members;
  std::vector<CodePoints> sets;
  std::vector<std::unique_ptr<RegexState>> states;  // by expression
  std::vector<int8_t> liveness;                     // by expression: 0 not known, 1 live, -1 dead
  bool exhausted = false;
  RegexId nothing, empty, any_point, everything;

  Impl();
  const RegexNode& at(RegexId id) const { return nodes[static_cast<size_t>(id)]; }
  std::span<const RegexId> parts(RegexId id) const {
    const RegexNode& node = at(id);
    return std::span(members).subspan(static_cast<size_t>(node.a), static_cast<size_t>(node.b));
  }

  RegexId set(CodePoints points);
  RegexId concat(RegexId head, RegexId tail);
  RegexId any_of(std::vector<RegexId> list);
  RegexId all_of(std::vector<RegexId> list);
  RegexId negate(RegexId id);
  RegexId repeat(RegexId body, int64_t min, int64_t max);

  RegexId derivative(RegexId id, char32_t point);
  RegexId relaxed(RegexId id, int64_t length);
  bool is_live(RegexId id);
  int64_t count_strings(RegexId id, int64_t limit, std::unordered_map<RegexId, int64_t>& known, int depth);
  const std::vector<Edge>& edges(RegexId id);

 private:
  // `body` between `min` and `max` times: how any expression can be read.
  struct Counted {
    RegexId body;
    int64_t min, max;
  };
  Counted counted(RegexId id) const;
  RegexId intern(RegexNode node, std::span<const RegexId> list = {});
  void measure(RegexNode& node, std::span<const RegexId> list) const;
  void flatten(std::vector<RegexId>& list, RegexKind kind) const;
  void merge_sets(std::vector<RegexId>& list, bool unite);
  void merge_repeats(std::vector<RegexId>& list);
  void factor(std::vector<RegexId>& list);
  bool bound_lengths(std::vector<RegexId>& list);
  RegexId derive(RegexId id, char32_t point);
  RegexState& state(RegexId id);  // with raw edges
  void collect_sets(RegexId id, std::vector<int32_t>& out);

  std::vector<uint64_t> hashes_;  // by expression
  std::vector<int32_t> table_;    // open addressing over nodes; -1: free
  std::unordered_multimap<uint64_t, int32_t> set_by_hash_;
  // What this round of derive() or collect_sets() has seen, so that a shared expression is visited once.
  uint32_t round_ = 0;
  std::vector<uint32_t> seen_;
  std::vector<RegexId> derived_;
};

}  // namespace brass::grammar
