// Names of models and of files.
//
// Owns: which names are allowed, what a file is called by default, which known names are close to a wrong
// one. Must not know: the disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace brass::hub {

// Lower-cases and checks a name that a user gave: 1 to 128 of a-z 0-9 . _ - +, a letter or digit first. So a
// name is never a path, never hidden, never an option, and safe to print.
Result<std::string> check_name(std::string_view name);

// "dir/SmolLM2-135M-Instruct.Q4_1.gguf" → "smollm2-135m-instruct.q4_1"; the part number of a split file goes,
// other characters become '-'.
std::string default_name(std::string_view path);

// A file name without folders and control characters that is not "." or "..".
bool is_plain_file_name(std::string_view name);

// "NAME-00002-of-00003.gguf" in its pieces; nullopt for any other name and for a single part.
struct SplitName {
  std::string prefix;  // with its folder
  uint32_t count;
  std::string part(uint32_t index) const;  // the path of part 0, 1, …
};
std::optional<SplitName> parse_split_name(std::string_view path);

// Up to `limit` of `known`, the closest to `name` first.
std::vector<std::string> closest_names(std::string_view name, std::vector<std::string> known,
                                       size_t limit = 3);

}  // namespace brass::hub
