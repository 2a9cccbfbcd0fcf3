#include "runtime/state_history.h"

#include <algorithm>

namespace brass {

StateHistory::StateHistory(uint32_t checkpoints, uint32_t interval)
    : most_(checkpoints), interval_(interval) {
  kept_.reserve(most_ + 1);
}

uint32_t StateHistory::restorable(uint32_t length) const {
  if (length_ <= length) return length_;
  uint32_t best = 0;
  for (const Checkpoint& c : kept_)
    if (c.length <= length) best = c.length;
  return best;
}

void StateHistory::cut(PagePool& pool, uint32_t length) {
  if (length == length_) return;
  if (running_ >= 0) pool.release(running_);
  running_ = -1;
  while (!kept_.empty() && kept_.back().length > length) {
    pool.release(kept_.back().page);
    kept_.pop_back();
  }
  length_ = length;
  if (length == 0) return;
  ENSURE(!kept_.empty() && kept_.back().length == length, "no state of {} tokens", length);
  running_ = kept_.back().page;
  pool.share(running_);
}

StateHistory StateHistory::fork(PagePool& pool) const {
  StateHistory copy(most_, interval_);
  copy.length_ = length_;
  copy.running_ = running_;
  copy.kept_ = kept_;
  copy.kept_.reserve(most_ + 1);
  if (running_ >= 0) pool.share(running_);
  for (const Checkpoint& c : kept_) pool.share(c.page);
  return copy;
}

StatePages StateHistory::begin_step(PagePool& pool, uint32_t begin, uint32_t count) {
  ENSURE(begin == length_ && read_ < 0, "a step at {}, the state is behind {} tokens", begin, length_);
  StatePages pages{running_, running_};
  if (running_ < 0 || pool.is_shared(running_)) {
    read_ = running_;
    running_ = pages.out = pool.take();
  }
  length_ += count;
  return pages;
}

bool StateHistory::wants_checkpoint(uint32_t length) const {
  return most_ > 0 && (length == marked_ || length % interval_ == 0);
}

PageId StateHistory::checkpoint_behind(PagePool& pool, uint32_t token) {
  const uint32_t length = token + 1;
  if (!wants_checkpoint(length)) return -1;
  if (kept_.size() == most_) make_room(pool);
  kept_.push_back({length, pool.take(), length == marked_});
  return kept_.back().page;
}

void StateHistory::end_step(PagePool& pool) {
  if (read_ >= 0) pool.release(read_);
  read_ = -1;
}

// A step with a checkpoint makes room for it among the others, which could not be taken back.
bool StateHistory::can_go_ahead(const PagePool& pool, uint32_t token) const {
  return pool.free_pages() > 0 && !wants_checkpoint(token + 1);
}

StatePages StateHistory::begin_ahead(PagePool& pool) {
  ENSURE(ahead_ < 0 && running_ >= 0, "a step ahead of none, or of one ahead");
  ahead_ = pool.take();
  return {running_, ahead_};
}

void StateHistory::accept_ahead() {
  ENSURE(ahead_ >= 0 && read_ < 0, "no step is ahead");
  read_ = running_;
  running_ = ahead_;
  ahead_ = -1;
  length_++;
}

void StateHistory::drop_ahead(PagePool& pool) {
  if (ahead_ >= 0) pool.release(ahead_);
  ahead_ = -1;
}

// Lets the checkpoint go whose absence costs least: one of those that stand close together, the more so the further
// back, so that what stays is dense near the end of the text. Marked ones go when they are more than half of all.
void StateHistory::make_room(PagePool& pool) {
  const auto marked = static_cast<size_t>(std::ranges::count_if(kept_, &Checkpoint::marked));
  const bool takes_marked = 2 * marked > most_ || marked == kept_.size();
  size_t worst = kept_.size();
  double least = 0;
  uint32_t before = 0;
  for (size_t i = 0; i < kept_.size(); i++) {
    if (kept_[i].marked != takes_marked) continue;
    const double gap = kept_[i].length - before,
                 back = length_ - std::min(kept_[i].length, length_) + interval_;
    before = kept_[i].length;
    if (worst < kept_.size() && gap / back >= least) continue;
    least = gap / back;
    worst = i;
  }
  pool.release(kept_[worst].page);
  kept_.erase(kept_.begin() + static_cast<ptrdiff_t>(worst));
}

}  // namespace brass
