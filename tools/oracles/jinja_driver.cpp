// The template engine for tools/oracles/jinja_fuzz.py: one JSON object a line in, one a line out.
//
// In: {"template", "context"}, and "segments": true to be told about provenance. Out: {"out"} or {"error"}, and
// "untrusted": the [begin, end) byte ranges of the text that came from the context. "broken" says that the
// segments do not cover the text.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "text/jinja.h"
#include "text/jinja_json.h"
#include "text/json_guard.h"

namespace {

using brass::Result;
using nlohmann::ordered_json;

Result<brass::jinja::Rendered> render(const ordered_json& request) {
  const auto context = TRY(brass::jinja::context_from_json(request.at("context")));
  const auto parsed =
      TRY(brass::jinja::Template::parse(request.at("template").get_ref<const std::string&>()));
  brass::jinja::RenderOptions options;
  options.clock = 1234567890;  // as in jinja_env.py
  return parsed->render(context, options);
}

ordered_json answer(const ordered_json& request) {
  const auto rendered = render(request);
  if (!rendered) return {{"error", rendered.error().message}};
  ordered_json out = {{"out", rendered->text}};
  ordered_json untrusted = ordered_json::array();
  size_t at = 0;
  for (const brass::jinja::Segment& segment : rendered->segments) {
    if (segment.begin != at || segment.end <= segment.begin) out["broken"] = true;
    at = segment.end;
    if (!segment.trusted) untrusted.push_back({segment.begin, segment.end});
  }
  if (at != rendered->text.size()) out["broken"] = true;
  if (request.value("segments", false)) out["untrusted"] = std::move(untrusted);
  return out;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = brass::parse_json_exact(line);
    const ordered_json out = request ? answer(*request) : ordered_json{{"error", request.error().message}};
    std::cout << out.dump() << '\n' << std::flush;
  }
}
