#include "text/jinja_strings.h"

#include <algorithm>

namespace brass::jinja {
namespace {

// Maps each character by f(out, character, offset), byte by byte provenance kept.
template <class F>
Text map_characters(const Text& text, F&& f) {
  Text out;
  out.reserve(text.size());
  size_t base = 0;
  text.each(0, text.size(), [&](std::string_view part, Origin origin) {
    std::string mapped;
    mapped.reserve(part.size());
    each_character(part, [&](char32_t c, size_t at, size_t) { f(mapped, c, base + at); });
    out.append(mapped, origin);
    base += part.size();
  });
  return out;
}

// Whether a cased letter stands next before or after, past characters that case rules ignore.
bool cased_before(std::string_view bytes, size_t at) {
  while (at > 0) {
    do at--;
    while (at > 0 && (static_cast<unsigned char>(bytes[at]) & 0xC0) == 0x80);
    size_t length = 0;
    const char32_t c = decode_at(bytes, at, length);
    if (!is_case_ignorable(c)) return is_cased(c);
  }
  return false;
}
bool cased_after(std::string_view bytes, size_t at) {
  size_t length = 0;
  decode_at(bytes, at, length);
  for (at += length; at < bytes.size(); at += length) {
    const char32_t c = decode_at(bytes, at, length);
    if (!is_case_ignorable(c)) return is_cased(c);
  }
  return false;
}

// Lower case, with the Greek sigma's form at the end of a word.
void append_lower(std::string& out, std::string_view bytes, char32_t c, size_t at) {
  if (c == 0x3A3) {
    append_utf8(out, cased_before(bytes, at) && !cased_after(bytes, at) ? 0x3C2 : 0x3C3);
  } else {
    append_case(out, c, Case::lower);
  }
}

}  // namespace

Text upper(const Text& text) {
  return map_characters(text, [](std::string& out, char32_t c, size_t) { append_case(out, c, Case::upper); });
}

Text lower(const Text& text) {
  return map_characters(
      text, [&](std::string& out, char32_t c, size_t at) { append_lower(out, text.view(), c, at); });
}

Text casefold(const Text& text) {
  return map_characters(text, [](std::string& out, char32_t c, size_t) { append_case(out, c, Case::fold); });
}

Text capitalize(const Text& text) {
  return map_characters(text, [&](std::string& out, char32_t c, size_t at) {
    at == 0 ? append_case(out, c, Case::title) : append_lower(out, text.view(), c, at);
  });
}

Text swapcase(const Text& text) {
  return map_characters(text, [&](std::string& out, char32_t c, size_t at) {
    if (is_upper(c)) {
      append_lower(out, text.view(), c, at);
    } else {
      append_case(out, c, is_lower(c) ? Case::upper : Case::lower);
    }
  });
}

Text title(const Text& text) {
  bool inside = false;
  return map_characters(text, [&](std::string& out, char32_t c, size_t at) {
    inside ? append_lower(out, text.view(), c, at) : append_case(out, c, Case::title);
    inside = is_cased(c);
  });
}

Text strip(const Text& text, Side side, std::optional<std::string_view> chars) {
  const std::string_view bytes = text.view();
  const auto strips = [&](size_t at, size_t length) {
    size_t n = 0;
    if (!chars) return is_space(decode_at(bytes, at, n));
    const std::string_view character = bytes.substr(at, length);
    for (size_t i = chars->find(character); i != std::string_view::npos; i = chars->find(character, i + 1))
      return true;
    return false;
  };
  size_t from = 0, to = bytes.size();
  while (side != Side::right && from < to) {
    size_t length = 0;
    decode_at(bytes, from, length);
    if (!strips(from, length)) break;
    from += length;
  }
  while (side != Side::left && to > from) {
    size_t last = to - 1;
    while (last > from && (static_cast<unsigned char>(bytes[last]) & 0xC0) == 0x80) last--;
    if (!strips(last, to - last)) break;
    to = last;
  }
  return text.slice(from, to);
}

static std::vector<Text> split_spaces(const Text& text, int64_t limit) {
  std::vector<Text> out;
  const std::string_view bytes = text.view();
  size_t at = 0, length = 0;
  const auto skip = [&](bool spaces) {
    while (at < bytes.size() && is_space(decode_at(bytes, at, length)) == spaces) at += length;
  };
  while (skip(true), at < bytes.size()) {
    const size_t start = at;
    if (limit >= 0 && static_cast<int64_t>(out.size()) == limit) {
      out.push_back(strip(text.slice(start, bytes.size()), Side::right, std::nullopt));
      break;
    }
    skip(false);
    out.push_back(text.slice(start, at));
  }
  return out;
}

std::vector<Text> split(const Text& text, std::optional<std::string_view> separator, int64_t limit) {
  if (!separator) return split_spaces(text, limit);
  std::vector<Text> out;
  size_t start = 0;
  while (limit < 0 || static_cast<int64_t>(out.size()) < limit) {
    const size_t at = text.view().find(*separator, start);
    if (at == std::string_view::npos) break;
    out.push_back(text.slice(start, at));
    start = at + separator->size();
  }
  out.push_back(text.slice(start, text.size()));
  return out;
}

static std::vector<Text> split_spaces_right(const Text& text, int64_t limit) {
  std::vector<Text> out;
  Text rest = strip(text, Side::right, std::nullopt);
  while (!rest.empty()) {
    if (limit >= 0 && static_cast<int64_t>(out.size()) == limit) {
      out.push_back(rest);
      break;
    }
    size_t start = 0;
    each_character(rest.view(), [&](char32_t c, size_t at, size_t length) {
      if (is_space(c)) start = at + length;
    });
    out.push_back(rest.slice(start, rest.size()));
    rest = strip(rest.slice(0, start), Side::right, std::nullopt);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<Text> split_right(const Text& text, std::optional<std::string_view> separator, int64_t limit) {
  if (limit < 0) return split(text, separator, -1);
  if (!separator) return split_spaces_right(text, limit);
  std::vector<Text> out;
  size_t end = text.size();
  while (static_cast<int64_t>(out.size()) < limit) {
    if (end < separator->size()) break;
    const size_t at = text.view().rfind(*separator, end - separator->size());
    if (at == std::string_view::npos) break;
    out.push_back(text.slice(at + separator->size(), end));
    end = at;
  }
  out.push_back(text.slice(0, end));
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<Text> split_lines(const Text& text, bool keep_ends) {
  std::vector<Text> out;
  const std::string_view bytes = text.view();
  size_t start = 0;
  for (size_t at = 0, length = 0; at < bytes.size();) {
    const char32_t c = decode_at(bytes, at, length);
    const size_t end = at;
    at += length;
    if (!is_line_break(c)) continue;
    if (c == '\r' && at < bytes.size() && bytes[at] == '\n') at++;
    out.push_back(text.slice(start, keep_ends ? at : end));
    start = at;
  }
  if (start < bytes.size()) out.push_back(text.slice(start, bytes.size()));
  return out;
}

size_t count_occurrences(std::string_view bytes, std::string_view what) {
  if (what.empty()) return count_code_points(bytes) + 1;
  size_t n = 0;
  for (size_t at = bytes.find(what); at != std::string_view::npos; at = bytes.find(what, at + what.size()))
    n++;
  return n;
}

static Text insert_between(const Text& text, const Text& what, int64_t limit) {
  Text out;
  int64_t done = 0;
  each_character(text.view(), [&](char32_t, size_t at, size_t length) {
    if (limit < 0 || done < limit) out.append(what), done++;
    out.append(text, at, at + length);
  });
  if (limit < 0 || done < limit) out.append(what);
  return out;
}

Text replace(const Text& text, std::string_view from, const Text& to, int64_t limit) {
  if (from.empty()) return insert_between(text, to, limit);
  Text out;
  size_t start = 0;
  for (int64_t done = 0; limit < 0 || done < limit; done++) {
    const size_t at = text.view().find(from, start);
    if (at == std::string_view::npos) break;
    out.append(text, start, at);
    out.append(to);
    start = at + from.size();
  }
  out.append(text, start, text.size());
  return out;
}

Text pad(const Text& text, size_t width, Side side, const Text& fill) {
  const size_t length = count_code_points(text.view());
  if (width <= length) return text;
  const size_t missing = width - length;
  // Python's centering puts the odd one to the left when the width is odd, else to the right.
  const size_t left = side == Side::left    ? missing
                      : side == Side::right ? 0
                                            : missing / 2 + (missing & width & 1);
  Text out;
  for (size_t i = 0; i < left; i++) out.append(fill);
  out.append(text);
  for (size_t i = left; i < missing; i++) out.append(fill);
  return out;
}

Text expand_tabs(const Text& text, size_t tab) {
  size_t column = 0;
  return map_characters(text, [&](std::string& out, char32_t c, size_t) {
    if (c == '\t') {
      const size_t blanks = tab == 0 ? 0 : tab - column % tab;
      out.append(blanks, ' ');
      column += blanks;
    } else {
      append_utf8(out, c);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  });
}

}  // namespace brass::jinja
