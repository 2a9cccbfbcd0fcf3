#include "app/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "report/format.h"

namespace brass::app {
namespace {

constexpr std::chrono::milliseconds kFirstDraw(200), kRedraw(100);

volatile std::sig_atomic_t g_interrupted = 0;

extern "C" void on_interrupt(int) {
  if (g_interrupted != 0) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  g_interrupted = 1;
}

}  // namespace

bool stdin_is_terminal() { return isatty(STDIN_FILENO) == 1; }
bool stdout_is_terminal() { return isatty(STDOUT_FILENO) == 1; }
bool stderr_is_terminal() { return isatty(STDERR_FILENO) == 1; }

int terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool colour_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return stdout_is_terminal() && (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

std::string progress_text(std::string_view label, uint64_t done, uint64_t total, double seconds) {
  std::string text(label);
  if (total > 0)
    text +=
        fmt::format(" {:.0f} %", std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) * 100);
  else
    text += " " + report::format_bytes(done);
  if (seconds > 0) text += " " + report::format_bandwidth(static_cast<double>(done) / seconds);
  return text;
}

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)),
      on_terminal_(stderr_is_terminal()),
      start_(Clock::now()),
      next_(start_ + kFirstDraw) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::update(uint64_t done, uint64_t total) {
  if (!on_terminal_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kRedraw;
  drawn_ = true;
  std::string text = progress_text(label_, done, total, std::chrono::duration<double>(now - start_).count());
  text.resize(std::min(text.size(), static_cast<size_t>(std::max(1, terminal_width() - 1))));
  std::fputs(("\r" + text + "\x1b[K").c_str(), stderr);
}

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read at the prompt must end
  ENSURE(sigaction(SIGINT, &action, nullptr) == 0, "SIGINT can not be handled");
}

bool interrupted() { return g_interrupted != 0; }
void clear_interrupt() { g_interrupted = 0; }

}  // namespace brass::app
