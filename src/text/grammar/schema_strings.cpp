#include "text/grammar/schema_strings.h"

#include <algorithm>
#include <array>

#include "text/tokenizer_utf8.h"

namespace brass::grammar::schema {
StringSets::StringSets(RegexArena& arena) : arena_(arena) {
  none_ = values({});
  all_ = language(arena.all());
}

StringId StringSets::values(std::vector<std::string> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const auto [place, fresh] = by_values_.emplace(std::move(values), static_cast<StringId>(sets_.size()));
  if (fresh) sets_.push_back({true, place->first, -1});
  return place->second;
}

StringId StringSets::language(RegexId regex) {
  if (!arena_.is_live(regex)) return none_;
  const auto [place, fresh] = by_regex_.emplace(regex, static_cast<StringId>(sets_.size()));
  if (fresh) sets_.push_back({false, {}, regex});
  return place->second;
}

const std::vector<std::string>* StringSets::finite(StringId id) const {
  const Set& set = sets_[static_cast<size_t>(id)];
  return set.finite ? &set.values : nullptr;
}

RegexId StringSets::any_literal(const std::vector<std::string>& values) {
  return arena_.any_literal(std::vector<std::string_view>(values.begin(), values.end()));
}

RegexId StringSets::regex(StringId id) {
  Set& set = sets_[static_cast<size_t>(id)];
  if (set.regex < 0) set.regex = any_literal(set.values);
  return set.regex;
}

bool StringSets::matches(RegexId regex, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const tokens::Utf8Step step = tokens::utf8_step(text, at);
    regex = arena_.derivative(regex, step.code);
    at += step.length;
  }
  return arena_.matches_empty(regex);
}

bool StringSets::contains(StringId id, std::string_view text) {
  const Set& set = sets_[static_cast<size_t>(id)];
  if (set.finite) return std::binary_search(set.values.begin(), set.values.end(), text);
  return matches(set.regex, text);
}

StringId StringSets::both(StringId a, StringId b) {
  if (a == b || b == all_) return a;
  if (a == all_) return b;
  if (finite(a) == nullptr) std::swap(a, b);
  if (finite(a) == nullptr) return language(arena_.all_of(std::array{regex(a), regex(b)}));
  std::vector<std::string> kept;
  for (const std::string& value : *finite(a))
    if (contains(b, value)) kept.push_back(value);
  return values(std::move(kept));
}

StringId StringSets::either(std::span<const StringId> parts) {
  std::vector<std::string> listed;
  std::vector<RegexId> others;
  for (const StringId part : parts) {
    if (part == all_) return all_;
    if (const auto* of_part = finite(part))
      listed.insert(listed.end(), of_part->begin(), of_part->end());
    else
      others.push_back(regex(part));
  }
  if (others.empty()) return values(std::move(listed));
  if (!listed.empty()) others.push_back(any_literal(listed));
  return language(arena_.any_of(others));
}

StringId StringSets::outside(StringId a) {
  if (a == none_) return all_;
  if (a == all_) return none_;
  return language(arena_.negate(regex(a)));
}

}  // namespace brass::grammar::schema
