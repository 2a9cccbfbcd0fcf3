#include "text/tokenizer_byte_alphabet.h"

#include <array>
#include <cstdint>

#include "text/tokenizer_utf8.h"

namespace brass::tokens {

namespace {

constexpr char32_t kCharacters = 0x144;  // all lie below: 188 as themselves, the other 68 from U+0100 on

// byte + 1 of each character, 0 for none.
constexpr std::array<uint16_t, kCharacters> kByteOf = [] {
  std::array<uint16_t, kCharacters> table{};
  char32_t next = 0x100;
  for (uint16_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    table[printable ? byte : next++] = static_cast<uint16_t>(byte + 1);
  }
  return table;
}();

}  // namespace

std::optional<std::string> bytes_of_piece(std::string_view piece) {
  std::string bytes;
  bytes.reserve(piece.size());
  for (size_t at = 0; at < piece.size();) {
    const Utf8Step step = utf8_step(piece, at);
    if (step.state != Utf8State::kValid || step.code >= kCharacters || kByteOf[step.code] == 0)
      return std::nullopt;
    bytes.push_back(static_cast<char>(kByteOf[step.code] - 1));
    at += step.length;
  }
  return bytes;
}

}  // namespace brass::tokens
