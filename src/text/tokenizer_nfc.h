// Unicode normalization form C (UAX #15) as of Unicode 9, which `tokenizers` normalizes by, with utf8proc.
//
// Invariants: linear but for sorting; text that is already normal is not copied.
#pragma once

#include <string>
#include <string_view>

namespace brass::tokens {

// The NFC of `text`, or `text` itself if nothing changes; `storage` keeps what had to be made. Stretches that
// are not valid UTF-8 stay as they are, and nothing composes across them.
std::string_view to_nfc(std::string_view text, std::string& storage);

}  // namespace brass::tokens
