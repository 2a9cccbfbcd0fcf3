// Comparing texts with marks.
#pragma once

#include <string>
#include <string_view>

namespace brass::calls {

enum class Fit { kNo, kMaybe, kYes };  // is not, may become, begins with

constexpr char kAnyWord = '\x01';  // in a mark: any run of letters and digits
constexpr char kOwnName = '\x02';  // in the mark behind a parameter's value: the parameter's name

// A blank in the mark stands for any run of blanks.
Fit fit(std::string_view text, std::string_view mark);
bool is_letter_or_digit(int c);
// The mark with the name where kOwnName stands.
std::string with_name(std::string_view mark, std::string_view name);
// The marks that are not empty, with blanks between them.
std::string joined(std::string_view a, std::string_view b);

}  // namespace brass::calls
