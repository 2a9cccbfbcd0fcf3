// Strings as models write them: their quotes, and what is escaped in them.
#include <fmt/format.h>

#include "text/calls/format.h"
#include "text/calls/value.h"

namespace brass::calls {

namespace {

// −1: no digit.
int hex_value(int c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int lower = c | 0x20;
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

void put_code_point(std::string& out, uint32_t point) {
  if (point < 0x80) {
    put_escaped(out, static_cast<char>(point));
  } else if (point >= 0x10000) {
    const uint32_t rest = point - 0x10000;
    out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
  } else {
    out += fmt::format("\\u{:04x}", point);
  }
}

}  // namespace

void put_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\b':
      out += "\\b";
      break;
    case '\f':
      out += "\\f";
      break;
    default:
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
        out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
      } else {
        out += c;
      }
  }
}

std::string quoted_json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) put_escaped(out, c);
  return out + '"';
}

Routine<bool> ValueReader::string(std::string& out) {
  const int c = co_await source_.peek();
  if (c != '"' && c != '\'') co_return false;
  source_.take();
  co_return co_await quoted(out, static_cast<char>(c));
}

// The inside of a string and its end. Three quotes begin one that three quotes end.
Routine<bool> ValueReader::quoted(std::string& out, char quote) {
  out += '"';
  int needed = 1;
  int c = co_await source_.peek();
  if (c == quote) {
    source_.take();
    c = co_await source_.peek();
    if (c != quote) {
      out += '"';
      co_return true;
    }
    source_.take();
    needed = 3;
  }
  int seen = 0;
  for (;;) {
    c = co_await source_.peek();
    if (c == Source::kEnd) co_return false;
    source_.take();
    if (c == quote) {
      if (++seen < needed) continue;
      bool ends = true;
      if (needed == 1 && (quote == '\'' || in_python_)) co_await ends_here(out, quote, &ends);
      seen = 0;
      if (!ends) continue;
      out += '"';
      co_return true;
    }
    for (; seen > 0; seen--) put_escaped(out, quote);
    if (c == '\\') {
      const bool read = co_await escape(out);
      if (!read) co_return false;
    } else if (c == 0x7F) {
      out += static_cast<char>(c);  // JSON allows it
    } else {
      put_escaped(out, static_cast<char>(c));
    }
  }
}

// Behind a quote: whether it ends its string. If not, it and the blanks behind it are inside.
Routine<bool> ValueReader::ends_here(std::string& inside, char quote, bool* ends) {
  constexpr size_t kMaxBlanks = 256;  // more than a grammar lets a model write
  std::string gap;
  for (;;) {
    const int c = co_await source_.peek();
    if (!is_blank(static_cast<char>(c)) || gap.size() >= kMaxBlanks) {
      *ends = c == ',' || c == ')' || c == ']' || c == '}' || c == ':' || c == Source::kEnd;
      break;
    }
    source_.take();
    gap += static_cast<char>(c);
  }
  if (*ends) {
    source_.unread(gap);
    co_return true;
  }
  put_escaped(inside, quote);
  for (const char c : gap) put_escaped(inside, c);
  co_return true;
}

// A string between two marks. The mark may be inside, too: the end is one behind which the value can end.
Routine<bool> ValueReader::marked(std::string& out) {
  for (const char expected : dialect_.quote) {
    const int c = co_await source_.peek();
    if (c != static_cast<unsigned char>(expected)) co_return false;
    source_.take();
  }
  out += '"';
  std::string held;
  for (;;) {
    const int c = co_await source_.peek();
    if (held.ends_with(dialect_.quote)) {
      if (c == ',' || c == '}' || c == ']' || c == ':') break;
      if (c == Source::kEnd) co_return false;
    }
    if (c == Source::kEnd) co_return false;
    source_.take();
    held += static_cast<char>(c);
    while (!held.empty() && !dialect_.quote.starts_with(held)) {
      put_escaped(out, held[0]);
      held.erase(0, 1);
    }
  }
  out += '"';
  co_return true;
}

Routine<int32_t> ValueReader::hex(int digits) {
  int32_t value = 0;
  for (int i = 0; i < digits; i++) {
    const int c = co_await source_.peek();
    const int digit = hex_value(c);
    if (digit < 0) co_return -1;
    source_.take();
    if (value > 0x10FFFF) co_return -1;
    value = value * 16 + digit;
  }
  co_return value;
}

// Behind \u: halves of a pair belong together; a half alone is no character.
Routine<bool> ValueReader::unicode_escape(std::string& out) {
  int32_t high = co_await hex(4);
  for (;;) {
    if (high < 0) co_return false;
    if (high < 0xD800 || high > 0xDFFF) {
      out += fmt::format("\\u{:04x}", high);
      co_return true;
    }
    int c = co_await source_.peek();
    if (high >= 0xDC00 || c != '\\') break;
    source_.take();
    c = co_await source_.peek();
    if (c != 'u') {
      out += "\\ufffd";
      co_return co_await escape(out);
    }
    source_.take();
    const int32_t low = co_await hex(4);
    if (low >= 0xDC00 && low <= 0xDFFF) {
      out += fmt::format("\\u{:04x}\\u{:04x}", high, low);
      co_return true;
    }
    out += "\\ufffd";
    high = low;
  }
  out += "\\ufffd";
  co_return true;
}

// Behind a backslash. JSON's escapes stay as they are; Python's are written as JSON's; what is neither keeps its
// backslash, as in Python.
Routine<bool> ValueReader::escape(std::string& out) {
  const int c = co_await source_.peek();
  if (c == Source::kEnd) co_return false;
  source_.take();
  switch (c) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      out += '\\';
      out += static_cast<char>(c);
      co_return true;
    case 'u':
      co_return co_await unicode_escape(out);
    case 'x':
    case 'U': {
      const int32_t point = co_await hex(c == 'x' ? 2 : 8);
      if (point < 0 || point > 0x10FFFF) co_return false;
      put_code_point(out, static_cast<uint32_t>(point));
      co_return true;
    }
    case '\'':
      out += '\'';
      co_return true;
    case '\n':
      co_return true;
    case 'a':
      out += "\\u0007";
      co_return true;
    case 'v':
      out += "\\u000b";
      co_return true;
    case '0':
      out += "\\u0000";
      co_return true;
    default:
      out += "\\\\";
      put_escaped(out, static_cast<char>(c));
      co_return true;
  }
}

}  // namespace brass::calls
