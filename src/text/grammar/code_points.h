// Sets of code points as sorted ranges (CodePoints of regex.h).
//
// Invariants: arguments and results are normalized, but where it is said: sorted, disjoint, adjacent ranges joined, without
// surrogates.
#pragma once

#include "text/grammar/regex.h"

namespace brass::grammar {

constexpr char32_t kLastPoint = 0x10FFFF;

CodePoints all_code_points();
CodePoints normalized(CodePoints points);  // of ranges in any order
CodePoints complement(const CodePoints& points);
CodePoints intersection(const CodePoints& a, const CodePoints& b);
bool contains(const CodePoints& points, char32_t point);
// With the simple upper and lower case of each, as far as these are single characters.
CodePoints any_case(const CodePoints& points);

}  // namespace brass::grammar
