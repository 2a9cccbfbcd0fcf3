// Renders a template with variables given as JSON text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "text/jinja.h"
#include "text/jinja_json.h"
#include "text/json_guard.h"

namespace brass::jinja {

inline Result<Rendered> render(std::string_view source, std::string_view context = "{}",
                               const RenderOptions& options = {}) {
  const auto json = TRY(parse_json_exact(context));
  const Value variables = TRY(context_from_json(json));
  const auto parsed = TRY(Template::parse(source));
  return parsed->render(variables, options);
}

// The text, or "error: …".
inline std::string text_of(std::string_view source, std::string_view context = "{}",
                           const RenderOptions& options = {}) {
  auto result = render(source, context, options);
  return result ? result->text : "error: " + result.error().message;
}

// The segments as "trusted|untrusted|…": trusted ones in [brackets].
inline std::string marked(std::string_view source, std::string_view context) {
  auto result = render(source, context);
  if (!result) return "error: " + result.error().message;
  std::string out;
  for (const Segment& s : result->segments) {
    const std::string part = result->text.substr(s.begin, s.end - s.begin);
    out += s.trusted ? "[" + part + "]" : part;
  }
  return out;
}

}  // namespace brass::jinja
