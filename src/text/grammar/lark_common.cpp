#include "text/grammar/lark_common.h"

#include <algorithm>
#include <array>
#include <utility>

namespace brass::grammar::lark {
namespace {

using Row = std::pair<std::string_view, std::string_view>;

// The languages of Lark's common.lark (1.3). Where that takes as little as it can (strings, C comments), the pattern
// says what may not be inside.
constexpr std::array kRows = {
    Row{"DIGIT", R"([0-9])"},
    Row{"HEXDIGIT", R"([0-9a-fA-F])"},
    Row{"INT", R"([0-9]+)"},
    Row{"SIGNED_INT", R"([+\-]?[0-9]+)"},
    Row{"DECIMAL", R"([0-9]+\.[0-9]*|\.[0-9]+)"},
    Row{"_EXP", R"([eE][+\-]?[0-9]+)"},
    Row{"FLOAT", R"([0-9]+[eE][+\-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?)"},
    Row{"SIGNED_FLOAT",
        R"([+\-]?(?:[0-9]+[eE][+\-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?))"},
    Row{"NUMBER", R"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?)"},
    Row{"SIGNED_NUMBER", R"([+\-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+\-]?[0-9]+)?)"},
    Row{"_STRING_INNER", R"([^\n]*)"},
    Row{"_STRING_ESC_INNER", R"((?:[^\\\n]|\\[^\n])*)"},
    Row{"ESCAPED_STRING", R"("(?:[^"\\\n]|\\[^\n])*")"},
    Row{"LCASE_LETTER", R"([a-z])"},
    Row{"UCASE_LETTER", R"([A-Z])"},
    Row{"LETTER", R"([a-zA-Z])"},
    Row{"WORD", R"([a-zA-Z]+)"},
    Row{"CNAME", R"([_a-zA-Z][_a-zA-Z0-9]*)"},
    Row{"WS_INLINE", R"([ \t]+)"},
    Row{"WS", R"([ \t\f\r\n]+)"},
    Row{"CR", R"(\r)"},
    Row{"LF", R"(\n)"},
    Row{"NEWLINE", R"((?:\r?\n)+)"},
    Row{"SH_COMMENT", R"(#[^\n]*)"},
    Row{"CPP_COMMENT", R"(\/\/[^\n]*)"},
    Row{"C_COMMENT", R"(\/\*(?:[^*]|\*+[^*\/])*\*+\/)"},
    Row{"SQL_COMMENT", R"(--[^\n]*)"},
};

}  // namespace

std::string_view common_pattern(std::string_view name) {
  const auto* const row = std::ranges::find(kRows, name, &Row::first);
  return row == kRows.end() ? std::string_view() : row->second;
}

}  // namespace brass::grammar::lark
