// JSON input from any bytes: an error, or a document that can be written again and made into template values.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "text/jinja_json.h"
#include "text/json_guard.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = brass::parse_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!json) return 0;
  const std::string text = json->dump();
  const auto again = brass::parse_json(text);
  if (!again || again->dump() != text) std::abort();
  (void)brass::jinja::from_json(*json);
  return 0;
}
