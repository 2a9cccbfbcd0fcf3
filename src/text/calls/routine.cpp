#include "text/calls/routine.h"

#include "base/check.h"

namespace brass::calls {

void Source::take() {
  ENSURE(loaded_, "a byte is taken that was not peeked");
  if (current_ == kEnd) return;
  raw_ += static_cast<char>(current_);
  loaded_ = false;
}

void Source::unread(std::string_view text) {
  ENSURE(raw_.ends_with(text), "what is given back was not read last");
  std::string again(text);
  if (loaded_ && current_ != kEnd) again += static_cast<char>(current_);
  // What was read often stands before at_ still: then nothing else moves.
  if (again.size() <= at_) {
    at_ -= again.size();
    pending_.replace(at_, again.size(), again);
  } else {
    pending_.replace(0, at_, again);
    at_ = 0;
  }
  raw_.resize(raw_.size() - text.size());
  loaded_ = false;
}

bool Source::load() {
  if (at_ < pending_.size()) {
    current_ = static_cast<unsigned char>(pending_[at_++]);
    // What was read goes away in large pieces, so that reading is linear.
    if (at_ >= 4096 && at_ * 2 >= pending_.size()) {
      pending_.erase(0, at_);
      at_ = 0;
    }
    return loaded_ = true;
  }
  if (!ended_) return false;
  current_ = kEnd;
  return loaded_ = true;
}

void Source::run(std::coroutine_handle<> root) {
  if (!waiting_ && !root.done()) root.resume();
  while (!root.done() && load()) waiting_.resume();
}

}  // namespace brass::calls
