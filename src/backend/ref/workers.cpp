#include "backend/ref/workers.h"

namespace brass::ref {

Workers::Workers(uint32_t threads) {
  for (uint32_t worker = 1; worker < threads; worker++)
    threads_.emplace_back([this, worker] { serve(worker); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(uint32_t items, const std::function<void(uint32_t, uint32_t)>& work) {
  if (threads_.empty() || items <= 1) {
    for (uint32_t item = 0; item < items; item++) work(item, 0);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    items_ = items;
    next_ = 0;
    busy_ = static_cast<uint32_t>(threads_.size());
    generation_++;
  }
  start_.notify_all();
  take_items(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void Workers::take_items(uint32_t worker) {
  for (uint32_t item = next_++; item < items_; item = next_++) (*work_)(item, worker);
}

void Workers::serve(uint32_t worker) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    start_.wait(lock, [&] { return stop_ || generation_ != seen; });
    if (stop_) return;
    seen = generation_;
    lock.unlock();
    take_items(worker);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace brass::ref
