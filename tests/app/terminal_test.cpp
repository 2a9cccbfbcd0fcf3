// The terminal, and the line editor on a real (pseudo) terminal with keys as a person would press them.
#include "app/terminal.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "app/line_editor.h"

namespace brass::app {
namespace {

TEST(Progress, Text) {
  EXPECT_EQ(progress_text("Loading", 450, 1000, 0), "Loading 45 %");
  EXPECT_EQ(progress_text("Loading", 256000000, 512000000, 0.5), "Loading 50 % 512 MB/s");
  EXPECT_EQ(progress_text("Fetching", 92300000, 0, 1), "Fetching 92.3 MB 92.3 MB/s");
  EXPECT_EQ(progress_text("Loading", 1001, 1000, 0), "Loading 100 %");
}

constexpr std::string_view kListening = "\x1b[?2004h";

// A child process on a pseudo terminal; what it writes to `report` comes back apart from what it shows.
class Child {
 public:
  template <class Body>
  explicit Child(Body body) {
    int report[2];
    EXPECT_EQ(pipe(report), 0);
    winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      setenv("TERM", "xterm", 1);
      unsetenv("NO_COLOR");
      close(report[0]);
      body(report[1]);
      _exit(0);
    }
    close(report[1]);
    report_ = report[0];
  }
  ~Child() {
    if (pid_ > 0) finish();
    close(report_);
    close(terminal_);
  }

  void type(std::string_view keys) {
    EXPECT_EQ(write(terminal_, keys.data(), keys.size()), ssize_t(keys.size()));
  }

  // Reads the screen until `text` has come since the last wait; false after five seconds.
  bool wait_for(std::string_view text) {
    for (int i = 0; i < 500; ++i) {
      if (const size_t at = screen_.find(text, waited_); at != std::string::npos) {
        waited_ = at + text.size();
        return true;
      }
      read_screen(10);
    }
    return false;
  }
  // Waits until the editor listens: it shows its prompt after it has set up the terminal.
  bool wait_for_prompt() { return wait_for(kListening) && wait_for("> "); }
  const std::string& screen() const { return screen_; }
  pid_t pid() const { return pid_; }
  int terminal() const { return terminal_; }

  // Waits for the end; the status of waitpid, or -1 after five seconds (and the child is killed).
  int finish() {
    int status = -1;
    for (int i = 0; i < 500; ++i) {
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return status;
      }
      read_screen(10);
    }
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return -1;
  }

  // All that was reported; call after finish().
  std::string report() {
    std::string all;
    char chunk[4096];
    for (ssize_t n; (n = read(report_, chunk, sizeof chunk)) > 0;) all.append(chunk, static_cast<size_t>(n));
    return all;
  }

 private:
  void read_screen(int milliseconds) {
    pollfd wait{.fd = terminal_, .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, milliseconds) <= 0) return;
    char chunk[4096];
    const ssize_t n = read(terminal_, chunk, sizeof chunk);
    if (n > 0)
      screen_.append(chunk, static_cast<size_t>(n));
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));  // the other side is closed
  }

  pid_t pid_ = -1;
  int terminal_ = -1, report_ = -1;
  std::string screen_;
  size_t waited_ = 0;
};

void say(int report, const std::string& text) { (void)!write(report, text.data(), text.size()); }

// Reads messages until the end and reports each as "<message>".
void talk(int report, const std::string& history) {
  auto editor = LineEditor::open(history);
  if (!editor) {
    say(report, "error " + editor.error().message);
    return;
  }
  while (const auto message = (*editor)->read("> ")) say(report, "<" + *message + ">");
  say(report, "end");
}

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))).string();
}

std::string conversation(const std::vector<std::string>& keys, const std::string& history = "") {
  Child child([&](int report) { talk(report, history); });
  EXPECT_TRUE(child.wait_for_prompt()) << child.screen();
  for (const std::string& k : keys) {
    child.type(k);
    EXPECT_TRUE(child.wait_for_prompt()) << "no new prompt after " << k << ": " << child.screen();
  }
  child.type("\x04");
  EXPECT_EQ(child.finish(), 0) << child.screen();
  return child.report();
}

TEST(LineEditor, ReadsLinesAndEnds) {
  EXPECT_EQ(conversation({"hello\r", "\r", "two words\r"}), "<hello><><two words>end");
}

TEST(LineEditor, EditsUtf8) {
  EXPECT_EQ(conversation({"grüße 日本 🙂\r"}), "<grüße 日本 🙂>end");
  EXPECT_EQ(conversation({"grüx\x7f\x7füße\r"}), "<grüße>end");  // backspace removes a character, not a byte
  EXPECT_EQ(conversation({"orld\x01W\r"}), "<World>end");        // to the line's start
  EXPECT_EQ(conversation({"abd\x1b[D"
                          "c\r"}),
            "<abcd>end");  // cursor left
}

TEST(LineEditor, JoinsLines) {
  EXPECT_EQ(conversation({"one\\\r", "two\r"}), "<one\ntwo>end");
  EXPECT_EQ(conversation({"\"\"\"\r", "x\r", "y\"\"\"\r"}), "<x\ny>end");
}

TEST(LineEditor, TakesPastedTextAsItIs) {
  EXPECT_EQ(conversation({"say: \x1b[200~one\ntwo\rthree\x07\t\"\"\"\\\x1b[201~!\r"}),
            "<say: one\ntwo\nthree\t\"\"\"\\!>end");
  EXPECT_EQ(conversation({"\x1b[200~\"\"\"doc\nx = 1\x1b[201~\r"}), "<\"\"\"doc\nx = 1>end");
  EXPECT_EQ(conversation({"\x1b[200~\x1b[201~\r"}), "<>end");
}

TEST(LineEditor, RemembersAcrossRuns) {
  const std::string file = temporary("brass_history_");
  EXPECT_EQ(conversation({"first\r", "second\\\r", "line\r"}, file), "<first><second\nline>end");
  std::error_code error;
  const auto mode = std::filesystem::status(file, error).permissions() & std::filesystem::perms::all;
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(conversation({"\x1b[A\r", "\x1b[A\x1b[A\r"}, file), "<second\nline><first>end");
  std::filesystem::remove(file);
}

TEST(LineEditor, RefusesAFileThatIsNoHistory) {
  const std::string file = temporary("brass_no_history_");
  std::ofstream(file) << "something else\n";
  Child child([&](int report) { talk(report, file); });
  EXPECT_EQ(child.finish(), 0);
  EXPECT_EQ(child.report().rfind("error " + file, 0), 0u);
  std::filesystem::remove(file);
}

TEST(LineEditor, CtrlCDropsTheLineAndTwiceEnds) {
  EXPECT_EQ(conversation({"dropped\x03", "kept\r"}), "<kept>end");
  EXPECT_EQ(conversation({"\"\"\"\r", "in a block\x03", "kept\r"}), "<kept>end");
  EXPECT_EQ(conversation({"\x03", "kept\r", "\x03", "more\r"}), "<kept><more>end");
  Child child([](int report) { talk(report, ""); });
  ASSERT_TRUE(child.wait_for_prompt());
  child.type("\x03");
  ASSERT_TRUE(child.wait_for("Ctrl-C again")) << child.screen();
  ASSERT_TRUE(child.wait_for_prompt());
  child.type("\x03");
  EXPECT_EQ(child.finish(), 0);
  EXPECT_EQ(child.report(), "end");
}

TEST(LineEditor, LeavesTheTerminalAsItWas) {
  Child child([](int report) {
    termios before{}, after{};
    tcgetattr(0, &before);
    auto editor = LineEditor::open("");
    (*editor)->read("> ");
    tcgetattr(0, &after);
    say(report, before.c_lflag == after.c_lflag && before.c_iflag == after.c_iflag ? "same" : "changed");
  });
  ASSERT_TRUE(child.wait_for_prompt());
  child.type("x\r");
  EXPECT_EQ(child.finish(), 0);
  EXPECT_EQ(child.report(), "same");
}

TEST(Interrupts, TheFirstSetsAFlagAndTheSecondEnds) {
  Child child([](int report) {
    catch_interrupts();
    say(report, interrupted() ? "early " : "");
    std::raise(SIGINT);
    say(report, interrupted() ? "seen " : "unseen ");
    clear_interrupt();
    say(report, interrupted() ? "kept " : "cleared ");
    std::raise(SIGINT);
    std::raise(SIGINT);
    say(report, "survived");
  });
  const int status = child.finish();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  EXPECT_EQ(child.report(), "seen cleared ");
}

TEST(Progress, IsShownOnATerminalAndWiped) {
  Child child([](int) {
    ProgressBar bar("Loading");
    for (uint64_t i = 0; i < 60; ++i) {
      bar.update(i, 60);
      usleep(10000);
    }
  });
  EXPECT_EQ(child.finish(), 0);
  ASSERT_TRUE(child.wait_for("\x1b[K"));
  size_t draws = 0;
  for (size_t at = 0; (at = child.screen().find("Loading", at)) != std::string::npos; ++at) ++draws;
  EXPECT_GE(draws, 2u);
  EXPECT_LE(draws, 12u) << "at most ten a second";
  EXPECT_TRUE(child.screen().ends_with("\r\x1b[K")) << child.screen();
}

TEST(Progress, IsNotShownInAPipe) {
  testing::internal::CaptureStderr();
  {
    ProgressBar bar("Loading");
    usleep(250000);
    bar.update(1, 2);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Terminal, WidthAndColourComeFromTheTerminal) {
  Child child([](int report) {
    say(report, std::to_string(terminal_width()) + (colour_wanted() ? " colour" : " plain"));
    setenv("NO_COLOR", "1", 1);
    say(report, colour_wanted() ? " colour" : " plain");
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    say(report, colour_wanted() ? " colour" : " plain");
  });
  EXPECT_EQ(child.finish(), 0);
  EXPECT_EQ(child.report(), "80 colour plain plain");
}

TEST(HistoryPath, FollowsTheXdgSpecification) {
  const std::string folder = temporary("brass_state_");
  Child child([&](int report) {
    setenv("XDG_STATE_HOME", (folder + "/state").c_str(), 1);
    say(report, history_path().value() + "\n");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", folder.c_str(), 1);
    say(report, history_path().value() + "\n");
    unsetenv("HOME");
    say(report, history_path() ? "path" : "error");
  });
  EXPECT_EQ(child.finish(), 0);
  EXPECT_EQ(child.report(),
            folder + "/state/brass/history\n" + folder + "/.local/state/brass/history\nerror");
  EXPECT_TRUE(std::filesystem::is_directory(folder + "/.local/state/brass"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace brass::app
