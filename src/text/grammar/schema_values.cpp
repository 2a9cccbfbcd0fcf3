// Keywords about types, listed values, numbers and strings.
#include <array>
#include <cstdlib>

#include "text/grammar/schema_formats.h"
#include "text/grammar/schema_reader.h"

namespace brass::grammar::schema {
namespace {

constexpr int kMaxDigits = 400;         // of one number, zeros between the point and its digits counted
constexpr size_t kMaxListed = 1 << 21;  // of all numbers of one list

const CodePoints kAnyPoint = {{0, 0xD7FF}, {0xE000, 0x10FFFF}};

}  // namespace

Result<FormulaId> Reader::type(const At& at, const Json& value) {
  const Json list = value.is_string() ? Json::array({value}) : value;
  int32_t mask = 0;
  bool integers = false;
  for (const std::string& name : TRY(names(at, "type", list))) {
    if (name == "null")
      mask |= types::kNull;
    else if (name == "boolean")
      mask |= types::kFalse | types::kTrue;
    else if (name == "number")
      mask |= types::kNumber;
    else if (name == "integer")
      integers = true;
    else if (name == "string")
      mask |= types::kString;
    else if (name == "array")
      mask |= types::kArray;
    else if (name == "object")
      mask |= types::kObject;
    else
      return refuse(at, "type", fmt::format("'{}' is no type", name));
  }
  if (!integers || (mask & types::kNumber) != 0) return f_.types(mask);
  return f_.all_of({f_.types(mask | types::kNumber), number_in(sets_.numbers.integers())});
}

Result<Decimal> Reader::number(const At& at, const char* keyword, const Json& value) const {
  if (!is_number(value)) return refuse(at, keyword, "it is not a number");
  Result<Decimal> number = to_decimal(value);
  if (!number) return refuse(at, keyword, number.error().message);
  if (static_cast<int>(number->digits.size()) + std::abs(number->exponent) > kMaxDigits)
    return refuse(at, keyword, fmt::format("a number has more than {} digits", kMaxDigits));
  return number;
}

Result<FormulaId> Reader::value_of(const At& at, const char* keyword, const Json& value) {
  if (value.is_null()) return f_.types(types::kNull);
  if (value.is_boolean()) return f_.types(value.get<bool>() ? types::kTrue : types::kFalse);
  if (value.is_string())
    return f_.all_of({f_.types(types::kString), string_in(sets_.strings.values({value.get<std::string>()}))});
  if (is_number(value))
    return f_.all_of(
        {f_.types(types::kNumber), number_in(sets_.numbers.values({TRY(number(at, keyword, value))}))});
  std::vector<FormulaId> parts;
  if (value.is_array()) {
    const auto size = static_cast<int32_t>(value.size());
    parts = {f_.types(types::kArray), f_.make({Kind::kLength, size, size, 0, {}})};
    for (int32_t i = 0; i < size; i++)
      parts.push_back(
          f_.make({Kind::kItem, i, 0, 0, {TRY(value_of(at, keyword, value[static_cast<size_t>(i)]))}}));
    return f_.all_of(std::move(parts));
  }
  parts = {f_.types(types::kObject)};
  KeySet others;
  for (const auto& [name, member] : value.items()) {
    others.except.push_back(name);
    parts.push_back(required_key(name));
    parts.push_back(value_at(name, TRY(value_of(at, keyword, member))));
  }
  parts.push_back(f_.make({Kind::kKeys, f_.key_set(others), 0, 0, {f_.no()}}));
  return f_.all_of(std::move(parts));
}

Result<FormulaId> Reader::constant(const At& at, const Json& value) { return value_of(at, "const", value); }

// Strings and numbers each become one set: a list of many thousands is read as quickly as one.
Result<FormulaId> Reader::enumeration(const At& at, const Json& value) {
  if (!value.is_array()) return refuse(at, "enum", "it is not a list of values");
  std::vector<std::string> strings;
  std::vector<Decimal> numbers;
  std::vector<FormulaId> parts;
  size_t digits = 0;
  for (const Json& one : value) {
    if (one.is_string()) {
      strings.push_back(one.get<std::string>());
    } else if (is_number(one)) {
      numbers.push_back(TRY(number(at, "enum", one)));
      digits += numbers.back().digits.size();
      if (digits > kMaxListed)
        return refuse(at, "enum", fmt::format("its numbers have more than {} digits", kMaxListed));
    } else {
      parts.push_back(TRY(value_of(at, "enum", one)));
    }
  }
  if (!strings.empty())
    parts.push_back(
        f_.all_of({f_.types(types::kString), string_in(sets_.strings.values(std::move(strings)))}));
  if (!numbers.empty())
    parts.push_back(
        f_.all_of({f_.types(types::kNumber), number_in(sets_.numbers.values(std::move(numbers)))}));
  return f_.any_of(std::move(parts));
}

Result<FormulaId> Reader::bound(const At& at, const char* keyword, const Json& value, bool upper,
                                bool equal) {
  const Result<NumberId> set = sets_.numbers.compared(TRY(number(at, keyword, value)), upper, equal, !upper);
  if (!set) return refuse(at, keyword, set.error().message);
  return number_in(*set);
}

// Draft 4 wrote the exclusive bounds as flags beside the others.
Result<FormulaId> Reader::minimum(const At& at, const Json& value) {
  const Json* exclusive = at.get("exclusiveMinimum");
  return bound(at, "minimum", value, false, exclusive == nullptr || *exclusive != true);
}

Result<FormulaId> Reader::maximum(const At& at, const Json& value) {
  const Json* exclusive = at.get("exclusiveMaximum");
  return bound(at, "maximum", value, true, exclusive == nullptr || *exclusive != true);
}

Result<FormulaId> Reader::exclusive_minimum(const At& at, const Json& value) {
  if (value.is_boolean() && (value == false || at.get("minimum") != nullptr)) return f_.yes();
  return bound(at, "exclusiveMinimum", value, false, false);
}

Result<FormulaId> Reader::exclusive_maximum(const At& at, const Json& value) {
  if (value.is_boolean() && (value == false || at.get("maximum") != nullptr)) return f_.yes();
  return bound(at, "exclusiveMaximum", value, true, false);
}

Result<FormulaId> Reader::multiple_of(const At& at, const Json& value) {
  const Result<NumberId> set = sets_.numbers.multiples(TRY(number(at, "multipleOf", value)));
  if (!set) return refuse(at, "multipleOf", set.error().message);
  return number_in(*set);
}

Result<FormulaId> Reader::min_length(const At& at, const Json& value) {
  const int least = TRY(count(at, "minLength", value));
  return string_in(sets_.strings.language(sets_.regexes.repeat(sets_.regexes.set(kAnyPoint), least, -1)));
}

Result<FormulaId> Reader::max_length(const At& at, const Json& value) {
  const int most = TRY(count(at, "maxLength", value));
  return string_in(sets_.strings.language(sets_.regexes.repeat(sets_.regexes.set(kAnyPoint), 0, most)));
}

Result<FormulaId> Reader::string_pattern(const At& at, const Json& value) {
  if (!value.is_string()) return refuse(at, "pattern", "it is not a string");
  return string_in(sets_.strings.language(TRY(pattern(at, "pattern", value.get<std::string>()))));
}

Result<FormulaId> Reader::format(const At& at, const Json& value) {
  if (!value.is_string()) return refuse(at, "format", "it is not a string");
  if (!options_.enforce_formats) return f_.yes();
  const std::string name = value.get<std::string>();
  auto known = formats_.find(name);
  if (known == formats_.end()) {
    const Result<std::optional<RegexId>> language = format_language(sets_.regexes, name);
    if (!language) return refuse(at, "format", language.error().message);
    known =
        formats_.emplace(name, *language ? string_in(sets_.strings.language(**language)) : f_.yes()).first;
  }
  return known->second;
}

}  // namespace brass::grammar::schema
