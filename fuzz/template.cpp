// Templates from any bytes, over a context with every kind of value, under small budgets: an error or a text
// whose segments cover it, never a crash.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/jinja.h"

namespace {

using namespace brass::jinja;

Value context() {
  const auto text = [](std::string_view bytes) { return frozen_string(bytes, false); };
  const auto message = [&](std::string_view role, Value content) {
    const auto dict = frozen_dict();
    dict->set(text("role"), text(role));
    dict->set(text("content"), std::move(content));
    return Value::dict(dict);
  };
  const auto dict = frozen_dict();
  dict->set(text("messages"), frozen_list({message("system", text("s<b>")),
                                           message("user", text("stra\xC3\x9F"
                                                                "e")),
                                           message("assistant", Value::none())}));
  dict->set(text("n"), Value::integer(7));
  dict->set(text("f"), Value::real(2.5));
  dict->set(text("l"), frozen_list({Value::integer(1), text("a"), Value::boolean(true)}));
  dict->set(text("bos_token"), frozen_string("<s>", true));
  return Value::dict(dict);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const auto parsed = Template::parse(source);
  if (!parsed) return 0;
  static const Value kContext = context();
  RenderOptions options;
  options.max_steps = 20'000;
  options.max_memory = 8 << 20;
  options.max_output = 1 << 20;
  options.clock = 0;
  const auto rendered = (*parsed)->render(kContext, options);
  if (!rendered) return 0;
  size_t at = 0;
  for (const Segment& segment : rendered->segments) {
    if (segment.begin != at || segment.end <= segment.begin) std::abort();
    at = segment.end;
  }
  if (at != rendered->text.size()) std::abort();
  return 0;
}
