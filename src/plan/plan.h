// The plan: a graph compiled for one bucket of sizes and one device's capabilities. It is what a backend
// executes, and what the bytes, the flops, the memory, the fusion and every report are read from.
//
// Owns: compile(), the fusion rules (rules.h), the arena, barriers, cost roll-up, printing (explain.h).
// Must not know: how a device runs a step, files, architectures.
// Invariants: the steps cover every operation once, in an order that respects data; live arena values never
// overlap; between two steps that touch the same bytes (one of them writing) there is a barrier, unless both
// touch only a thread's private copy; check_plan() proves both from the declared ranges.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace brass {

// The upper bounds that a plan's buffers are made for. T: tokens of a step; R: rows whose output (logits or
// embeddings) is wanted. `hidden`: the graph's hidden rows are wanted, too. `choose`: of the logits only the largest one's
// number is (1), or so many candidates (at most kMostCandidates, or as many as there are logits); 0: all logits.
struct PlanKey {
  uint32_t t = 1, r = 1;
  bool hidden = false;
  uint32_t choose = 0;
  auto operator<=>(const PlanKey&) const = default;
};
uint32_t bucket(uint32_t n);  // 0, 1, 2, 4, 8 … the smallest power of two ≥ n

// What a device says of itself, as data.
struct Caps {
  std::string name;
  std::set<OpKind> operations;         // that it can run by themselves
  std::set<std::string_view> rules;    // fusion rules that it can run (names in rules.h)
  std::set<Type> matrix_types;         // of linear's and embed's weights
  std::map<Type, uint8_t> int8_terms;  // of the int8 activations that a type's product reads; not in it: f32
  uint32_t int8_rows = UINT32_MAX;     // T up to which it does; above, products read f32
  uint32_t rule_rows = UINT32_MAX;     // T up to which steps are joined
  // Whether rules join products of f32 activations, and of two formats; else such of int8 and one format alone.
  bool joins_any_product = true;
  uint32_t threads = 1;       // that each keep a private copy of a private value
  uint32_t private_rows = 0;  // T up to which row-wise steps run once in every thread, into private copies
  // T up to which no value of the arena takes the place of one that is no longer wanted.
  uint32_t own_place_rows = 0;
  KvBytes kv{4, 4};         // bytes of one cached value
  bool own_memory = false;  // which can be too small: Device::memory_need says
  bool runs_ahead = false;  // of plans that choose one: Device::begin
};

enum class Storage : uint8_t {
  kArena,     // offset, bytes
  kPrivate,   // the same, `threads` copies one after another, each thread reads and writes its own
  kInternal,  // lives inside one step only; the kernel keeps it
};

struct Placed {
  Storage storage = Storage::kInternal;
  uint64_t offset = 0;           // in the arena
  uint64_t bytes = 0;            // of one copy
  uint32_t stride = 0;           // f32 values, or codes, from row to row
  uint32_t first = 0, last = 0;  // steps that make it and last read it
  // Of a quantized value: the operation of the norm whose factor its scales lack, so that who reads it multiplies by it;
  // behind its sums lie those of the squares of each 32 values. -1: none.
  int32_t norm = -1;
};

// Where the parts of a quantized value of `rows` rows lie, from its offset.
struct QuantizedLayout {
  uint64_t code_stride, scale_stride;     // in elements
  uint64_t seconds, scales, sums, bytes;  // byte offsets of the parts (codes are at 0), whole size
  uint64_t
      squares_bytes;  // of the sums of squares, which lie behind the whole (Placed::norm), rows as scales
};
// `terms`: Value::int8_terms. Of one term there are no second codes, and the rest lies the same.
QuantizedLayout quantized_layout(uint32_t width, uint32_t rows, uint32_t terms);

struct Range {
  enum class Space : uint8_t { kArena, kKv } space;
  uint64_t begin, end;  // kArena: bytes; kKv: begin = group, end = layer (equal pairs overlap)
  bool is_private;
};

struct Step {
  std::string_view rule;      // the fusion rule that made it, or the operation's name
  std::vector<uint32_t> ops;  // indices into Plan::ops, in order of execution
  bool barrier = false;       // all threads meet before it
  bool in_private = false;    // every thread runs it whole, into its private copies
  std::vector<Range> reads, writes;
};

struct Plan {
  PlanKey key;
  Caps caps;
  std::shared_ptr<const Graph> source;  // the graph it was compiled from (weights, groups)
  std::vector<Value> values;            // the graph's, then those that compile inserted
  std::vector<Op> ops;                  // the graph's and the inserted ones, in order
  std::vector<Placed> placed;           // one a value
  std::vector<Step> steps;
  uint64_t arena_bytes = 0;
  std::vector<bool> groups;  // whether an operation touches this memory group
  ValueId choice = -1;       // what choose makes, where the key asks for it
  // Where devices share the work (placement.h): their plans, in order of execution. Then the steps are theirs, and this
  // plan has none of its own.
  std::vector<std::shared_ptr<const Plan>> segments;
  uint64_t moved_bytes(uint64_t t) const;  // from one device to another in a step of t tokens
  std::vector<ValueId> outputs() const;    // what is read when the plan has run

  const Value& value(ValueId v) const { return values[static_cast<size_t>(v)]; }
  const Placed& place(ValueId v) const { return placed[static_cast<size_t>(v)]; }
  const Weight& weight(WeightId w) const { return source->weights[static_cast<size_t>(w)]; }
};

// Fails when the device lacks an operation or a weight type: the message names the operation, its layer, the
// tensor.
Result<std::shared_ptr<const Plan>> compile(std::shared_ptr<const Graph> graph, PlanKey key,
                                            const Caps& caps);

// The plans that are executed, one after another: the plan itself, or its segments.
template <class Fn>
void each_part(const Plan& plan, const Fn& fn) {
  if (plan.segments.empty()) return fn(plan);
  for (const auto& segment : plan.segments) fn(*segment);
}

// Step cost at given sizes: the sum over its operations, without the values that stay inside it.
Cost step_cost(const Plan& plan, const Step& step, const Sizes& sizes);
Cost plan_cost(const Plan& plan, const Sizes& sizes);

// Declared ranges, arena offsets and barriers, from scratch (compile calls it; so does a test that moved
// something).
void declare_ranges(Plan& plan);
void place_barriers(Plan& plan);
// Proves the invariants at the top; the error names the two steps and the value.
Result<> check_plan(const Plan& plan);

}  // namespace brass
