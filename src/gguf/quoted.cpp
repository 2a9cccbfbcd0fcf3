#include <fmt/format.h>

#include "gguf/value.h"

namespace brass::gguf {
namespace {

// Bytes of the well-formed UTF-8 character at the front of `text` (Unicode 15, table 3-7), 0 if there is
// none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; i++) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string quoted(std::string_view text, size_t max_bytes) {
  std::string out = "\"";
  size_t at = 0;
  while (at < text.size() && at < max_bytes) {
    const char c = text[at];
    const size_t length = utf8_length(text.substr(at));
    const bool c1_control = length == 2 && c == '\xc2' && static_cast<uint8_t>(text[at + 1]) < 0xa0;
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (length == 0 || static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    } else if (c1_control) {
      out += fmt::format("\\xc2\\x{:02x}", static_cast<uint8_t>(text[at + 1]));
    } else {
      out += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  out += '"';
  if (at < text.size()) out += fmt::format("… {} bytes", text.size());
  return out;
}

}  // namespace brass::gguf
