// The threads that run a plan: they meet at barriers many thousand times a second, so they spin before they
// sleep.
//
// Owns: the workers. Must not know: what they run.
// Invariants: run() returns when every thread has finished; between runs workers spin briefly, then sleep; a
// waiting thread yields its core soon, so that more threads than cores is slow but never stuck.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace brass::cpu {

class ThreadPool {
 public:
  // `cores`: that this process may use; with more threads than cores, waiting gives way at once.
  ThreadPool(uint32_t threads, uint32_t cores);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t size() const { return threads_; }

  // Calls work(thread) on every thread, thread 0 being the caller. No allocation.
  template <class F>
  void run(F& work) {
    start([](void* data, uint32_t thread) { (*static_cast<F*>(data))(thread); }, &work);
  }

  // Inside run(): returns when all threads have come here.
  void barrier(uint32_t thread) {
    const uint32_t mine = flags_[thread].value.load(std::memory_order_relaxed) + 1;
    flags_[thread].value.store(mine, std::memory_order_release);
    for (uint32_t i = 0; i < threads_; i++) {
      if (i == thread) continue;
      for (uint32_t tries = 0;
           static_cast<int32_t>(flags_[i].value.load(std::memory_order_acquire) - mine) < 0; tries++)
        relax(tries);
    }
  }

 private:
  using Call = void (*)(void*, uint32_t);
  struct alignas(128) Flag {  // a line (and its neighbour, which is fetched with it) of its own
    std::atomic<uint32_t> value{0};
  };

  void relax(uint32_t tries) const;
  void start(Call call, void* data);
  void work(uint32_t thread);

  const uint32_t threads_;
  const uint32_t spins_;  // before a waiting thread gives its core away
  std::unique_ptr<Flag[]> flags_;
  alignas(128) std::atomic<uint32_t> epoch_{0};
  alignas(128) std::atomic<uint32_t> running_{0};
  std::atomic<bool> stop_{false};
  Call call_ = nullptr;
  void* data_ = nullptr;
  std::vector<std::thread> workers_;
};

}  // namespace brass::cpu
