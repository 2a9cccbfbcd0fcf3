// Where tests find the reference data that is too large for the repository.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "source_dir.h"

namespace brass {

// The path of `name` inside the shared data folder (BRASS_SHARED_DATA, else ../shared/data beside the source
// tree), or nothing, after saying what is skipped.
inline std::optional<std::string> shared_data(const std::string& name) {
  const char* given = std::getenv("BRASS_SHARED_DATA");
  const std::filesystem::path root = given != nullptr
                                         ? std::filesystem::path(given)
                                         : std::filesystem::path(source_dir()) / "../shared/data";
  const std::filesystem::path path = root / name;
  if (std::filesystem::exists(path)) return path.string();
  std::printf("[  SKIPPED ] reference data '%s' is not at %s\n", name.c_str(), root.string().c_str());
  return std::nullopt;
}

}  // namespace brass
