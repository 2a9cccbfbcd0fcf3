#include "text/calls/value.h"

#include <array>

#include "text/calls/format.h"
#include "text/json_guard.h"

namespace brass::calls {

namespace {

constexpr size_t kMaxWord = 512;  // a number, key or word that is longer is none

bool is_word(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80; }
bool is_digit(int c) { return c >= '0' && c <= '9'; }

// JSON's grammar of numbers.
bool is_number(std::string_view text) {
  size_t i = 0;
  const auto digits = [&] {
    const size_t before = i;
    while (i < text.size() && is_digit(text[i])) i++;
    return i > before;
  };
  if (i < text.size() && text[i] == '-') i++;
  const size_t first = i;
  if (!digits() || (text[first] == '0' && i > first + 1)) return false;
  if (i < text.size() && text[i] == '.') {
    i++;
    if (!digits()) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    i++;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) i++;
    if (!digits()) return false;
  }
  return i == text.size();
}

std::string_view json_word(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWords = {{{"true", "true"},
                                                                                    {"false", "false"},
                                                                                    {"null", "null"},
                                                                                    {"True", "true"},
                                                                                    {"False", "false"},
                                                                                    {"None", "null"}}};
  for (const auto& [from, to] : kWords)
    if (from == word) return to;
  return {};
}

}  // namespace

Routine<bool> ValueReader::blanks(std::string* out) {
  for (;;) {
    const int c = co_await source_.peek();
    if (!is_blank(static_cast<char>(c))) co_return true;
    source_.take();
    if (out != nullptr) *out += static_cast<char>(c);
  }
}

Routine<bool> ValueReader::value(std::string& out, int depth) {
  const int c = co_await source_.peek();
  if (c == '{' || c == '[' || c == '(') {
    if (depth >= kMaxJsonDepth) co_return false;
    co_return co_await container(out, depth + 1);
  }
  if (c == '"' || c == '\'') co_return co_await string(out);
  if (!dialect_.quote.empty() && c == static_cast<unsigned char>(dialect_.quote[0]))
    co_return co_await marked(out);
  if (c == '-' || is_digit(c)) co_return co_await number(out);
  co_return co_await word(out);
}

// A dict, a list or a tuple. A comma is written when the member behind it comes.
Routine<bool> ValueReader::container(std::string& out, int depth) {
  const int open = co_await source_.peek();
  source_.take();
  const int close = open == '{' ? '}' : open == '[' ? ']' : ')';
  out += open == '{' ? '{' : '[';
  bool first = true;
  for (;;) {
    std::string gap;
    co_await blanks(&gap);
    int c = co_await source_.peek();
    if (!first && c == ',') {
      source_.take();
      std::string after;
      co_await blanks(&after);
      c = co_await source_.peek();
      if (c != close) gap.append(1, ',').append(after);
    } else if (!first && c != close) {
      co_return false;
    }
    out += gap;
    if (c == close) {
      source_.take();
      out += open == '{' ? '}' : ']';
      co_return true;
    }
    if (open == '{') {
      const bool named = co_await key(out);
      if (!named) co_return false;
      co_await blanks(&out);
      c = co_await source_.peek();
      if (c != ':') co_return false;
      source_.take();
      out += ':';
      co_await blanks(&out);
    }
    const bool read = co_await value(out, depth);
    if (!read) co_return false;
    first = false;
  }
}

Routine<bool> ValueReader::key(std::string& out) {
  const int c = co_await source_.peek();
  if (c == '"' || c == '\'') co_return co_await string(out);
  if (dialect_.quote.empty()) co_return false;
  if (c == static_cast<unsigned char>(dialect_.quote[0])) co_return co_await marked(out);
  co_return co_await bare_key(out);
}

Routine<bool> ValueReader::bare_key(std::string& out) {
  std::string text;
  for (;;) {
    const int c = co_await source_.peek();
    if (c == ':') break;
    if (c == Source::kEnd || c == '{' || c == '}' || c == '"' || text.size() >= kMaxWord) co_return false;
    source_.take();
    text += static_cast<char>(c);
  }
  if (trimmed(text).empty()) co_return false;
  out += quoted_json(trimmed(text));
  co_return true;
}

Routine<bool> ValueReader::word(std::string& out) {
  std::string text;
  for (;;) {
    const int c = co_await source_.peek();
    if (!is_word(c) || text.size() >= 8) break;
    source_.take();
    text += static_cast<char>(c);
  }
  const std::string_view json = json_word(text);
  out += json;
  co_return !json.empty();
}

Routine<bool> ValueReader::number(std::string& out) {
  std::string text;
  for (;;) {
    const int c = co_await source_.peek();
    if (!is_digit(c) && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E') break;
    source_.take();
    text += static_cast<char>(c);
    if (text.size() >= kMaxWord) co_return false;
  }
  out += text;
  co_return is_number(text);
}

Routine<std::string> ValueReader::identifier() {
  std::string text;
  for (;;) {
    const int c = co_await source_.peek();
    if ((!is_word(c) && !is_digit(c) && c != '-' && c != '.') || text.size() >= kMaxWord) co_return text;
    source_.take();
    text += static_cast<char>(c);
  }
}

// key=value, or a value whose name is the one of its place.
Routine<bool> ValueReader::one_argument(std::string& out, const std::vector<std::string>& names,
                                        size_t index) {
  const int c = co_await source_.peek();
  std::string name;
  if (is_word(c)) {
    name = co_await identifier();
    co_await blanks();
    const int after = co_await source_.peek();
    if (after != '=') {
      const std::string_view json = json_word(name);
      if (json.empty() || index >= names.size()) co_return false;
      out.append(quoted_json(names[index])).append(": ").append(json);
      co_return true;
    }
    source_.take();
    co_await blanks();
  } else if (index < names.size()) {
    name = names[index];
  } else {
    co_return false;
  }
  out.append(quoted_json(name)).append(": ");
  co_return co_await value(out, 1);
}

Routine<bool> ValueReader::python_arguments(std::string& out, const std::vector<std::string>& names) {
  out += '{';
  in_python_ = true;
  for (size_t index = 0;; index++) {
    co_await blanks();
    const int c = co_await source_.peek();
    if (c == ')') break;
    if (index > 0) out += ", ";
    const bool read = co_await one_argument(out, names, index);
    in_python_ = read;
    if (!read) co_return false;
    co_await blanks();
    const int after = co_await source_.peek();
    if (after == ')') break;
    in_python_ = after == ',';
    if (after != ',') co_return false;
    source_.take();
  }
  in_python_ = false;
  source_.take();
  out += '}';
  co_return true;
}

namespace {

// One value, then how much of the text it took.
Routine<bool> read_all(Source& source, ValueReader& reader, std::string& out, bool whole) {
  co_await reader.blanks();
  const bool read = co_await reader.value(out);
  if (!read || !whole) co_return read;
  co_await reader.blanks();
  co_return co_await source.peek() == Source::kEnd;
}

}  // namespace

std::optional<std::string> to_json(std::string_view text, const Dialect& dialect) {
  Source source;
  ValueReader reader(source, dialect);
  std::string out;
  source.push(text);
  source.end();
  const Routine<bool> routine = read_all(source, reader, out, true);
  source.run(routine.handle());
  if (!routine.value()) return std::nullopt;
  return out;
}

std::optional<size_t> value_length(std::string_view text, const Dialect& dialect) {
  Source source;
  ValueReader reader(source, dialect);
  std::string out;
  source.push(text);
  source.end();
  const Routine<bool> routine = read_all(source, reader, out, false);
  source.run(routine.handle());
  if (!routine.value()) return std::nullopt;
  return source.since_mark().size();
}

}  // namespace brass::calls
