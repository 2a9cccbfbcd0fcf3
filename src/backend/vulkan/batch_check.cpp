#include "backend/vulkan/batch_check.h"

#include <algorithm>

#include "base/check.h"

namespace brass::vulkan {

uint32_t table_rows(const Plan& plan, EmbedIndex index) {
  uint32_t rows = INT32_MAX;
  for (const Op& op : plan.ops)
    if (op.kind == OpKind::kEmbed && op.as<EmbedAttrs>().index == index)
      rows = std::min(rows, plan.weight(op.weights[0]).rows);
  return rows;
}

void check_batch(const Plan& plan, const Batch& batch, std::span<const PagePool> pools) {
  ENSURE(batch.ids.size() <= plan.key.t && batch.rows.size() <= plan.key.r,
         "{} tokens and {} rows in a plan for {}, {}", batch.ids.size(), batch.rows.size(), plan.key.t,
         plan.key.r);
  ENSURE(batch.positions.size() == batch.ids.size() && batch.sequences.size() == batch.ids.size(),
         "{} ids, {} positions, {} sequences", batch.ids.size(), batch.positions.size(),
         batch.sequences.size());
  const uint32_t vocabulary = table_rows(plan, EmbedIndex::kToken);
  const uint32_t places = table_rows(plan, EmbedIndex::kPosition);
  for (size_t t = 0; t < batch.ids.size(); t++) {
    const int32_t sequence = batch.sequences[t];
    if (sequence < 0) continue;
    ENSURE(batch.ids[t] >= 0 && static_cast<uint32_t>(batch.ids[t]) < vocabulary, "token {} of {}",
           batch.ids[t], vocabulary);
    ENSURE(batch.positions[t] >= 0 && static_cast<uint32_t>(batch.positions[t]) < places, "position {} of {}",
           batch.positions[t], places);
    for (size_t g = 0; g < pools.size(); g++) {
      const PageTable& table = batch.page_tables[static_cast<size_t>(sequence) * pools.size() + g];
      if (!plan.groups[g] || plan.source->groups[g].kind == GroupKind::kState) continue;
      const auto page = static_cast<size_t>(batch.positions[t]) / kPageTokens;
      ENSURE(page < table.size() && pools[g].has(table[page]),
             "position {} of sequence {} has no page in group {}", batch.positions[t], sequence, g);
    }
  }
  for (const Op& op : plan.ops)
    ENSURE(
        op.kind != OpKind::kHiddenIn || batch.hidden.size() == batch.ids.size() * plan.value(op.out[0]).width,
        "{} hidden values for {} rows", batch.hidden.size(), batch.ids.size());
  for (const int32_t row : batch.rows)
    ENSURE(row >= 0 && static_cast<size_t>(row) < batch.ids.size(), "row {} of {}", row, batch.ids.size());
}

}  // namespace brass::vulkan
