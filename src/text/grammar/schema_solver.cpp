// Constants, numbers, strings: each formula is one set.
#include "text/grammar/schema_solver.h"

#include <algorithm>

namespace brass::grammar::schema {
namespace {

constexpr int32_t kConstants = types::kNull | types::kFalse | types::kTrue;
constexpr size_t kMaxListed = 12;
constexpr size_t kBoundCost = 200;  // what joining a set of numbers with others costs, in steps

// The values that exactly one of the lists has.
template <class Value>
std::vector<Value> in_one_list(const std::vector<const std::vector<Value>*>& lists) {
  std::vector<Value> all, out;
  for (const auto* list : lists) all.insert(all.end(), list->begin(), list->end());
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); i++) {
    const bool before = i > 0 && all[i - 1] == all[i], after = i + 1 < all.size() && all[i + 1] == all[i];
    if (!before && !after) out.push_back(all[i]);
  }
  return out;
}

}  // namespace

Result<> Solver::spend(size_t steps) {
  work_ += static_cast<int64_t>(steps);
  if (work_ > options_.max_work)
    return wrong_use("{}: the schema needs more than {} steps to translate", last_place_, options_.max_work);
  return {};
}

std::unexpected<Error> Solver::too_many(size_t limit) const {
  return wrong_use(
      "{}: keywords 'allOf', 'anyOf', 'oneOf', 'not', 'if' and 'dependent…' make more than {} cases",
      last_place_, limit);
}

Result<FormulaId> Solver::follow(FormulaId id) {
  const Formula& f = f_[id];
  const bool negated = f.kind == Kind::kNot;
  const int32_t place = negated ? f_[f.parts[0]].a : f.a;
  last_place_ = reader_.pointer(place);
  const FormulaId said = TRY(reader_.formula(place));
  return negated ? f_.negate(said) : said;
}

Result<int32_t> Solver::constants(FormulaId id) {
  TRY_VOID(spend());
  return once(constants_, id, [&] { return constants_of(id); });
}

Result<int32_t> Solver::constants_of(FormulaId id) {
  const Formula f = f_[id];
  switch (f.kind) {
    case Kind::kFalse:
      return 0;
    case Kind::kTypes:
      return f.a & kConstants;
    case Kind::kRef:
      return constants(TRY(follow(id)));
    case Kind::kNot:
      if (f_[f.parts[0]].kind == Kind::kRef) return constants(TRY(follow(id)));
      return kConstants & ~TRY(constants(f.parts[0]));
    case Kind::kAnd:
    case Kind::kOr: {
      int32_t mask = f.kind == Kind::kAnd ? kConstants : 0;
      for (const FormulaId part : f.parts) {
        const int32_t one = TRY(constants(part));
        mask = f.kind == Kind::kAnd ? mask & one : mask | one;
      }
      return mask;
    }
    case Kind::kOneOf: {
      int32_t once_only = 0, any = 0;
      for (const FormulaId part : f.parts) {
        const int32_t one = TRY(constants(part));
        once_only = (once_only & ~one) | (one & ~any);
        any |= one;
      }
      return once_only;
    }
    default:
      return kConstants;
  }
}

Result<NumberId> Solver::numbers(FormulaId id) {
  TRY_VOID(spend());
  Result<NumberId> set = once(numbers_, id, [&] { return numbers_of(id); });
  return set;
}

Result<NumberId> Solver::numbers_of(FormulaId id) {
  const Formula f = f_[id];
  NumberSets& sets = sets_.numbers;
  switch (f.kind) {
    case Kind::kFalse:
      return sets.none();
    case Kind::kTypes:
      return (f.a & types::kNumber) != 0 ? sets.all() : sets.none();
    case Kind::kNumber:
      if (sets.finite(f.a) == nullptr) TRY_VOID(spend(kBoundCost));
      return f.a;
    case Kind::kRef:
      return numbers(TRY(follow(id)));
    case Kind::kNot:
      if (f_[f.parts[0]].kind == Kind::kRef) return numbers(TRY(follow(id)));
      return sets.outside(TRY(numbers(f.parts[0])));
    case Kind::kAnd: {
      NumberId set = sets.all();
      for (const FormulaId part : f.parts) set = TRY(sets.both(set, TRY(numbers(part))));
      return set;
    }
    case Kind::kOr: {
      std::vector<NumberId> parts;
      for (const FormulaId part : f.parts) parts.push_back(TRY(numbers(part)));
      return sets.either(parts);
    }
    case Kind::kOneOf:
      return one_number(f);
    default:
      return sets.all();
  }
}

Result<NumberId> Solver::one_number(const Formula& f) {
  NumberSets& sets = sets_.numbers;
  std::vector<const std::vector<Decimal>*> lists;
  std::vector<NumberId> parts;
  for (const FormulaId part : f.parts) parts.push_back(TRY(numbers(part)));
  for (const NumberId part : parts)
    if (const auto* list = sets.finite(part)) lists.push_back(list);
  if (lists.size() == parts.size()) return sets.values(in_one_list(lists));
  NumberId one = sets.none(), any = sets.none();
  for (const NumberId part : parts) {
    TRY_VOID(spend(100));
    const NumberId fresh = TRY(sets.both(part, TRY(sets.outside(any))));
    const NumberId kept = TRY(sets.both(one, TRY(sets.outside(part))));
    one = TRY(sets.either(std::array{fresh, kept}));
    any = TRY(sets.either(std::array{any, part}));
  }
  return one;
}

Result<StringId> Solver::strings(FormulaId id) {
  TRY_VOID(spend());
  Result<StringId> set = once(strings_, id, [&] { return strings_of(id); });
  return set;
}

Result<StringId> Solver::strings_of(FormulaId id) {
  const Formula f = f_[id];
  StringSets& sets = sets_.strings;
  switch (f.kind) {
    case Kind::kFalse:
      return sets.none();
    case Kind::kTypes:
      return (f.a & types::kString) != 0 ? sets.all() : sets.none();
    case Kind::kString:
      return f.a;
    case Kind::kRef:
      return strings(TRY(follow(id)));
    case Kind::kNot:
      if (f_[f.parts[0]].kind == Kind::kRef) return strings(TRY(follow(id)));
      return sets.outside(TRY(strings(f.parts[0])));
    case Kind::kAnd: {
      // Lists first: what is not in them need not be looked at.
      std::vector<StringId> parts;
      for (const FormulaId part : f.parts) parts.push_back(TRY(strings(part)));
      std::stable_partition(parts.begin(), parts.end(),
                            [&](StringId part) { return sets.finite(part) != nullptr; });
      StringId set = sets.all();
      for (const StringId part : parts) set = sets.both(set, part);
      return set;
    }
    case Kind::kOr: {
      std::vector<StringId> parts;
      for (const FormulaId part : f.parts) parts.push_back(TRY(strings(part)));
      return sets.either(parts);
    }
    case Kind::kOneOf:
      return one_string(f);
    default:
      return sets.all();
  }
}

Result<StringId> Solver::one_string(const Formula& f) {
  StringSets& sets = sets_.strings;
  std::vector<const std::vector<std::string>*> lists;
  std::vector<StringId> parts;
  for (const FormulaId part : f.parts) parts.push_back(TRY(strings(part)));
  for (const StringId part : parts)
    if (const auto* list = sets.finite(part)) lists.push_back(list);
  if (lists.size() == parts.size()) return sets.values(in_one_list(lists));
  StringId one = sets.none(), any = sets.none();
  for (const StringId part : parts) {
    TRY_VOID(spend(100));
    const StringId fresh = sets.both(part, sets.outside(any));
    const StringId kept = sets.both(one, sets.outside(part));
    one = sets.either(std::array{fresh, kept});
    any = sets.either(std::array{any, part});
  }
  return one;
}

bool Solver::is_nothing(FormulaId id) {
  constexpr int kMaxDepth = 24;
  if (id == f_.no() || id == f_.yes()) return id == f_.no();
  // While it is being looked at, and where that goes too deep, it counts as something: which is never wrong.
  const auto [place, fresh] = nothing_.emplace(id, false);
  if (!fresh || depth_ >= kMaxDepth) return place->second;
  depth_++;
  const auto nothing = [&] {
    const Result<int32_t> mask = constants(id);
    if (!mask || *mask != 0) return false;
    const Result<NumberId> number = numbers(id);
    if (!number || *number != sets_.numbers.none()) return false;
    const Result<StringId> string = strings(id);
    if (!string || !sets_.strings.is_none(*string)) return false;
    for (const Composite type : {Composite::kArray, Composite::kObject}) {
      const Result<Cases> all = cases(id, type);
      if (!all || !std::all_of(all->begin(), all->end(), [&](const Case& one) { return is_dead(one, type); }))
        return false;
    }
    return true;
  };
  const bool result = nothing();
  depth_--;
  return nothing_[id] = result;
}

Result<bool> Solver::only_scalars(FormulaId id) {
  for (const Composite type : {Composite::kArray, Composite::kObject})
    for (const Case& one : TRY(cases(id, type)))
      if (!is_dead(one, type)) return false;
  return true;
}

Result<std::optional<std::vector<FormulaId>>> Solver::listed(FormulaId id) {
  std::vector<FormulaId> out;
  const int32_t mask = TRY(constants(id));
  for (const int32_t type : {types::kNull, types::kFalse, types::kTrue})
    if ((mask & type) != 0) out.push_back(f_.types(type));
  const auto* numbers_in = sets_.numbers.finite(TRY(numbers(id)));
  const auto* strings_in = sets_.strings.finite(TRY(strings(id)));
  if (numbers_in == nullptr || strings_in == nullptr) return std::nullopt;
  if (out.size() + numbers_in->size() + strings_in->size() > kMaxListed) return std::nullopt;
  if (!TRY(only_scalars(id))) return std::nullopt;
  const std::vector<Decimal> values = *numbers_in;
  const std::vector<std::string> texts = *strings_in;
  for (const Decimal& value : values)
    out.push_back(f_.all_of(
        {f_.types(types::kNumber), f_.make({Kind::kNumber, sets_.numbers.values({value}), 0, 0, {}})}));
  for (const std::string& text : texts)
    out.push_back(f_.all_of(
        {f_.types(types::kString), f_.make({Kind::kString, sets_.strings.values({text}), 0, 0, {}})}));
  return out;
}

}  // namespace brass::grammar::schema
