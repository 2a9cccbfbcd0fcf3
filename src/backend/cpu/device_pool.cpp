#include "backend/cpu/device_pool.h"

#include <immintrin.h>
#include <sched.h>

#include <chrono>

namespace brass::cpu {
namespace {
constexpr uint32_t kSpins =
    4'000;  // a few tenths of a millisecond: longer than what stands between two steps
}

ThreadPool::ThreadPool(uint32_t threads, uint32_t cores)
    : threads_(threads), spins_(threads <= cores ? kSpins : 20), flags_(new Flag[threads]) {
  for (uint32_t i = 1; i < threads_; i++) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& t : workers_) t.join();
}

void ThreadPool::relax(uint32_t tries) const {
  if (tries < spins_) {
    _mm_pause();
  } else if (tries < 4 * kSpins) {
    sched_yield();  // another thread may need this core to get here
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void ThreadPool::start(Call call, void* data) {
  call_ = call;
  data_ = data;
  running_.store(threads_ - 1, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  epoch_.notify_all();  // a system call only when somebody sleeps
  call(data, 0);
  for (uint32_t tries = 0; running_.load(std::memory_order_acquire) != 0; tries++) relax(tries);
}

void ThreadPool::work(uint32_t thread) {
  uint32_t seen = 0;
  while (true) {
    uint32_t tries = 0;
    while (epoch_.load(std::memory_order_acquire) == seen) {
      if (tries++ < spins_)
        _mm_pause();
      else
        epoch_.wait(seen);
    }
    seen++;
    if (stop_.load()) return;
    call_(data_, thread);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace brass::cpu
