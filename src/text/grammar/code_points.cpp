#include "text/grammar/code_points.h"

#include <utf8proc.h>

#include <algorithm>

namespace brass::grammar {
namespace {

constexpr char32_t kLast = 0x10FFFF, kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

}  // namespace

CodePoints all_code_points() { return {{0, kFirstSurrogate - 1}, {kLastSurrogate + 1, kLast}}; }

CodePoints normal_form(CodePoints ranges) {
  CodePoints split;
  for (const auto& [low, high] : ranges) {
    if (low < kFirstSurrogate) split.emplace_back(low, std::min<char32_t>(high, kFirstSurrogate - 1));
    if (high > kLastSurrogate) split.emplace_back(std::max<char32_t>(low, kLastSurrogate + 1), high);
  }
  std::ranges::sort(split);
  CodePoints result;
  for (const auto& [low, high] : split) {
    const bool joins = !result.empty() && low <= result.back().second + 1;
    if (joins)
      result.back().second = std::max(result.back().second, high);
    else
      result.emplace_back(low, high);
  }
  return result;
}

CodePoints all_but(const CodePoints& set) {
  CodePoints gaps;
  char32_t next = 0;
  for (const auto& [low, high] : set) {
    if (low > next) gaps.emplace_back(next, low - 1);
    next = high + 1;
  }
  if (next <= kLast) gaps.emplace_back(next, kLast);
  return normal_form(std::move(gaps));
}

CodePoints any_case(const CodePoints& set) {
  // No character beyond this plane's last letter pairs has another case (Unicode 15, CaseFolding.txt).
  constexpr char32_t kLastCased = 0x1E943;
  CodePoints result = set;
  for (const auto& [low, high] : set) {
    for (char32_t c = low; c <= std::min(high, kLastCased); ++c) {
      for (const utf8proc_int32_t other : {utf8proc_tolower(static_cast<utf8proc_int32_t>(c)),
                                           utf8proc_toupper(static_cast<utf8proc_int32_t>(c))})
        if (static_cast<char32_t>(other) != c)
          result.emplace_back(static_cast<char32_t>(other), static_cast<char32_t>(other));
    }
  }
  return normal_form(std::move(result));
}

}  // namespace brass::grammar
