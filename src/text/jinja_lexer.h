// Splits a template into tokens.
//
// Owns: Token, tokenize(): delimiters, raw blocks, comments, whitespace control (trim_blocks and
// lstrip_blocks on, one trailing newline dropped), literals with their escapes. Must not know: the grammar.
// Invariants: the source is valid UTF-8; brackets inside tags are balanced; the last token is end_of_file.
// Source: the behaviour of Jinja 3.1's lexer under the settings that chat templates are rendered with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/jinja_value.h"

namespace brass::jinja {

enum class Tok : uint8_t {
  data,
  block_begin,
  block_end,
  variable_begin,
  variable_end,
  name,
  string,
  integer,
  real,
  op,
  end_of_file
};

struct Position {
  uint32_t line = 1;
  uint32_t column = 1;  // in bytes
};

struct Token {
  Tok type = Tok::end_of_file;
  Position at;
  std::string text;  // data, name, op, or the decoded string
  Int integer = 0;
  double real = 0;
};

Result<std::vector<Token>> tokenize(std::string_view source);

// An error that names a place in the template.
template <class... Args>
std::unexpected<Error> fail_at(Position at, fmt::format_string<Args...> text, Args&&... args) {
  return fail("template line {}, column {}: {}", at.line, at.column,
              fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace brass::jinja
