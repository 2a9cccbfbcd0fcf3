// Joins the lines that are typed into one message.
//
// Owns: the two ways of going on: a backslash at the end of a line, and a block between two """.
// Must not know: terminals.
#pragma once

#include <string>
#include <string_view>

namespace brass::app {

class MultilineInput {
 public:
  // Adds a line (without its line end). True: the message is complete, take() it.
  //  - A line that begins with """ (after blanks) opens a block, which a """ at the end of a line closes, the
  //    same one or a later one. The marks are not part of the message, nor are the line ends next to them.
  //    Backslashes mean nothing inside.
  //  - A backslash at the end of a line stands for a line end.
  bool add(std::string_view line) {
    if (!in_block_ && text_.empty()) {
      const size_t first = line.find_first_not_of(" \t");
      if (first != line.npos && line.substr(first).starts_with(kMark)) {
        in_block_ = fresh_ = true;
        line.remove_prefix(first + kMark.size());
        if (line.find_first_not_of(" \t") == line.npos) return false;  // the text begins on the next line
      }
    }
    return in_block_ ? add_to_block(line) : add_plain(line);
  }

  // Whether a message has begun that is not complete.
  bool pending() const { return in_block_ || !text_.empty(); }

  // The message; the next one may begin.
  std::string take() {
    std::string message = std::move(text_);
    clear();
    return message;
  }

  void clear() {
    text_.clear();
    in_block_ = fresh_ = false;
  }

 private:
  static constexpr std::string_view kMark = "\"\"\"";

  bool add_to_block(std::string_view line) {
    const size_t last = line.find_last_not_of(" \t");
    const bool closes = last != line.npos && line.substr(0, last + 1).ends_with(kMark);
    if (closes) line = line.substr(0, last + 1 - kMark.size());
    const bool only_mark = closes && line.find_first_not_of(" \t") == line.npos;
    if (!fresh_ && !only_mark) text_ += '\n';
    if (!only_mark) text_ += line;
    fresh_ = false;
    return closes;
  }

  bool add_plain(std::string_view line) {
    if (!line.ends_with('\\')) {
      text_ += line;
      return true;
    }
    line.remove_suffix(1);
    text_ += line;
    text_ += '\n';
    return false;
  }

  std::string text_;
  bool in_block_ = false;
  bool fresh_ = false;  // nothing of the block has been added
};

}  // namespace brass::app
