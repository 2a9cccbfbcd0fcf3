#include "text/grammar/notation_text.h"

namespace brass::grammar {

void NotationText::skip_blanks(bool lines) {
  for (;;) {
    if (in_.peek() == '#' || (style_.slashes && in_.starts_with("//"))) {
      while (!in_.at_end() && !at_line_end()) in_.skip();
    } else if (in_.peek() == ' ' || in_.peek() == '\t' || (lines && at_line_end())) {
      in_.skip();
    } else if (style_.joined_lines && in_.starts_with("\\\n")) {
      in_.skip(2);
    } else if (style_.joined_lines && in_.starts_with("\\\r\n")) {
      in_.skip(3);
    } else {
      return;
    }
  }
}

bool NotationText::goes_on() {
  const SourceText here = in_;
  skip_blanks(true);
  if (in_.peek() == '|') return true;
  in_ = here;
  return false;
}

Result<char32_t> NotationText::character() {
  if (in_.peek() != '\\') return in_.next();
  const Place place = in_.place();
  in_.skip();
  const std::string shown = in_.describe();
  const char c = in_.peek();
  in_.skip();
  constexpr std::string_view kLetters = "nrtf", kMeant = "\n\r\t\f";
  if (c == 'x') return read_hex(in_, 2);
  if (c == 'u') return read_hex(in_, 4);
  if (c == 'U') return read_hex(in_, 8);
  if (style_.letters.find(c) != std::string_view::npos)
    return static_cast<char32_t>(kMeant[kLetters.find(c)]);
  if (style_.themselves.find(c) != std::string_view::npos) return static_cast<char32_t>(c);
  return fail_at(place, "a backslash before {} is no escape", shown);
}

}  // namespace brass::grammar
