// The drafts of an Engine: what sequences keep of them, and their steps.
#include <algorithm>

#include "base/check.h"
#include "runtime/engine.h"

namespace brass {

void Engine::want_hidden(SequenceId id, bool wanted) {
  ENSURE(!wanted || model_->graph->hidden >= 0, "the model was not loaded for drafts");
  at(id).want_hidden = wanted;
}

uint32_t Engine::drafted(SequenceId id, uint32_t block) const {
  const Sequence& s = at(id);
  ENSURE(block < s.drafted.size(), "draft {} of {}", block, s.drafted.size());
  return static_cast<uint32_t>(s.drafted[block].size());
}

// Rows that took a guess for a token from position `from` on, where the text has another one now, are gone, and those
// behind them, and the rows of later blocks that go on from them.
void Engine::match_drafts(Sequence& s, uint32_t from) {
  for (uint32_t d = 0; d < s.drafted.size(); d++) {
    std::vector<int32_t>& given = s.drafted[d];
    if (d > 0) given.resize(std::min(given.size(), s.drafted[d - 1].size()));
    for (size_t i = from - std::min(from, d + 1); i < given.size() && i + 1 + d < s.tokens.size(); i++)
      if (given[i] != s.tokens[i + 1 + d]) given.resize(i);
  }
}

std::span<const float> Engine::hidden(uint32_t row) {
  ENSURE(last_.handle >= 0 && last_.plan->key.hidden && row < ids_.size(), "hidden row {}", row);
  return device_->read(last_.handle, last_.plan->source->hidden, row);
}

Result<std::shared_ptr<const Plan>> Engine::draft_plan_for(uint32_t block, uint32_t t, uint32_t r,
                                                           bool hidden) {
  ENSURE(block < model_->drafts.size(), "draft {} of {}", block, model_->drafts.size());
  return TRY(prepared(block + 1, t, r, hidden)).plan;
}

Result<> Engine::draft(SequenceId id, const DraftRows& rows) {
  Sequence& s = at(id);
  const auto n = static_cast<uint32_t>(rows.tokens.size());
  ENSURE(rows.first <= drafted(id, rows.block), "draft {} holds {} rows, and the next is {}", rows.block,
         drafted(id, rows.block), rows.first);
  ENSURE(n > 0 && n <= options_.chunk, "{} rows", n);
  ENSURE(rows.hidden.size() == size_t{n} * model_->info.embedding_length, "{} hidden values for {} rows",
         rows.hidden.size(), n);
  if (rows.first + n > options_.context) return fail("the context of {} tokens is full", options_.context);

  drop_ahead();
  clear_batch();
  hidden_.assign(rows.hidden.begin(), rows.hidden.end());
  for (uint32_t g = 0; g < pools_.size(); g++) {
    if (graphs_[rows.block + 1].groups[g]) hold_pages(s, g, rows.first, rows.first + n);
    tables_.emplace_back(s.tables[g]);
  }
  for (uint32_t i = 0; i < n; i++) {
    const int32_t token = rows.tokens[i];
    const size_t at = size_t{rows.first} + i + 1 + rows.block;
    ENSURE(token >= 0 && static_cast<uint32_t>(token) < model_->info.vocabulary, "token id {}", token);
    ENSURE(at >= s.tokens.size() || s.tokens[at] == token, "token {} for the text's {} at {}", token,
           s.tokens[at], at);
    put_row(token, rows.first + i, 0,
            rows.logits == LogitRows::kAll || (rows.logits == LogitRows::kLast && i + 1 == n));
  }
  TRY_VOID(run(TRY(prepared(rows.block + 1, n, static_cast<uint32_t>(rows_.size()), rows.want_hidden))));
  for (uint32_t d = rows.block; d < s.drafted.size(); d++)
    s.drafted[d].resize(std::min<size_t>(s.drafted[d].size(), rows.first));
  s.drafted[rows.block].insert(s.drafted[rows.block].end(), rows.tokens.begin(), rows.tokens.end());
  return {};
}

}  // namespace brass
