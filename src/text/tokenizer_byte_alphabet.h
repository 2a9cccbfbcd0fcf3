// How byte-level vocabularies write bytes: one printable character each, as GPT-2 chose them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace brass::tokens {

// The bytes that `piece` writes, or nothing if it holds a character that writes none.
std::optional<std::string> bytes_of_piece(std::string_view piece);

}  // namespace brass::tokens
