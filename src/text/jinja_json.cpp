#include "text/jinja_json.h"

#include <nlohmann/json.hpp>

#include "text/jinja_long.h"
#include "text/json_guard.h"

namespace brass::jinja {

namespace {

Origin origin_of(const nlohmann::ordered_json& string, const Numbers* numbers) {
  const auto found = numbers == nullptr ? Numbers::const_iterator() : numbers->find(&string);
  return numbers == nullptr || found == numbers->end() ? Origin::of(false) : Origin{found->second};
}

}  // namespace

Value from_json(const nlohmann::ordered_json& json, const Numbers* numbers) {
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::boolean:
      return Value::boolean(json.get<bool>());
    case Type::number_integer:
      return Value::integer(json.get<int64_t>());
    case Type::number_unsigned:
      return Value::integer(json.get<uint64_t>());
    case Type::number_float:
      return Value::real(json.get<double>());
    case Type::binary:
      return integer_from_text(kept_number(json));
    case Type::string:
      return frozen_string(json.get_ref<const std::string&>(), origin_of(json, numbers));
    case Type::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const auto& item : json) items.push_back(from_json(item, numbers));
      return frozen_list(std::move(items));
    }
    case Type::object: {
      const Ref<Dict> dict = frozen_dict();
      for (const auto& [key, value] : json.items())
        dict->set(frozen_string(key, false), from_json(value, numbers));
      return Value::dict(dict);
    }
    default:
      return Value::none();
  }
}

Result<Value> context_from_json(const nlohmann::ordered_json& json) {
  if (!json.is_object())
    return fail("the variables of a template must be a JSON object, not {}", json.type_name());
  const Ref<Dict> dict = frozen_dict();
  for (const auto& [key, value] : json.items()) {
    const bool own = value.is_string() && std::string_view(key).ends_with("_token");
    dict->set(frozen_string(key, true),
              own ? frozen_string(value.get_ref<const std::string&>(), true) : from_json(value));
  }
  return Value::dict(dict);
}

}  // namespace brass::jinja
