// Keywords that apply other schemas to the same value.
#include "text/grammar/schema_reader.h"

namespace brass::grammar::schema {

Result<FormulaId> Reader::all_of(const At& at, const Json& value) {
  return f_.all_of(TRY(subs(at, "allOf", value)));
}

Result<FormulaId> Reader::any_of(const At& at, const Json& value) {
  return f_.any_of(TRY(subs(at, "anyOf", value)));
}

Result<FormulaId> Reader::one_of(const At& at, const Json& value) {
  return f_.one_of(TRY(subs(at, "oneOf", value)));
}

Result<FormulaId> Reader::negation(const At& at, const Json& value) {
  return f_.negate(TRY(sub(at, value, "not")));
}

// Two cases that exclude each other.
Result<FormulaId> Reader::condition(const At& at, const Json& value) {
  const FormulaId test = TRY(sub(at, value, "if"));
  const Json* then = at.get("then");
  const Json* otherwise = at.get("else");
  const FormulaId yes = then != nullptr ? TRY(sub(at, *then, "then")) : f_.yes();
  const FormulaId no = otherwise != nullptr ? TRY(sub(at, *otherwise, "else")) : f_.yes();
  if (yes == f_.yes() && no == f_.yes()) return f_.yes();
  return f_.any_of({f_.all_of({test, yes}), f_.all_of({f_.negate(test), no})});
}

Result<int32_t> Reader::target(const At& at, const char* keyword, const Json& value) {
  if (!value.is_string()) return refuse(at, keyword, "it is not a string");
  Result<int32_t> place = document_.resolve(at.place, keyword, value.get<std::string>());
  if (!place) place.error().wrong_use = true;
  return place;
}

Result<FormulaId> Reader::reference(const At& at, const Json& value) {
  return f_.make({Kind::kRef, TRY(target(at, "$ref", value)), 0, 0, {}});
}

Result<FormulaId> Reader::dynamic_reference(const At& at, const Json& value) {
  return f_.make({Kind::kRef, TRY(target(at, "$dynamicRef", value)), 0, 0, {}});
}

Result<FormulaId> Reader::dependent_schemas(const At& at, const Json& value) {
  if (!value.is_object()) return refuse(at, "dependentSchemas", "it is not an object of schemas");
  std::vector<FormulaId> parts;
  for (const auto& [name, schema] : value.items()) {
    const FormulaId then = TRY(sub(at, schema, "dependentSchemas/" + escape_pointer(name)));
    parts.push_back(f_.any_of({value_at(name, f_.no()), f_.all_of({required_key(name), then})}));
  }
  return f_.all_of(std::move(parts));
}

// Draft 7's name for the two.
Result<FormulaId> Reader::dependencies(const At& at, const Json& value) {
  if (!value.is_object()) return refuse(at, "dependencies", "it is not an object of schemas and lists");
  std::vector<FormulaId> parts;
  for (const auto& [name, one] : value.items()) {
    std::vector<FormulaId> needed{required_key(name)};
    if (one.is_array()) {
      for (const std::string& other : TRY(names(at, "dependencies", one)))
        needed.push_back(required_key(other));
    } else {
      needed.push_back(TRY(sub(at, one, "dependencies/" + escape_pointer(name))));
    }
    parts.push_back(f_.any_of({value_at(name, f_.no()), f_.all_of(std::move(needed))}));
  }
  return f_.all_of(std::move(parts));
}

}  // namespace brass::grammar::schema
