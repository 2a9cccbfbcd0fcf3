// What GBNF and Lark write alike: blanks and comments, rules that go on over lines, escapes in strings.
#pragma once

#include "text/grammar/source_text.h"

namespace brass::grammar {

// Where they differ.
struct NotationStyle {
  bool slashes = false;         // "//" begins a comment, as '#' does
  bool joined_lines = false;    // a backslash at the end of a line joins the next one to it
  std::string_view letters;     // that are control characters behind a backslash, of "nrtf"
  std::string_view themselves;  // what stands for itself behind one
};

class NotationText {
 protected:
  NotationText(std::string_view source, NotationStyle style) : in_(source), style_(style) {}

  bool at_line_end() const { return in_.peek() == '\n' || in_.peek() == '\r'; }
  // Blanks and comments; line ends too (`lines`), where nothing can end.
  void skip_blanks(bool lines);
  // At the end of a line: whether the next line with anything on it begins with '|'. Then that is next.
  bool goes_on();
  // A character of a string or a class, its escape taken.
  Result<char32_t> character();

  SourceText in_;

 private:
  NotationStyle style_;
};

}  // namespace brass::grammar
