// What Python's str can do, on text with provenance.
//
// Owns: case, stripping, splitting, replacing, padding; shared by string methods and filters.
// Must not know: values, budgets: callers charge steps by size.
// Invariants: offsets are in bytes, widths and counts in code points; every byte of a result is as trusted as
// the byte it came from.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/jinja_text.h"
#include "text/jinja_unicode.h"

namespace brass::jinja {

Text upper(const Text& text);
Text lower(const Text& text);
Text casefold(const Text& text);
Text capitalize(const Text& text);
Text swapcase(const Text& text);
Text title(const Text& text);  // str.title(): a word starts after what has no case

enum class Side { left, right, both };
// `chars` absent: white space.
Text strip(const Text& text, Side side, std::optional<std::string_view> chars);

// At most `limit` cuts (negative: all), from the left or the right. `separator` absent: runs of white space.
std::vector<Text> split(const Text& text, std::optional<std::string_view> separator, int64_t limit);
std::vector<Text> split_right(const Text& text, std::optional<std::string_view> separator, int64_t limit);
std::vector<Text> split_lines(const Text& text, bool keep_ends);

// Occurrences of `what` in bytes, not overlapping; an empty `what` occurs between all code points.
size_t count_occurrences(std::string_view bytes, std::string_view what);
Text replace(const Text& text, std::string_view from, const Text& to, int64_t limit);

// Fills up to `width` code points.
Text pad(const Text& text, size_t width, Side side, const Text& fill);
Text expand_tabs(const Text& text, size_t tab);

// Calls f(code point, byte offset, byte length) for each character.
template <class F>
void each_character(std::string_view bytes, F&& f) {
  for (size_t at = 0, length = 0; at < bytes.size(); at += length) {
    const char32_t c = decode_at(bytes, at, length);
    f(c, at, length);
  }
}

}  // namespace brass::jinja
