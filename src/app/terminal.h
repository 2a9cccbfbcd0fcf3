// The terminal that the program may stand on: what it can show, progress, Ctrl-C.
//
// Owns: the tests for a terminal, its width and colour, the progress bar, the interrupt flag (signals are the
// process's, so this one is too).
// Must not know: models, flags, line editing (line_editor.h).
// Invariants: nothing is written where standard error is not a terminal; progress leaves no trace when done.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace brass::app {

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

// Columns of the terminal behind standard error; 80 where there is none or it does not say.
int terminal_width();

// Whether to colour what goes to standard output: a terminal that is not "dumb", and NO_COLOR (no-color.org)
// not set.
bool colour_wanted();

// "Loading 45 % 512 MB/s"; "Loading 92.3 MB 512 MB/s" where the total is not known (0). done, total: bytes.
// No rate before any time has passed.
std::string progress_text(std::string_view label, uint64_t done, uint64_t total, double seconds);

// One line on standard error while something long goes on: from 0.2 s on, redrawn at most ten times a second,
// wiped at the end. Used by one thread at a time.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(uint64_t done, uint64_t total);  // bytes; total 0: not known

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool on_terminal_;
  bool drawn_ = false;
  Clock::time_point start_, next_;
};

// From now on Ctrl-C (SIGINT) sets a flag for interrupted() instead of ending the program, and a system call
// that waits returns early. A second one before clear_interrupt() ends the program as usual: whoever should
// have looked at the flag did not.
void catch_interrupts();
bool interrupted();
void clear_interrupt();

}  // namespace brass::app
