#include "text/jinja_filters.h"

#include "text/jinja_ops.h"
#include "text/jinja_repr.h"
#include "text/jinja_strings.h"

namespace brass::jinja {

const Builtin* find_filter(std::string_view name) {
  const auto table = [](std::span<const Builtin> filters) {
    return std::pair(filters.data(), filters.size());
  };
  return find_in({table(text_filters()), table(number_filters()), table(sequence_filters()),
                  table(selection_filters()), table(prose_filters()), table(pretty_filters())},
                 name);
}

Result<Value> soft_string(Runtime& rt, const Value& value) {
  if (value.is_string()) return value;
  return rt.string(TRY(to_text(rt, value)));
}

bool given(const Value* value) { return value != nullptr && !value->is_none(); }

Result<Value> ignore_case(Runtime& rt, const Value& value) {
  if (!value.is_string()) return value;
  TRY(rt.step(value.bytes().size() / 16));
  return rt.string(lower(value.str().text()));
}

Result<Value> lookup_path(Runtime& rt, Value item, const Value* path, const Value* otherwise) {
  if (!given(path)) return item;
  const auto replace_missing = [&](Value found) {
    return otherwise != nullptr && !otherwise->is_none() && found.is_undefined() ? *otherwise : found;
  };
  if (!path->is_string()) return replace_missing(TRY(get_item(rt, item, *path)));
  for (const Text& part : split(path->str().text(), ".", -1)) {
    bool digits = !part.empty();
    Int number = 0;
    each_character(part.view(), [&](char32_t c, size_t, size_t) {
      const int digit = decimal_value(c);
      digits = digits && digit >= 0;
      if (digits && number < (Int{1} << 100)) number = number * 10 + digit;
    });
    const Value key = digits ? Value::integer(number) : rt.string(part);
    item = replace_missing(TRY(get_item(rt, item, key)));
  }
  return item;
}

}  // namespace brass::jinja
