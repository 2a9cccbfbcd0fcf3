#include <algorithm>

#include "text/grammar/regex_impl.h"

namespace brass::grammar {

CodePoints normalized(CodePoints points) {
  std::sort(points.begin(), points.end());
  CodePoints out;
  const auto add = [&](char32_t low, char32_t high) {
    if (low > high) return;
    if (!out.empty() && low <= out.back().second + 1) {
      out.back().second = std::max(out.back().second, high);
    } else {
      out.emplace_back(low, high);
    }
  };
  for (const auto& [low, high] : points) {  // surrogates are no characters
    add(low, std::min<char32_t>(high, 0xD7FF));
    if (high > 0xDFFF) add(std::max<char32_t>(low, 0xE000), std::min(high, kLastPoint));
  }
  return out;
}

CodePoints complement(const CodePoints& points) {
  CodePoints out;
  char32_t next = 0;
  for (const auto& [low, high] : points) {
    if (low > next) out.emplace_back(next, low - 1);
    next = high + 1;
  }
  if (next <= kLastPoint) out.emplace_back(next, kLastPoint);
  return normalized(std::move(out));
}

CodePoints intersection(const CodePoints& a, const CodePoints& b) {
  CodePoints out;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const char32_t low = std::max(a[i].first, b[j].first), high = std::min(a[i].second, b[j].second);
    if (low <= high) out.emplace_back(low, high);
    a[i].second < b[j].second ? ++i : ++j;
  }
  return out;
}

bool contains(const CodePoints& points, char32_t point) {
  const auto after = std::upper_bound(points.begin(), points.end(), point,
                                      [](char32_t p, const auto& range) { return p < range.first; });
  return after != points.begin() && point <= std::prev(after)->second;
}

}  // namespace brass::grammar
