// Steps of an Engine that choose tokens, or find candidates, on the device; and those that are begun before it is known that
// the text takes the tokens chosen.
#include <algorithm>

#include "base/check.h"
#include "graph/choice.h"
#include "runtime/engine.h"

namespace brass {

void Engine::expect_choices(SequenceId id, uint32_t tokens) { at(id).expected = tokens; }

Result<int32_t> Engine::choice(uint32_t row) {
  int64_t best;
  if (const std::optional<Candidates> found = candidates(row)) {
    best = choice_of(found->logits);
    best = best < 0 ? -1 - int64_t{found->ids[static_cast<size_t>(-1 - best)]}
                    : found->ids[static_cast<size_t>(best)];
  } else if (last_.plan != nullptr && last_.plan->key.choose == 1) {
    ENSURE(row < rows_.size(), "row {}", row);
    best = static_cast<int64_t>(device_->read(last_.handle, last_.plan->choice, row)[0]);
  } else {
    best = choice_of(logits(row));
  }
  if (best < 0)
    return fail_hint("the model file may be damaged, or this model overflows in this build's arithmetic",
                     "non-finite logits: the logit of token id {} is no finite number", -1 - best);
  if (ahead_) chosen_[row] = static_cast<int32_t>(best);
  return static_cast<int32_t>(best);
}

std::optional<Candidates> Engine::candidates(uint32_t row) {
  if (last_.plan == nullptr || last_.plan->key.choose <= 1) return std::nullopt;
  ENSURE(row < rows_.size(), "row {}", row);
  const std::span<const float> found = device_->read(last_.handle, last_.plan->choice, row);
  const size_t count = found.size() / 2;
  candidate_ids_.assign(found.begin(), found.begin() + static_cast<ptrdiff_t>(count));
  return Candidates{.ids = candidate_ids_, .logits = found.subspan(count)};
}

// What the step's plan is to choose (PlanKey::choose): something where all its sequences want a choice or candidates, of the
// one row that each has; as much as the one that wants most.
uint32_t Engine::choices_wanted() const {
  if (!device_chooses() || model_->graph->logits < 0 || !made_hidden_.empty() ||
      in_batch_.size() != ids_.size() || rows_.size() != ids_.size())
    return 0;
  uint32_t most = 1;
  for (const SequenceId id : in_batch_) {
    const LogitRows want = at(id).want;
    if (want != LogitRows::kChoice && want != LogitRows::kCandidates) return 0;
    if (want == LogitRows::kCandidates) most = kMostCandidates;
  }
  return most;
}

// Of the step under way, begins the one behind it and waits for the first.
Result<> Engine::run_ahead() {
  TRY_VOID(begin_ahead());
  return device_->finish();
}

// Whether the sequence goes on behind the token of the step under way, and finds its pages without moving any.
bool Engine::can_go_ahead(const Sequence& s) const {
  const uint32_t next = s.processed + 1;
  if (s.expected == 0 || next >= options_.context) return false;
  for (size_t g = 0; g < pools_.size(); g++) {
    if (!graphs_[0].groups[g]) continue;
    if (static_cast<int32_t>(g) == state_group_) {
      if (pools_[g].free_pages() < in_batch_.size() || !s.states.can_go_ahead(pools_[g], next)) return false;
      continue;
    }
    const size_t page = next / kPageTokens;
    if (page < s.tables[g].size() ? pools_[g].is_shared(s.tables[g][page])
                                  : pools_[g].free_pages() < in_batch_.size())
      return false;
  }
  return true;
}

Result<> Engine::begin_ahead() {
  if (!std::ranges::all_of(in_batch_, [&](SequenceId id) { return can_go_ahead(at(id)); })) return {};
  ahead_positions_.clear();
  ahead_tables_.clear();
  ahead_states_.clear();
  chosen_.assign(in_batch_.size(), -1);
  for (const SequenceId id : in_batch_) {
    Sequence& s = at(id);
    const uint32_t next = s.processed + 1;
    ahead_positions_.push_back(static_cast<int32_t>(next));
    for (uint32_t g = 0; g < pools_.size(); g++) {
      if (graphs_[0].groups[g] && static_cast<int32_t>(g) != state_group_) hold_pages(s, g, next, next + 1);
      ahead_tables_.emplace_back(s.tables[g]);
    }
    if (state_group_ >= 0) ahead_states_.push_back(s.states.begin_ahead(state_pool()));
  }
  ahead_ = true;
  Batch next = batch();
  next.positions = ahead_positions_;
  next.page_tables = ahead_tables_;
  next.states = ahead_states_;
  next.snapshots = {};
  if (!TRY(device_->begin(last_.handle, next, true))) drop_ahead();
  return {};
}

// Whether what there is to do now is what was begun.
bool Engine::is_as_expected() const {
  const auto waiting = std::ranges::count_if(
      sequences_, [](const Sequence& s) { return s.alive && s.processed < s.tokens.size(); });
  if (static_cast<size_t>(waiting) != in_batch_.size()) return false;
  for (size_t i = 0; i < in_batch_.size(); i++) {
    const Sequence& s = at(in_batch_[i]);
    if (s.want != LogitRows::kChoice || s.want_hidden || s.tokens.size() != s.processed + 1 ||
        s.tokens.back() != chosen_[i])
      return false;
  }
  return true;
}

// The step that was begun is the one under way now.
void Engine::take_ahead() {
  ahead_ = false;
  taken_ahead_++;
  positions_.swap(ahead_positions_);
  tables_.swap(ahead_tables_);
  states_.swap(ahead_states_);
  snapshots_.clear();
  for (size_t i = 0; i < in_batch_.size(); i++) {
    Sequence& s = at(in_batch_[i]);
    ids_[i] = s.tokens.back();
    made_[i].first_position++;
    if (state_group_ >= 0) s.states.accept_ahead();
  }
}

// What was begun is nobody's: the device waits for it when it has to.
void Engine::drop_ahead() {
  if (!ahead_) return;
  ahead_ = false;
  if (state_group_ < 0) return;
  for (const SequenceId id : in_batch_) at(id).states.drop_ahead(state_pool());
}

}  // namespace brass
