// Keywords about the items of arrays and the members of objects.
#include <algorithm>

#include "text/grammar/schema_reader.h"

namespace brass::grammar::schema {

Result<FormulaId> Reader::prefix_items(const At& at, const Json& value) {
  const std::vector<FormulaId> list = TRY(subs(at, "prefixItems", value));
  std::vector<FormulaId> parts;
  for (size_t i = 0; i < list.size(); i++)
    parts.push_back(f_.make({Kind::kItem, static_cast<int32_t>(i), 0, 0, {list[i]}}));
  return f_.all_of(std::move(parts));
}

// A list is draft 7's way to say prefixItems, and additionalItems then its way to say items.
Result<FormulaId> Reader::items(const At& at, const Json& value) {
  if (!value.is_array()) {
    const Json* prefix = at.get("prefixItems");
    const auto from = static_cast<int32_t>(prefix != nullptr && prefix->is_array() ? prefix->size() : 0);
    return f_.make({Kind::kItems, from, 0, 0, {TRY(sub(at, value, "items"))}});
  }
  if (at.get("prefixItems") != nullptr) return refuse(at, "items", "it is a list beside 'prefixItems'");
  std::vector<FormulaId> parts;
  for (size_t i = 0; i < value.size(); i++) {
    const FormulaId item = TRY(sub(at, value[i], "items/" + std::to_string(i)));
    parts.push_back(f_.make({Kind::kItem, static_cast<int32_t>(i), 0, 0, {item}}));
  }
  if (const Json* more = at.get("additionalItems"))
    parts.push_back(f_.make(
        {Kind::kItems, static_cast<int32_t>(value.size()), 0, 0, {TRY(sub(at, *more, "additionalItems"))}}));
  return f_.all_of(std::move(parts));
}

Result<FormulaId> Reader::contains(const At& at, const Json& value) {
  const Json* min = at.get("minContains");
  const Json* max = at.get("maxContains");
  const int least = min != nullptr ? TRY(count(at, "minContains", *min)) : 1;
  const int most = max != nullptr ? TRY(count(at, "maxContains", *max)) : -1;
  return f_.make({Kind::kContains, least, most, 0, {TRY(sub(at, value, "contains"))}});
}

Result<FormulaId> Reader::min_items(const At& at, const Json& value) {
  return f_.make({Kind::kLength, TRY(count(at, "minItems", value)), -1, 0, {}});
}

Result<FormulaId> Reader::max_items(const At& at, const Json& value) {
  return f_.make({Kind::kLength, 0, TRY(count(at, "maxItems", value)), 0, {}});
}

Result<FormulaId> Reader::unique_items(const At& at, const Json& value) {
  if (!value.is_boolean()) return refuse(at, "uniqueItems", "it is neither true nor false");
  return value.get<bool>() ? f_.make({Kind::kUnique, at.place, 0, 0, {}}) : f_.yes();
}

Result<FormulaId> Reader::properties(const At& at, const Json& value) {
  if (!value.is_object()) return refuse(at, "properties", "it is not an object of schemas");
  std::vector<FormulaId> parts;
  for (const auto& [name, schema] : value.items()) {
    const int32_t key = f_.key(name);  // named keys come out in the order of their numbers
    const FormulaId member = TRY(sub(at, schema, "properties/" + escape_pointer(name)));
    parts.push_back(f_.make({Kind::kKey, key, 0, 0, {member}}));
  }
  return f_.all_of(std::move(parts));
}

Result<FormulaId> Reader::pattern_properties(const At& at, const Json& value) {
  if (!value.is_object()) return refuse(at, "patternProperties", "it is not an object of schemas");
  std::vector<FormulaId> parts;
  for (const auto& [text, schema] : value.items()) {
    KeySet keys;
    keys.within = {TRY(pattern(at, "patternProperties", text))};
    const FormulaId member = TRY(sub(at, schema, "patternProperties/" + escape_pointer(text)));
    parts.push_back(f_.make({Kind::kKeys, f_.key_set(keys), 0, 0, {member}}));
  }
  return f_.all_of(std::move(parts));
}

Result<FormulaId> Reader::additional_properties(const At& at, const Json& value) {
  KeySet others;
  if (const Json* named = at.get("properties"); named != nullptr && named->is_object())
    for (const auto& [name, schema] : named->items()) others.except.push_back(name);
  if (const Json* patterns = at.get("patternProperties"); patterns != nullptr && patterns->is_object())
    for (const auto& [text, schema] : patterns->items())
      others.outside.push_back(TRY(pattern(at, "patternProperties", text)));
  return f_.make({Kind::kKeys, f_.key_set(others), 0, 0, {TRY(sub(at, value, "additionalProperties"))}});
}

Result<FormulaId> Reader::property_names(const At& at, const Json& value) {
  return f_.make({Kind::kNames, 0, 0, 0, {TRY(sub(at, value, "propertyNames"))}});
}

Result<FormulaId> Reader::required(const At& at, const Json& value) {
  std::vector<FormulaId> parts;
  for (const std::string& name : TRY(names(at, "required", value))) parts.push_back(required_key(name));
  return f_.all_of(std::move(parts));
}

Result<FormulaId> Reader::min_properties(const At& at, const Json& value) {
  return f_.make({Kind::kCount, TRY(count(at, "minProperties", value)), -1, 0, {}});
}

Result<FormulaId> Reader::max_properties(const At& at, const Json& value) {
  return f_.make({Kind::kCount, 0, TRY(count(at, "maxProperties", value)), 0, {}});
}

Result<FormulaId> Reader::dependent_required(const At& at, const Json& value) {
  if (!value.is_object()) return refuse(at, "dependentRequired", "it is not an object of lists");
  std::vector<FormulaId> parts;
  for (const auto& [name, list] : value.items()) {
    std::vector<FormulaId> needed{required_key(name)};
    for (const std::string& other : TRY(names(at, "dependentRequired/" + name, list)))
      needed.push_back(required_key(other));
    parts.push_back(f_.any_of({value_at(name, f_.no()), f_.all_of(std::move(needed))}));
  }
  return f_.all_of(std::move(parts));
}

// What this schema's own keywords look at.
Result<Reader::Seen> Reader::seen_by(const At& at) {
  Seen seen;
  if (const Json* named = at.get("properties"); named != nullptr && named->is_object())
    for (const auto& [name, schema] : named->items()) seen.keys.insert(name);
  if (const Json* patterns = at.get("patternProperties"); patterns != nullptr && patterns->is_object())
    for (const auto& [text, schema] : patterns->items())
      seen.patterns.insert(TRY(pattern(at, "patternProperties", text)));
  seen.all_keys = at.get("additionalProperties") != nullptr;
  if (const Json* prefix = at.get("prefixItems"); prefix != nullptr && prefix->is_array())
    seen.items = static_cast<int>(prefix->size());
  if (const Json* list = at.get("items")) {
    if (list->is_array()) seen.items = static_cast<int>(list->size());
    seen.all_items = !list->is_array() || at.get("additionalItems") != nullptr;
  }
  if (const Json* schema = at.get("contains")) seen.contained.insert(TRY(sub(at, *schema, "contains")));
  return seen;
}

}  // namespace brass::grammar::schema
