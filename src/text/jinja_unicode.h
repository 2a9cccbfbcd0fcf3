// Characters as Python's str sees them: code points, classes, case.
//
// Owns: code point arithmetic on UTF-8, the character classes of str.isalpha() and its like, full case
// mapping. Must not know: values, provenance. Invariants: input is valid UTF-8 (the lexer and the JSON guard
// see to that). Source: Unicode 15 through utf8proc, SpecialCasing.txt for mappings to several characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace brass::jinja {

bool valid_utf8(std::string_view bytes);
size_t count_code_points(std::string_view bytes);
// Byte offset of code point `index`; bytes.size() if there are not so many.
size_t code_point_offset(std::string_view bytes, size_t index);
// The code point that starts at byte `at`, and its length in `length`.
char32_t decode_at(std::string_view bytes, size_t at, size_t& length);
void append_utf8(std::string& out, char32_t c);

bool is_space(char32_t c);
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_alnum(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);
bool is_cased(char32_t c);
bool is_case_ignorable(char32_t c);
bool is_printable(char32_t c);
bool is_line_break(char32_t c);  // where str.splitlines() splits
bool is_name_start(char32_t c);  // of an identifier
bool is_name_continue(char32_t c);
int decimal_value(char32_t c);  // 0 to 9, or -1

enum class Case { upper, lower, title, fold };
void append_case(std::string& out, char32_t c, Case to);

}  // namespace brass::jinja
