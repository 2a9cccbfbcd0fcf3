// Sets of code points as sorted ranges (CodePoints of regex.h), for the notations.
#pragma once

#include "text/grammar/regex.h"

namespace brass::grammar {

CodePoints all_code_points();  // without surrogates
// Sorted, disjoint, without surrogates; adjacent ranges joined.
CodePoints normal_form(CodePoints ranges);
// What a set in normal form lacks.
CodePoints all_but(const CodePoints& set);
// With the simple upper and lower case of each, as far as these are single characters.
CodePoints any_case(const CodePoints& set);

}  // namespace brass::grammar
