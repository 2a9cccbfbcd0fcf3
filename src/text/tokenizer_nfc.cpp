#include "text/tokenizer_nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "text/tokenizer_utf8.h"

namespace brass::tokens {

namespace {

using CodePoints = std::vector<utf8proc_int32_t>;

// Appends the canonical decomposition of one code point.
void decompose(char32_t code, CodePoints& out) {
  utf8proc_int32_t parts[32];  // the longest canonical decomposition has four
  int boundary = 0;
  const auto count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(code), parts, std::size(parts),
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundary);
  ENSURE(count >= 0 && count <= static_cast<utf8proc_ssize_t>(std::size(parts)));
  out.insert(out.end(), parts, parts + count);
}

int combining_class(utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; }

// Canonical order: stretches of marks sorted by class, equals left in place. utf8proc's own ordering is quadratic.
void order(CodePoints& codes) {
  std::vector<uint64_t> keys;  // class, place, code point
  for (size_t at = 0; at < codes.size();) {
    keys.clear();
    size_t end = at;
    for (int rank; end < codes.size() && (rank = combining_class(codes[end])) != 0; ++end) {
      const auto code = static_cast<uint64_t>(codes[end]);
      keys.push_back(static_cast<uint64_t>(rank) << 56 | static_cast<uint64_t>(end - at) << 21 | code);
    }
    std::sort(keys.begin(), keys.end());
    for (const uint64_t key : keys) codes[at++] = static_cast<utf8proc_int32_t>(key & 0x1FFFFF);
    if (at < codes.size()) ++at;
  }
}

void compose(CodePoints& codes) {
  order(codes);
  const auto count =
      utf8proc_normalize_utf32(codes.data(), static_cast<utf8proc_ssize_t>(codes.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  ENSURE(count >= 0);
  codes.resize(static_cast<size_t>(count));
}

// Whether a code point is its own NFC whatever stands before it: then normalization may start afresh there.
bool is_stable(char32_t code) {
  if (code < 0x300 || (code >= 0x4E00 && code < 0xA000) || (code >= 0xAC00 && code < 0xD7A4)) return true;
  const auto* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(code));
  if (property->combining_class != 0) return false;
  // Marks may compose with what stands before them, and so may the vowels and trailing consonants of Hangul
  if (property->category == UTF8PROC_CATEGORY_MN || property->category == UTF8PROC_CATEGORY_MC) return false;
  // and of Kirat Rai (Unicode 16), which are letters.
  if ((code >= 0x1160 && code < 0x1200) || (code >= 0x16D40 && code < 0x16D80)) return false;
  CodePoints codes;
  decompose(code, codes);
  if (codes.size() == 1) return codes[0] == static_cast<utf8proc_int32_t>(code);
  compose(codes);
  return codes.size() == 1 && codes[0] == static_cast<utf8proc_int32_t>(code);
}

// Where the next stretch that may need work begins (at the stable character before it) and ends.
struct Stretch {
  size_t begin, end;
};

Stretch next_unstable(std::string_view text, size_t at) {
  size_t last_stable = at;
  while (at < text.size()) {
    const size_t ascii_end = skip_ascii(text, at);
    if (ascii_end > at) last_stable = ascii_end - 1, at = ascii_end;
    if (at >= text.size()) break;
    const Utf8Step step = utf8_step(text, at);
    if (step.state != Utf8State::kValid) {
      last_stable = at + step.length;
    } else if (is_stable(step.code)) {
      last_stable = at;
    } else {
      size_t end = at + step.length;
      for (; end < text.size(); end += utf8_step(text, end).length) {
        const Utf8Step next = utf8_step(text, end);
        if (next.state != Utf8State::kValid || is_stable(next.code)) break;
      }
      return {last_stable, end};
    }
    at += step.length;
  }
  return {text.size(), text.size()};
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& storage) {
  Stretch stretch = next_unstable(text, 0);
  if (stretch.begin == text.size()) return text;
  storage.clear();
  size_t done = 0;
  CodePoints codes;
  while (stretch.begin < text.size()) {
    storage.append(text.substr(done, stretch.begin - done));
    codes.clear();
    for (size_t at = stretch.begin; at < stretch.end;) {
      const Utf8Step step = utf8_step(text, at);
      decompose(step.code, codes);
      at += step.length;
    }
    compose(codes);
    for (const auto code : codes) append_utf8(storage, static_cast<char32_t>(code));
    done = stretch.end;
    stretch = next_unstable(text, done);
  }
  storage.append(text.substr(done));
  return storage;
}

}  // namespace brass::tokens
