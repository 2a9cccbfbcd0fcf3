// Routines that read a text byte by byte and wait where it has not come yet.
//
// Owns: Source (the bytes, what was read since a mark, giving bytes back), Routine (a coroutine that may call others).
// Must not know: formats.
// Invariants: a routine sees one byte at a time and never how the text was cut: its result does not depend on it. One
// byte costs one resumption, so giving back much text does not deepen the stack.
#pragma once

#include <coroutine>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace brass::calls {

class Source {
 public:
  static constexpr int kEnd = -1;

  struct Peek {
    Source& source;
    bool await_ready() const noexcept { return source.loaded_; }
    void await_suspend(std::coroutine_handle<> waiting) noexcept { source.waiting_ = waiting; }
    int await_resume() const noexcept { return source.current_; }
  };

  // co_await peek(): the next byte (0 … 255), or kEnd.
  Peek peek() { return Peek{*this}; }
  // Takes the byte that was peeked; the end stays.
  void take();
  // Gives back bytes that were taken last.
  void unread(std::string_view text);

  void mark() { raw_.clear(); }
  const std::string& since_mark() const { return raw_; }

  // Of the driver: more bytes, or the end, then run until they are used up. The routine must be waiting or fresh.
  void push(std::string_view bytes) { pending_.append(bytes); }
  void end() { ended_ = true; }
  void run(std::coroutine_handle<> root);

 private:
  bool load();

  std::string pending_;
  size_t at_ = 0;
  std::string raw_;
  std::coroutine_handle<> waiting_;
  int current_ = 0;
  bool loaded_ = false, ended_ = false;
};

// co_await routine(…) runs it to its end and gives its value. It starts only then.
template <class T>
class [[nodiscard]] Routine {
 public:
  struct promise_type {
    T value{};
    std::coroutine_handle<> parent;

    Routine get_return_object() { return Routine(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Return {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        const std::coroutine_handle<> to = self.promise().parent;
        return to ? to : std::noop_coroutine();
      }
      void await_resume() const noexcept {}
    };
    Return final_suspend() noexcept { return {}; }
    void return_value(T given) { value = std::move(given); }
    void unhandled_exception() { std::terminate(); }  // only out of memory throws
  };

  explicit Routine(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Routine(Routine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Routine& operator=(Routine&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Routine(const Routine&) = delete;
  Routine& operator=(const Routine&) = delete;
  ~Routine() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) noexcept {
    handle_.promise().parent = parent;
    return handle_;
  }
  T await_resume() { return std::move(handle_.promise().value); }

  std::coroutine_handle<> handle() const { return handle_; }
  bool done() const { return handle_.done(); }
  const T& value() const { return handle_.promise().value; }

 private:
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace brass::calls
