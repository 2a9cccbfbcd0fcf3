// From the bytes of a text to the code points that they spell, one byte at a time.
//
// Owns: what lies between two code points: bytes of UTF-8, escapes of a JSON string. Must not know: what the code
// points are for. Invariants: a state is one word, 0 between code points; every state can still become some code
// point, and candidates() says which.
#pragma once

#include <cstdint>

#include "text/grammar/grammar.h"

namespace brass::grammar {

enum class Spelled : uint8_t { kDead, kPartial, kPoint };

struct SpelledStep {
  Spelled what = Spelled::kDead;
  uint32_t value = 0;  // the state, or the code point
};

namespace spelling {

// mode, a small number, a value
enum Mode : uint32_t { kUtf8 = 1, kEscape, kUnit, kHigh, kHighEscape, kLow };
constexpr uint32_t pack(Mode mode, uint32_t number, uint32_t value) {
  return mode << 28 | number << 24 | value;
}
constexpr Mode mode_of(uint32_t state) { return static_cast<Mode>(state >> 28); }
constexpr uint32_t number_of(uint32_t state) { return state >> 24 & 15; }
constexpr uint32_t value_of(uint32_t state) { return state & 0xFFFFFF; }

inline int hex(uint8_t byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  const int lower = byte | 0x20;
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// UTF-8: number = 4 · (bytes of the whole - 2) + bytes to come; value: the bits so far.
inline SpelledStep utf8_lead(uint8_t byte) {
  if (byte < 0x80) return {Spelled::kPoint, byte};
  if (byte < 0xC2 || byte > 0xF4) return {};
  const uint32_t length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
  return {Spelled::kPartial, pack(kUtf8, 4 * (length - 2) + length - 1, byte & (0x7Fu >> length))};
}

constexpr uint8_t quote_of(Spelling spelling) { return spelling == Spelling::kSingleQuoted ? '\'' : '"'; }

inline SpelledStep json_escape(uint8_t byte) {
  const auto point = [](char32_t c) { return SpelledStep{Spelled::kPoint, c}; };
  switch (byte) {
    case '"':
    case '\\':
    case '/':
      return point(byte);
    case 'b':
      return point('\b');
    case 'f':
      return point('\f');
    case 'n':
      return point('\n');
    case 'r':
      return point('\r');
    case 't':
      return point('\t');
    case 'u':
      return {Spelled::kPartial, pack(kUnit, 0, 0)};
    default:
      return {};
  }
}

}  // namespace spelling

// Calls visit(low, high) for ranges that hold all code points which `state` (not 0) can become, and others only where
// no code points are (surrogates) or where the encoding rules them out and the visitor's ranges must be cut: none.
template <class Visit>
void candidates(uint32_t state, const Visit& visit) {
  using namespace spelling;
  const uint32_t number = number_of(state), value = value_of(state);
  const auto pairs = [&](uint32_t high_from, uint32_t high_to) {
    visit(0x10000 + (high_from << 10), 0x10000 + (high_to << 10) + 0x3FF);
  };
  switch (mode_of(state)) {
    case kUtf8: {
      const uint32_t bits = 6 * (number & 3), total = number >> 2;
      const uint32_t least = total == 0 ? 0x80 : total == 1 ? 0x800 : 0x10000;
      const uint32_t low = value << bits, high = (value + 1) << bits;
      if (high > least) visit(low < least ? least : low, high - 1);
      break;
    }
    case kEscape:
      visit(0, 0x10FFFF);
      break;
    case kUnit: {
      const uint32_t bits = 16 - 4 * number;
      const uint32_t low = value << bits, high = ((value + 1) << bits) - 1;
      visit(low, high);  // surrogates are in no language
      const uint32_t from = low < 0xD800 ? 0xD800 : low, to = high > 0xDBFF ? 0xDBFF : high;
      if (from <= to) pairs(from - 0xD800, to - 0xD800);
      break;
    }
    case kHigh:
    case kHighEscape:
      pairs(value, value);
      break;
    case kLow: {  // number: digits so far; value: the high half and the digits
      const uint32_t bits = 16 - 4 * number, digits = value & 0xFFF, block = 0x10000 + (value >> 12 << 10);
      const uint32_t low = digits << bits, high = ((digits + 1) << bits) - 1;
      const uint32_t from = low < 0xDC00 ? 0xDC00 : low, to = high > 0xDFFF ? 0xDFFF : high;
      if (from <= to) visit(block + (from - 0xDC00), block + (to - 0xDC00));
      break;
    }
  }
}

inline SpelledStep spell(Spelling spelling, uint32_t state, uint8_t byte) {
  using namespace spelling;
  if (state == 0) {
    if (spelling != Spelling::kPlain) {
      if (byte < 0x20 || byte == quote_of(spelling)) return {};
      if (byte == '\\') return {Spelled::kPartial, pack(kEscape, 0, 0)};
    }
    return utf8_lead(byte);
  }
  const uint32_t number = number_of(state), value = value_of(state);
  switch (mode_of(state)) {
    case kUtf8: {
      if ((byte & 0xC0) != 0x80) return {};
      const uint32_t next = value << 6 | (byte & 0x3Fu);
      if ((number & 3) == 1) return {Spelled::kPoint, next};
      return {Spelled::kPartial, pack(kUtf8, number - 1, next)};
    }
    case kEscape:
      if (byte == '\'' && spelling == Spelling::kSingleQuoted) return {Spelled::kPoint, byte};
      return json_escape(byte);
    case kUnit: {
      if (hex(byte) < 0) return {};
      const uint32_t next = value << 4 | static_cast<uint32_t>(hex(byte));
      if (number < 3) return {Spelled::kPartial, pack(kUnit, number + 1, next)};
      if (next >= 0xD800 && next <= 0xDBFF) return {Spelled::kPartial, pack(kHigh, 0, next - 0xD800)};
      if (next >= 0xDC00 && next <= 0xDFFF) return {};
      return {Spelled::kPoint, next};
    }
    case kHigh:
      return byte == '\\' ? SpelledStep{Spelled::kPartial, pack(kHighEscape, 0, value)} : SpelledStep{};
    case kHighEscape:
      return byte == 'u' ? SpelledStep{Spelled::kPartial, pack(kLow, 0, value << 12)} : SpelledStep{};
    case kLow: {
      if (hex(byte) < 0) return {};
      const uint32_t digits = (value & 0xFFF) << 4 | static_cast<uint32_t>(hex(byte));
      if (number < 3) return {Spelled::kPartial, pack(kLow, number + 1, (value >> 12 << 12) | digits)};
      if (digits < 0xDC00 || digits > 0xDFFF) return {};
      return {Spelled::kPoint, 0x10000 + (value >> 12 << 10) + (digits - 0xDC00)};
    }
  }
  return {};
}

}  // namespace brass::grammar
