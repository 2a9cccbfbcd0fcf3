#include "backend/vulkan/scratch.h"

#include <algorithm>

#include "backend/vulkan/overlap.h"

namespace brass::vulkan {
namespace {

// Numbers that a batch of a plan takes at most (BatchLayout).
uint64_t batch_numbers(const Plan& plan, const StepSizes& sizes) {
  const uint64_t t = plan.key.t, r = plan.key.r, tables = uint64_t{sizes.sequences} * sizes.groups;
  uint64_t hidden = 0;
  for (const Op& op : plan.ops)
    if (op.kind == OpKind::kHiddenIn) hidden = t * plan.value(op.out[0]).width;
  const uint64_t by_row = 6 * t;       // sequences, positions, ids, snapshots, newest, zeros
  const uint64_t tiles_parts = 6 * t;  // tiles of two numbers, parts of four: at most one a row
  return by_row + tiles_parts + 3 * r + tables * (1 + sizes.pages) + hidden;
}

}  // namespace

uint32_t pages_reached(const Batch& batch) {
  int32_t furthest = 0;
  for (size_t t = 0; t < batch.ids.size(); t++)
    if (batch.sequences[t] >= 0) furthest = std::max(furthest, batch.positions[t]);
  return pages_of_commands(static_cast<uint32_t>(furthest) / kPageTokens + 1);
}

ScratchBytes ScratchBytes::operator|(const ScratchBytes& o) const {
  ScratchBytes both;
  both.values = std::max(values, o.values);
  both.results = std::max(results, o.results);
  both.batch = std::max(batch, o.batch);
  both.results_ahead = std::max(results_ahead, o.results_ahead);
  both.batch_ahead = std::max(batch_ahead, o.batch_ahead);
  both.partial = std::max(partial, o.partial);
  both.prompt = prompt | o.prompt;
  return both;
}

std::map<ValueId, uint64_t> result_places(const Plan& plan) {
  std::map<ValueId, uint64_t> places;
  uint64_t bytes = 0;
  for (size_t v = 0; v < plan.values.size(); v++) {
    const Placed& placed = plan.placed[v];
    if (placed.storage == Storage::kInternal || placed.last < plan.steps.size()) continue;
    places[static_cast<ValueId>(v)] = bytes;
    bytes += (placed.bytes + 255) / 256 * 256;
  }
  return places;
}

uint64_t result_bytes(const Plan& plan) {
  uint64_t bytes = 0;
  for (const auto& [v, at] : result_places(plan))
    bytes = std::max(bytes, at + (plan.place(v).bytes + 255) / 256 * 256);
  return bytes;
}

ScratchBytes scratch_bytes(const Plan& plan, const PromptUnits& units, uint32_t lanes,
                           const StepSizes& sizes) {
  const uint64_t counters = sizes.overlap ? counter_bytes(plan) : 0;
  ScratchBytes out{.values = counters + plan.arena_bytes,
                   .results = result_bytes(plan) + (counters > 0 ? kFaultBytes : 0),
                   .batch = 4 * batch_numbers(plan, sizes),
                   .partial = partial_bytes(plan, pages_of_commands(sizes.pages), lanes),
                   .prompt = prompt_bytes(plan, units)};
  if (plan.key.choose == 1) out.results_ahead = out.results, out.batch_ahead = out.batch;
  return out;
}

std::array<Buffer*, 11> Scratch::all() {
  return {&values_,  &results_, &batch_,  &results_ahead_, &batch_ahead_, &partial_,
          &weights_, &rows_,    &scales_, &lists_,         &gates_};
}

bool Scratch::holds(const ScratchBytes& bytes) const {
  size_t i = 0;
  bool all_fit = true;
  const auto buffers = const_cast<Scratch*>(this)->all();
  each_scratch(bytes, [&](std::string_view, uint64_t wanted, Memory) {
    all_fit = all_fit && wanted <= buffers[i++]->bytes();
  });
  return all_fit;
}

Result<bool> Scratch::grow(const Context& context, const ScratchBytes& bytes) {
  const auto buffers = all();
  size_t i = 0;
  Result<bool> moved = false;
  each_scratch(bytes, [&](std::string_view what, uint64_t wanted, Memory memory) {
    Buffer& buffer = *buffers[i++];
    if (!moved || wanted <= buffer.bytes()) return;
    buffer = Buffer();  // first, so that old and new need not fit together
    Result<Buffer> made = context.make_buffer(wanted, memory, what);
    if (!made) {
      moved = std::unexpected(std::move(made.error()));
      return;
    }
    buffer = std::move(*made);
    moved = true;
  });
  return moved;
}

PromptMemory Scratch::prompt() const {
  return {.weights = weights_.address(),
          .rows = rows_.address(),
          .scales = scales_.address(),
          .lists = lists_.address(),
          .gates = gates_.address()};
}

std::vector<const Buffer*> Scratch::written() const {
  return {&values_, &partial_, &weights_, &rows_, &scales_, &lists_, &gates_};
}

}  // namespace brass::vulkan
