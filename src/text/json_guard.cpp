#include "text/json_guard.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace brass {
namespace {

struct Place {
  size_t line = 1, column = 1;
};

Place place_of(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const size_t newline = before.rfind('\n');
  return {1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n')),
          before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1};
}

// Brackets outside of strings; what is not JSON the parser finds.
Result<> check_depth(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (c == '"') {
      for (i++; i < text.size() && text[i] != '"'; i++) i += text[i] == '\\';
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) {
        const Place at = place_of(text, i);
        return fail("JSON line {}, column {}: nested deeper than {} levels", at.line, at.column,
                    kMaxJsonDepth);
      }
    } else if (c == ']' || c == '}') {
      depth--;
    }
  }
  return {};
}

}  // namespace

Result<nlohmann::ordered_json> parse_json(std::string_view text) {
  TRY(check_depth(text));
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    // Its message carries an error number and a position of its own; what went wrong comes after the last
    // colon pair that it starts with.
    const Place at = place_of(text, e.byte == 0 ? 0 : e.byte - 1);
    std::string_view what = e.what();
    if (const size_t colon = what.find(": "); colon != std::string_view::npos) what.remove_prefix(colon + 2);
    return fail("JSON line {}, column {}: {}", at.line, at.column, what);
  } catch (const nlohmann::json::exception& e) {
    return fail("JSON: {}", e.what());
  }
}

}  // namespace brass
