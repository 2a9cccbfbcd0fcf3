// How much of a large campaign a test runs: a fixed sample, or all of it (BRASS_FULL=1, as ./dev test --full sets it).
#pragma once

#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace brass {

inline bool full_campaign() {
  const char* full = std::getenv("BRASS_FULL");
  return full != nullptr && std::string_view(full) == "1";
}

// Of a list in which several have one kind: the first of each kind, or in a full campaign all.
template <class T, class KindOf>
std::vector<T> one_of_each(std::vector<T> all, KindOf&& kind_of) {
  if (full_campaign()) return all;
  std::set<std::string> seen;
  std::erase_if(all, [&](const T& one) { return !seen.insert(std::string(kind_of(one))).second; });
  return all;
}

}  // namespace brass
