// Stepping through bytes that may or may not be UTF-8 (Unicode 15, table 3-7).
//
// Invariants: a step is never longer than what is left, and at least one byte. An ill-formed step is a
// maximal subpart: the bytes that one U+FFFD stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace brass::tokens {

enum class Utf8State : uint8_t { kValid, kInvalid, kCut };  // kCut: a good start, but the text ends

struct Utf8Step {
  char32_t code;   // U+FFFD unless valid
  uint8_t length;  // bytes
  Utf8State state;
};

// The character that starts at text[at]; at < text.size().
inline Utf8Step utf8_step(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, Utf8State::kValid};
  if (lead < 0xC2 || lead > 0xF4) return {0xFFFD, 1, Utf8State::kInvalid};
  const uint8_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte rules out overlong forms, surrogates and what lies above U+10FFFF.
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t code = lead & (0x7Fu >> length);
  for (uint8_t i = 1; i < length; ++i) {
    if (at + i >= text.size()) return {0xFFFD, i, Utf8State::kCut};
    const uint8_t next = byte(i);
    if (next < (i == 1 ? low : 0x80) || next > (i == 1 ? high : 0xBF))
      return {0xFFFD, i, Utf8State::kInvalid};
    code = code << 6 | (next & 0x3Fu);
  }
  return {code, length, Utf8State::kValid};
}

// The first byte at or after `at` that is not ASCII, or text.size().
inline size_t skip_ascii(std::string_view text, size_t at) {
  uint64_t word;
  for (; at + 8 <= text.size(); at += 8) {
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080u) != 0) break;
  }
  while (at < text.size() && static_cast<uint8_t>(text[at]) < 0x80) ++at;
  return at;
}

// The end of the longest valid stretch that starts at `at`.
inline size_t valid_utf8_end(std::string_view text, size_t at) {
  while ((at = skip_ascii(text, at)) < text.size()) {
    const Utf8Step step = utf8_step(text, at);
    if (step.state != Utf8State::kValid) break;
    at += step.length;
  }
  return at;
}

inline void append_utf8(std::string& out, char32_t code) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F)), put(0x80 | (code >> 6 & 0x3F)),
        put(0x80 | (code & 0x3F));
  }
}

}  // namespace brass::tokens
