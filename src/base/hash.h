// A hash that tells damage, not intent: FNV-1a, 64 bits (draft-eastlake-fnv).
#pragma once

#include <cstdint>
#include <string_view>

namespace brass {

inline constexpr uint64_t kFnvBasis = 0xcbf29ce484222325;

constexpr uint64_t fnv1a(std::string_view bytes, uint64_t hash = kFnvBasis) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace brass
