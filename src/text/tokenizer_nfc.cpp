#include "text/tokenizer_nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "text/tokenizer_utf8.h"

namespace brass::tokens {

namespace {

using CodePoints = std::vector<utf8proc_int32_t>;

// What normalization would touch of what Unicode 10 to 17 added: marks with a combining class, and parts of compositions.
// Hugging Face's `tokenizers` normalizes by Unicode 9, so models were trained on texts in which these stay where they are.
constexpr std::pair<char32_t, char32_t> kLater[] = {
    {0x5C8, 0x5C9},     {0x7FD, 0x7FD},     {0x897, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},
    {0xC3C, 0xC3C},     {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0x1715, 0x1715},   {0x1ABF, 0x1AF0},
    {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},   {0x105C9, 0x105C9}, {0x105D2, 0x105D2}, {0x105DA, 0x105DA},
    {0x105E4, 0x105E4}, {0x10D24, 0x10D27}, {0x10D69, 0x10D6D}, {0x10EAB, 0x10EAC}, {0x10ECB, 0x10ECF},
    {0x10EF0, 0x10EFB}, {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070},
    {0x1133B, 0x1133B}, {0x11382, 0x11385}, {0x1138B, 0x1138B}, {0x1138E, 0x1138E}, {0x11390, 0x11391},
    {0x113B8, 0x113B8}, {0x113BB, 0x113BB}, {0x113C2, 0x113C2}, {0x113C5, 0x113C5}, {0x113C7, 0x113C9},
    {0x113CE, 0x113D0}, {0x1145E, 0x1145E}, {0x11839, 0x1183A}, {0x11930, 0x11930}, {0x11935, 0x11935},
    {0x11938, 0x11938}, {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0}, {0x11A34, 0x11A34},
    {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45}, {0x11D97, 0x11D97},
    {0x11F41, 0x11F42}, {0x1611E, 0x16129}, {0x1612F, 0x1612F}, {0x16D63, 0x16D63}, {0x16D67, 0x16D6A},
    {0x16FF0, 0x16FF1}, {0x1D127, 0x1D128}, {0x1D250, 0x1D252}, {0x1D25B, 0x1D25C}, {0x1D25F, 0x1D25F},
    {0x1D280, 0x1D281}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF},
    {0x1E4EC, 0x1E4EF}, {0x1E5EE, 0x1E5EF}, {0x1E6E3, 0x1E6E3}, {0x1E6E6, 0x1E6E6}, {0x1E6EE, 0x1E6EF},
    {0x1E6F5, 0x1E6F5}};

bool is_later(char32_t code) {
  const auto* range = std::ranges::lower_bound(kLater, code, {}, &std::pair<char32_t, char32_t>::second);
  return range != std::end(kLater) && range->first <= code;
}

// Appends the canonical decomposition of one code point.
void decompose(char32_t code, CodePoints& out) {
  if (is_later(code)) return out.push_back(static_cast<utf8proc_int32_t>(code));
  utf8proc_int32_t parts[32];  // the longest canonical decomposition has four
  int boundary = 0;
  const auto count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(code), parts, std::size(parts),
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundary);
  ENSURE(count >= 0 && count <= static_cast<utf8proc_ssize_t>(std::size(parts)));
  out.insert(out.end(), parts, parts + count);
}

int combining_class(utf8proc_int32_t code) {
  return is_later(static_cast<char32_t>(code)) ? 0 : utf8proc_get_property(code)->combining_class;
}

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
  if (is_later(code)) return true;
  const auto* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(code));
  if (property->combining_class != 0) return false;
  // Marks may compose with what stands before them, and so may the vowels and trailing consonants of Hangul.
  if (property->category == UTF8PROC_CATEGORY_MN || property->category == UTF8PROC_CATEGORY_MC) return false;
  if (code >= 0x1160 && code < 0x1200) return false;
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
