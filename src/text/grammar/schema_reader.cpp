#include "text/grammar/schema_reader.h"

#include <array>

#include "text/grammar/schema_decimal.h"

namespace brass::grammar::schema {

const std::vector<Reader::Row>& Reader::rows() {
  static const std::vector<Row> kRows = {
      {"type", &Reader::type, false},
      {"enum", &Reader::enumeration, false},
      {"const", &Reader::constant, false},
      {"minimum", &Reader::minimum, false},
      {"maximum", &Reader::maximum, false},
      {"exclusiveMinimum", &Reader::exclusive_minimum, false},
      {"exclusiveMaximum", &Reader::exclusive_maximum, false},
      {"multipleOf", &Reader::multiple_of, false},
      {"minLength", &Reader::min_length, false},
      {"maxLength", &Reader::max_length, false},
      {"pattern", &Reader::string_pattern, false},
      {"format", &Reader::format, false},
      {"items", &Reader::items, false},
      {"prefixItems", &Reader::prefix_items, false},
      {"contains", &Reader::contains, false},
      {"minItems", &Reader::min_items, false},
      {"maxItems", &Reader::max_items, false},
      {"uniqueItems", &Reader::unique_items, false},
      {"properties", &Reader::properties, false},
      {"patternProperties", &Reader::pattern_properties, false},
      {"additionalProperties", &Reader::additional_properties, false},
      {"propertyNames", &Reader::property_names, false},
      {"required", &Reader::required, false},
      {"minProperties", &Reader::min_properties, false},
      {"maxProperties", &Reader::max_properties, false},
      {"dependentRequired", &Reader::dependent_required, false},
      {"not", &Reader::negation, false},
      {"allOf", &Reader::all_of, true},
      {"anyOf", &Reader::any_of, true},
      {"oneOf", &Reader::one_of, true},
      {"if", &Reader::condition, true},
      {"$ref", &Reader::reference, true},
      {"$dynamicRef", &Reader::dynamic_reference, true},
      {"dependentSchemas", &Reader::dependent_schemas, true},
      {"dependencies", &Reader::dependencies, true},
  };
  return kRows;
}

std::unexpected<Error> Reader::refuse(const At& at, const std::string& keyword,
                                      const std::string& why) const {
  return wrong_use("{}: keyword '{}': {}", pointer(at.place), keyword, why);
}

Result<FormulaId> Reader::formula(int32_t place) {
  if (const auto found = read_.find(place); found != read_.end()) return found->second;
  const Place where = document_.place(place);
  FormulaId result = f_.no();
  if (where.json->is_boolean()) {
    result = where.json->get<bool>() ? f_.yes() : f_.no();
  } else if (where.json->is_object()) {
    result = TRY(read({*where.json, place, where.draft7}));
  } else {
    return wrong_use("{}: a schema is an object, true or false", where.pointer);
  }
  return read_[place] = result;
}

// What would be skipped without a word.
Result<> Reader::check(const At& at) const {
  for (const char* keyword : {"$recursiveRef", "extends", "disallow", "divisibleBy"})
    if (at.get(keyword) != nullptr) return refuse(at, keyword, "not a keyword of 2020-12 or draft 7");
  if (!at.draft7) return {};
  for (const char* keyword : {"$dynamicRef", "prefixItems", "dependentRequired", "dependentSchemas",
                              "minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties"})
    if (at.get(keyword) != nullptr)
      return refuse(at, keyword, "not a keyword of draft 7, which `$schema` names");
  return {};
}

Result<FormulaId> Reader::read(const At& at) {
  if (at.draft7 && at.get("$ref") != nullptr) return reference(at, *at.get("$ref"));
  TRY_VOID(check(at));
  if (at.get("unevaluatedProperties") != nullptr || at.get("unevaluatedItems") != nullptr)
    return unevaluated(at);
  return f_.all_of({TRY(assertions(at, false)), TRY(assertions(at, true))});
}

Result<FormulaId> Reader::assertions(const At& at, bool in_place) {
  std::vector<FormulaId> parts;
  for (const Row& row : rows()) {
    const Json* value = row.in_place == in_place ? at.get(row.keyword) : nullptr;
    if (value != nullptr) parts.push_back(TRY((this->*row.read)(at, *value)));
  }
  return f_.all_of(std::move(parts));
}

Result<FormulaId> Reader::sub(const At& at, const Json& schema, const std::string& step) {
  if (schema.is_boolean()) return schema.get<bool>() ? f_.yes() : f_.no();
  if (schema.is_object() && schema.empty()) return f_.yes();
  const int32_t place = TRY(document_.find(schema, at.place, "/" + step));
  return f_.make({Kind::kRef, place, 0, 0, {}});
}

Result<std::vector<FormulaId>> Reader::subs(const At& at, const char* keyword, const Json& list) {
  if (!list.is_array() || list.empty()) return refuse(at, keyword, "it is not a list of schemas");
  std::vector<FormulaId> out;
  for (size_t i = 0; i < list.size(); i++)
    out.push_back(TRY(sub(at, list[i], std::string(keyword) + "/" + std::to_string(i))));
  return out;
}

Result<int> Reader::count(const At& at, const char* keyword, const Json& value) const {
  if (!is_number(value)) return refuse(at, keyword, "it is not a number");
  const Result<int> number = to_count(value);
  if (!number) return refuse(at, keyword, number.error().message);
  return *number;
}

Result<std::vector<std::string>> Reader::names(const At& at, const std::string& keyword,
                                               const Json& value) const {
  std::vector<std::string> out;
  if (!value.is_array()) return refuse(at, keyword, "it is not a list of names");
  for (const Json& name : value) {
    if (!name.is_string()) return refuse(at, keyword, "it is not a list of names");
    out.push_back(name.get<std::string>());
  }
  return out;
}

Result<RegexId> Reader::pattern(const At& at, const char* keyword, const std::string& text) {
  const Result<RegexId> regex = sets_.regexes.parse(text, RegexSyntax::kEcma);
  if (!regex) return refuse(at, keyword, regex.error().message);
  return *regex;
}

}  // namespace brass::grammar::schema
