// A case's assertions put together: item by item, key by key.
#include <algorithm>

#include "text/grammar/schema_solver.h"

namespace brass::grammar::schema {
namespace {

constexpr size_t kMaxCells = 256;

void at_most(int& max, int bound) {
  if (bound >= 0) max = max < 0 ? bound : std::min(max, bound);
}

// Keys that are alike for every key set of a case: which regular expressions they match.
struct Cell {
  StringId keys;
  std::set<RegexId> matched;
};

bool applies(const KeySet& set, const Cell& cell) {
  const auto matched = [&](RegexId regex) { return cell.matched.contains(regex); };
  return std::all_of(set.within.begin(), set.within.end(), matched) &&
         std::none_of(set.outside.begin(), set.outside.end(), matched);
}

}  // namespace

Result<std::optional<ArrayShape>> Solver::array(const Case& of) {
  TRY_VOID(spend(20 + of.size()));
  ArrayShape shape;
  if (!TRY(add_items(of, shape)) || !close_array(shape)) return std::nullopt;
  return shape;
}

// False where the counts alone leave nothing.
Result<bool> Solver::add_items(const Case& of, ArrayShape& shape) {
  std::vector<std::pair<int, FormulaId>> from;  // all items from here on
  size_t prefix = 0;
  for (const FormulaId id : of) {
    const Formula f = f_[id];
    if (f.kind == Kind::kLength) shape.min = std::max(shape.min, f.a), at_most(shape.max, f.b);
    if (f.kind == Kind::kUnique) shape.unique = true, shape.place = f.a;
    if (f.kind == Kind::kRepeats) shape.repeats = true, shape.place = f.a;
    if (f.kind == Kind::kItem) prefix = std::max(prefix, static_cast<size_t>(f.a) + 1);
    if (f.kind == Kind::kItems) from.emplace_back(f.a, f.parts[0]);
    if (f.kind != Kind::kContains) continue;
    const FormulaId item = f.parts[0];
    if (f.b >= 0 && f.a > f.b) return false;
    if (f.a > 0 && item == f_.no()) return false;
    if (f.a > 0) shape.min = std::max(shape.min, f.c + f.a);
    if (item == f_.yes())
      at_most(shape.max, f.b >= 0 ? f.c + f.b : -1);
    else if (f.b == 0)
      from.emplace_back(f.c, f_.negate(item));
    else if (f.a > 0 || f.b > 0)
      shape.contains.push_back({item, f.a, f.b, f.c});
  }
  for (const auto& [start, item] : from) prefix = std::max(prefix, static_cast<size_t>(start));
  if (shape.max >= 0) prefix = std::min(prefix, static_cast<size_t>(shape.max));
  std::vector<std::vector<FormulaId>> parts(prefix + 1);
  for (const FormulaId id : of)
    if (f_[id].kind == Kind::kItem && static_cast<size_t>(f_[id].a) < prefix)
      parts[static_cast<size_t>(f_[id].a)].push_back(f_[id].parts[0]);
  TRY_VOID(spend(from.size() * prefix));
  for (const auto& [start, item] : from)
    for (size_t i = static_cast<size_t>(start); i <= prefix; i++) parts[i].push_back(item);
  for (size_t i = 0; i < prefix; i++) shape.prefix.push_back(f_.all_of(std::move(parts[i])));
  shape.rest = f_.all_of(std::move(parts[prefix]));
  return true;
}

// An item that cannot be ends the array before it.
bool Solver::close_array(ArrayShape& shape) {
  for (size_t i = 0; i < shape.prefix.size(); i++) {
    if (!is_nothing(shape.prefix[i])) continue;
    at_most(shape.max, static_cast<int>(i));
    shape.prefix.resize(i);
    break;
  }
  const bool past = shape.max < 0 || shape.max > static_cast<int>(shape.prefix.size());
  if (past && is_nothing(shape.rest)) at_most(shape.max, static_cast<int>(shape.prefix.size()));
  if (shape.max >= 0 && shape.max <= 1) {
    if (shape.repeats) return false;
    shape.unique = false;
  }
  return shape.max < 0 || shape.min <= shape.max;
}

bool Solver::in_key_set(const KeySet& set, std::string_view key) {
  const auto matched = [&](RegexId regex) { return sets_.strings.matches(regex, key); };
  return !std::binary_search(set.except.begin(), set.except.end(), key) &&
         std::all_of(set.within.begin(), set.within.end(), matched) &&
         std::none_of(set.outside.begin(), set.outside.end(), matched);
}

Result<std::optional<ObjectShape>> Solver::object(const Case& of) {
  TRY_VOID(spend(20 + of.size()));
  ObjectShape shape;
  for (const FormulaId id : of) {
    const Formula& f = f_[id];
    if (f.kind == Kind::kCount) shape.min = std::max(shape.min, f.a), at_most(shape.max, f.b);
    if (f.kind == Kind::kSomeKey) shape.some.push_back({f.a, f.parts[0]});
  }
  if (!TRY(add_named(of, shape))) return std::nullopt;
  std::vector<std::string> named = shape.forbidden;
  for (const ObjectShape::Named& one : shape.named) named.push_back(f_.key_name(one.key));
  TRY_VOID(add_others(of, named, shape));
  if (!close_object(shape)) return std::nullopt;
  return shape;
}

Result<bool> Solver::add_named(const Case& of, ObjectShape& shape) {
  std::map<int32_t, std::vector<FormulaId>> values;
  std::set<int32_t> required;
  std::vector<std::pair<int32_t, FormulaId>> sets;
  for (const FormulaId id : of) {
    const Formula f = f_[id];
    if (f.kind == Kind::kKey) values[f.a].push_back(f.parts[0]);
    if (f.kind == Kind::kRequired) values[f.a], required.insert(f.a);
    if (f.kind == Kind::kKeys) sets.emplace_back(f.a, f.parts[0]);
    if (f.kind == Kind::kKeys || f.kind == Kind::kSomeKey)
      for (const std::string& name : f_.key_set(f.a).except) values[f_.key(name)];
  }
  TRY_VOID(spend(values.size() * (1 + sets.size()) / 4));
  for (auto& [key, parts] : values) {
    const std::string& name = f_.key_name(key);
    for (const auto& [set, value] : sets)
      if (in_key_set(f_.key_set(set), name)) parts.push_back(value);
    const FormulaId value = f_.all_of(std::move(parts));
    const bool needed = required.contains(key);
    if (!is_nothing(value))
      shape.named.push_back({key, value, needed});
    else if (needed)
      return false;
    else
      shape.forbidden.push_back(name);
  }
  return true;
}

// The keys that are not named, by what their values have to be.
Result<> Solver::add_others(const Case& of, const std::vector<std::string>& named, ObjectShape& shape) {
  std::set<RegexId> regexes;
  for (const FormulaId id : of) {
    const Formula& f = f_[id];
    if (f.kind != Kind::kKeys && f.kind != Kind::kSomeKey) continue;
    regexes.insert(f_.key_set(f.a).within.begin(), f_.key_set(f.a).within.end());
    regexes.insert(f_.key_set(f.a).outside.begin(), f_.key_set(f.a).outside.end());
  }
  StringSets& sets = sets_.strings;
  const StringId unnamed = sets.outside(sets.values(named));
  std::vector<Cell> cells{{unnamed, {}}};
  for (const RegexId regex : regexes) {
    std::vector<Cell> split;
    const StringId inside = sets.language(regex), outside = sets.outside(inside);
    for (const Cell& cell : cells) {
      Cell in{sets.both(cell.keys, inside), cell.matched}, out{sets.both(cell.keys, outside), cell.matched};
      in.matched.insert(regex);
      if (!sets.is_none(in.keys)) split.push_back(std::move(in));
      if (!sets.is_none(out.keys)) split.push_back(std::move(out));
    }
    cells = std::move(split);
    TRY_VOID(spend(cells.size() * 16));
    if (cells.size() > kMaxCells)
      return wrong_use("{}: keyword 'patternProperties': more than {} ways to match its patterns",
                       last_place_, kMaxCells);
  }
  std::map<std::pair<FormulaId, uint32_t>, std::vector<StringId>> groups;
  for (const Cell& cell : cells) {
    std::vector<FormulaId> parts;
    for (const FormulaId id : of)
      if (f_[id].kind == Kind::kKeys && applies(f_.key_set(f_[id].a), cell)) parts.push_back(f_[id].parts[0]);
    const FormulaId value = f_.all_of(std::move(parts));
    uint32_t some = 0;
    for (size_t i = 0; i < shape.some.size() && i < 32; i++)
      if (applies(f_.key_set(shape.some[i].keys), cell) &&
          !is_nothing(f_.all_of({value, shape.some[i].value})))
        some |= 1u << i;
    if (!is_nothing(value)) groups[{value, some}].push_back(cell.keys);
  }
  const bool one = groups.size() == 1 && groups.begin()->second.size() == cells.size();
  for (const auto& [group, keys] : groups)
    shape.others.push_back({one ? unnamed : sets.either(keys), group.first, group.second});
  return {};
}

// Whether the counts and the keys that must exist leave something.
bool Solver::close_object(ObjectShape& shape) {
  const auto required =
      std::count_if(shape.named.begin(), shape.named.end(), [](const auto& one) { return one.required; });
  shape.min = std::max(shape.min, static_cast<int>(required));
  if (shape.others.empty()) at_most(shape.max, static_cast<int>(shape.named.size()));
  if (shape.max >= 0 && shape.min > shape.max) return false;
  for (size_t i = 0; i < shape.some.size(); i++) {
    const ObjectShape::Some& some = shape.some[i];
    const bool by_other = std::any_of(shape.others.begin(), shape.others.end(),
                                      [&](const auto& one) { return (one.some >> i & 1) != 0; });
    const bool by_name = std::any_of(shape.named.begin(), shape.named.end(), [&](const auto& one) {
      return in_key_set(f_.key_set(some.keys), f_.key_name(one.key)) &&
             !is_nothing(f_.all_of({one.value, some.value}));
    });
    if (!by_other && !by_name) return false;
  }
  return true;
}

}  // namespace brass::grammar::schema
