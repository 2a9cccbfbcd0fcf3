// Threads that share out numbered items.
//
// Owns: the threads. Must not know: what an item is. Invariant: with one thread, everything runs on the
// caller's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace brass::ref {

class Workers {
 public:
  explicit Workers(uint32_t threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  uint32_t count() const { return static_cast<uint32_t>(threads_.size()) + 1; }
  // work(item, worker) for every item < items, worker < count(); returns when all are done.
  void run(uint32_t items, const std::function<void(uint32_t item, uint32_t worker)>& work);

 private:
  void serve(uint32_t worker);
  void take_items(uint32_t worker);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  uint64_t generation_ = 0;
  uint32_t busy_ = 0;
  bool stop_ = false;
  std::atomic<uint32_t> next_ = 0;
  uint32_t items_ = 0;
  const std::function<void(uint32_t, uint32_t)>* work_ = nullptr;
};

}  // namespace brass::ref
