#include "text/grammar/code_points.h"

#include <utf8proc.h>

#include <algorithm>

namespace brass::grammar {

CodePoints all_code_points() { return complement({}); }

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

CodePoints any_case(const CodePoints& points) {
  // No character beyond this plane's last letter pairs has another case (Unicode 15, CaseFolding.txt).
  constexpr char32_t kLastCased = 0x1E943;
  CodePoints result = points;
  for (const auto& [low, high] : points) {
    for (char32_t c = low; c <= std::min(high, kLastCased); ++c) {
      for (const utf8proc_int32_t other : {utf8proc_tolower(static_cast<utf8proc_int32_t>(c)),
                                           utf8proc_toupper(static_cast<utf8proc_int32_t>(c))})
        if (static_cast<char32_t>(other) != c)
          result.emplace_back(static_cast<char32_t>(other), static_cast<char32_t>(other));
    }
  }
  return normalized(std::move(result));
}

}  // namespace brass::grammar
