#include "text/calls/marks.h"

#include "text/calls/format.h"

namespace brass::calls {

Fit fit(std::string_view text, std::string_view mark) {
  size_t at = 0;
  for (const char c : mark) {
    if (is_blank(c)) {
      while (at < text.size() && is_blank(text[at])) at++;
      continue;
    }
    if (c == kAnyWord) {
      while (at < text.size() && is_letter_or_digit(text[at])) at++;
      continue;
    }
    if (at == text.size()) return Fit::kMaybe;
    if (text[at++] != c) return Fit::kNo;
  }
  return Fit::kYes;
}

bool is_letter_or_digit(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string with_name(std::string_view mark, std::string_view name) {
  std::string out;
  for (const char c : mark)
    if (c == kOwnName)
      out += name;
    else
      out += c;
  return out;
}

std::string joined(std::string_view a, std::string_view b) {
  std::string out(a);
  if (!a.empty() && !b.empty()) out += ' ';
  return out += b;
}

std::vector<std::string> behind_last_value(const CallFormat& format, bool in_section, bool marked) {
  std::string end = format.arguments_end;
  if (marked) end = joined(end, format.call_end);
  if (!in_section || format.call_begin.empty() || format.section_end.empty()) return {end};
  return {joined(end, format.call_begin), joined(end, format.section_end)};
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace brass::calls
