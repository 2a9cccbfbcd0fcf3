// Messages typed on a terminal: line editing, history, several lines, pasting.
//
// Owns: libedit, the history file, the prompt.
// Must not know: what is done with a message, commands (/help and the like).
// Invariants: standard input and output are a terminal (the caller checks); the terminal is in its usual
// state whenever read() is not running; a message that was read is in the history file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace brass::app {

// The history file of this user: $XDG_STATE_HOME/brass/history, else ~/.local/state/brass/history (XDG Base
// Directory Specification 0.8). Makes the folder. Errors: no home, or the folder can not be made.
Result<std::string> history_path();

class LineEditor {
 public:
  // history: the file to load and to keep up to date; empty: none. Catches interrupts (terminal.h) from now
  // on. Errors: the terminal or the locale can not be used, or a history file is there and can not be read.
  static Result<std::unique_ptr<LineEditor>> open(const std::string& history);
  ~LineEditor();

  // The next message, lines joined as multiline.h says; it may be empty. Nothing at the end: Ctrl-D, or
  // Ctrl-C twice at an empty prompt. Ctrl-C on a message that has begun drops it. Pasted text is taken as it
  // is, line ends included, until Enter.
  std::optional<std::string> read(const std::string& prompt);

 private:
  LineEditor();
  struct Impl;  // keeps libedit out of this header
  std::unique_ptr<Impl> impl_;
};

}  // namespace brass::app
