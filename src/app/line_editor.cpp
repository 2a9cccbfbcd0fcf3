#include "app/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "app/multiline.h"
#include "app/terminal.h"

namespace brass::app {
namespace {

constexpr int kHistorySize = 1000;     // messages
constexpr size_t kMaxPaste = 1 << 22;  // bytes: more is a mistake, and libedit would choke on it
constexpr const char* kContinued = "..> ";
// Bracketed paste (xterm control sequences, "Bracketed Paste Mode").
constexpr const char* kPasteOn = "\x1b[?2004h";
constexpr const char* kPasteOff = "\x1b[?2004l";
constexpr std::string_view kPasteEnd = "\x1b[201~";

void write_terminal(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Waits until there is something to read. False after Ctrl-C, also one that came before: SIGINT is let in
// only while it waits, so none can fall between the look at the flag and the wait.
bool wait_for_input() {
  sigset_t interrupt, usual;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  while (true) {
    sigprocmask(SIG_BLOCK, &interrupt, &usual);
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const int ready = interrupted() ? 0 : ppoll(&input, 1, nullptr, &usual);
    sigprocmask(SIG_SETMASK, &usual, nullptr);
    if (interrupted()) return false;
    if (ready > 0 || errno != EINTR) return true;  // an error shows again in read()
  }
}

// One byte from the terminal; false at its end, on an error, or after Ctrl-C. errno is 0 only at the end.
bool read_byte(char& byte) {
  if (!wait_for_input()) {
    errno = EINTR;
    return false;
  }
  errno = 0;
  return ::read(STDIN_FILENO, &byte, 1) == 1;
}

// Pasted text with one kind of line end, and without the control characters that a terminal would obey.
std::string cleaned(std::string_view pasted) {
  std::string text;
  for (const char c : pasted) {
    if (c == '\r')
      text += '\n';  // most terminals paste line ends as the Enter key
    else if (c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f))
      text += c;
  }
  return text;
}

}  // namespace

struct LineEditor::Impl {
  EditLine* edit = nullptr;
  History* history = nullptr;
  std::string history_file;
  std::string prompt;
  bool save_failed = false;

  ~Impl() {
    if (edit != nullptr) el_end(edit);
    if (history != nullptr) history_end(history);
  }

  static Impl& of(EditLine* el) {
    void* self = nullptr;
    el_get(el, EL_CLIENTDATA, &self);
    return *static_cast<Impl*>(self);
  }
  static char* prompt_of(EditLine* el) { return of(el).prompt.data(); }
  static int read_character(EditLine* el, wchar_t* character);
  static unsigned char paste(EditLine* el, int key);

  Result<> start();
  Result<> load_history();
  void remember(const std::string& message);
  bool line_is_empty() const {
    const LineInfo* line = el_line(edit);
    return line->lastchar == line->buffer;
  }
  std::optional<std::string> read_line();
};

// For libedit, which would wait on after Ctrl-C: 1 a character, 0 the end, -1 an error or Ctrl-C.
int LineEditor::Impl::read_character(EditLine*, wchar_t* character) {
  std::mbstate_t state{};
  for (int bytes = 0; bytes < 4; ++bytes) {
    char byte;
    if (!read_byte(byte)) return errno == 0 ? 0 : -1;
    const size_t used = std::mbrtowc(character, &byte, 1, &state);
    if (used == static_cast<size_t>(-2)) continue;  // the character goes on
    if (used == static_cast<size_t>(-1)) break;
    if (used == 0) *character = L'\0';
    return 1;
  }
  *character = 0xfffd;  // not UTF-8
  return 1;
}

// Bound to the sequence that begins a paste.
unsigned char LineEditor::Impl::paste(EditLine* el, int) {
  std::string pasted;
  char byte;
  while (!pasted.ends_with(kPasteEnd)) {
    if (pasted.size() > kMaxPaste || !read_byte(byte)) return CC_ERROR;
    pasted += byte;
  }
  pasted.resize(pasted.size() - kPasteEnd.size());
  if (el_insertstr(el, cleaned(pasted).c_str()) != 0 && !pasted.empty()) return CC_ERROR;
  return CC_REFRESH;
}

Result<> LineEditor::Impl::start() {
  // libedit converts through the locale; Brass speaks UTF-8 whatever the user's is.
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr)
    return fail("terminal: the system has no locale C.UTF-8");
  edit = el_init("brass", stdin, stdout, stderr);
  history = history_init();
  if (edit == nullptr || history == nullptr)
    return fail_hint("give the prompt as an argument or through a pipe",
                     "terminal: line editing can not start");
  HistEvent event;
  ::history(history, &event, H_SETSIZE, kHistorySize);
  ::history(history, &event, H_SETUNIQUE, 1);
  el_set(edit, EL_CLIENTDATA, this);
  el_set(edit, EL_PROMPT, prompt_of);
  el_set(edit, EL_EDITOR, "emacs");
  el_set(edit, EL_SIGNAL, 1);  // restores the terminal when the program is stopped or ended
  el_set(edit, EL_HIST, ::history, history);
  el_set(edit, EL_GETCFN, read_character);
  el_set(edit, EL_ADDFN, "brass-paste", "Insert pasted text", paste);
  el_set(edit, EL_BIND, "\\e[200~", "brass-paste", nullptr);
  el_set(edit, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(edit, nullptr);  // the user's ~/.editrc, if there is one
  return {};
}

Result<> LineEditor::Impl::load_history() {
  std::error_code error;
  if (history_file.empty() || !std::filesystem::exists(history_file, error)) return {};
  HistEvent event;
  if (::history(history, &event, H_LOAD, history_file.c_str()) < 0)
    return fail_hint("delete or repair it", "{}: can not be read as a history file", history_file);
  return {};
}

// The file is replaced whole, so that a crash or a full disk leaves the old one.
void LineEditor::Impl::remember(const std::string& message) {
  if (message.find_first_not_of(" \t\n") == message.npos) return;
  HistEvent event;
  ::history(history, &event, H_ENTER, message.c_str());
  if (history_file.empty() || save_failed) return;
  const std::string fresh = history_file + ".new";
  save_failed = ::history(history, &event, H_SAVE, fresh.c_str()) < 0 ||
                std::rename(fresh.c_str(), history_file.c_str()) != 0;
  if (save_failed)
    fmt::print(stderr, "{}: the history can not be saved: {}\n", history_file, std::strerror(errno));
}

// A line without its end; nothing at the end of input or after Ctrl-C (then interrupted() is set).
std::optional<std::string> LineEditor::Impl::read_line() {
  el_set(edit, EL_PREP_TERM,
         1);  // before the prompt is seen, so that keys typed at once are edited, not echoed
  write_terminal(kPasteOn);
  el_resize(edit);
  int count = 0;
  const char* line = el_gets(edit, &count);
  write_terminal(kPasteOff);
  if (line == nullptr || count <= 0) return std::nullopt;
  std::string text(line, static_cast<size_t>(count));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

LineEditor::LineEditor() : impl_(std::make_unique<Impl>()) {}
LineEditor::~LineEditor() = default;

Result<std::unique_ptr<LineEditor>> LineEditor::open(const std::string& history) {
  std::unique_ptr<LineEditor> editor(new LineEditor());
  editor->impl_->history_file = history;
  TRY_VOID(editor->impl_->start());
  TRY_VOID(editor->impl_->load_history());
  catch_interrupts();
  return editor;
}

std::optional<std::string> LineEditor::read(const std::string& prompt) {
  clear_interrupt();
  MultilineInput input;
  bool warned = false;  // Ctrl-C was just pressed at an empty prompt
  while (true) {
    impl_->prompt = input.pending() ? kContinued : prompt;
    const std::optional<std::string> line = impl_->read_line();
    if (line) {
      warned = false;
      // A line with line ends inside was pasted (or comes back from the history) and is a message as it is.
      const bool whole = !input.pending() && line->find('\n') != line->npos;
      if (!whole && !input.add(*line)) continue;
      std::string message = whole ? *line : input.take();
      impl_->remember(message);
      return message;
    }
    if (!interrupted()) {
      write_terminal("\n");
      return std::nullopt;
    }
    clear_interrupt();
    const bool nothing = impl_->line_is_empty() && !input.pending();
    if (nothing && warned) {
      write_terminal("\n");
      return std::nullopt;
    }
    write_terminal(nothing ? "\n(Ctrl-C again or Ctrl-D ends the conversation)\n" : "\n");
    warned = nothing;
    input.clear();
    el_reset(impl_->edit);
  }
}

Result<std::string> history_path() {
  namespace fs = std::filesystem;
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (state != nullptr && *state == '/')
    folder = state;
  else if (home != nullptr && *home != '\0')
    folder = fs::path(home) / ".local" / "state";
  else
    return fail_hint("set HOME or XDG_STATE_HOME", "history: this user has no home folder");
  folder /= "brass";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail("{}: the folder for the history can not be made: {}", folder.string(), error.message());
  return (folder / "history").string();
}

}  // namespace brass::app
