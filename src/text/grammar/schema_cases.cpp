// The cases in which an array or an object fulfils a formula.
#include <algorithm>

#include "text/grammar/schema_solver.h"

namespace brass::grammar::schema {
namespace {

constexpr size_t kMaxPairs = 20'000;  // of alternatives of a `oneOf` that are compared

bool about(Kind kind, Composite type) {
  switch (kind) {
    case Kind::kItem:
    case Kind::kItems:
    case Kind::kLength:
    case Kind::kContains:
    case Kind::kUnique:
    case Kind::kRepeats:
      return type == Composite::kArray;
    case Kind::kKey:
    case Kind::kKeys:
    case Kind::kSomeKey:
    case Kind::kNames:
    case Kind::kRequired:
    case Kind::kCount:
      return type == Composite::kObject;
    default:
      return false;
  }
}

int32_t bit(Composite type) { return type == Composite::kArray ? types::kArray : types::kObject; }

Case merged(const Case& a, const Case& b) {
  Case out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

void tidy(Cases& cases) {
  std::sort(cases.begin(), cases.end());
  cases.erase(std::unique(cases.begin(), cases.end()), cases.end());
  if (!cases.empty() && cases[0].empty()) cases.resize(1);  // without a condition: the others add nothing
}

}  // namespace

Result<Cases> Solver::cases(FormulaId id, Composite type) {
  TRY_VOID(spend());
  return once(cases_[static_cast<size_t>(type)], id, [&] { return cases_of(id, type); });
}

Result<Cases> Solver::cases_of(FormulaId id, Composite type) {
  const Formula f = f_[id];
  const Cases always{{}}, never;
  switch (f.kind) {
    case Kind::kFalse:
      return never;
    case Kind::kTypes:
      return (f.a & bit(type)) != 0 ? always : never;
    case Kind::kAnd:
      return all_cases(f, type);
    case Kind::kOr:
      return any_cases(f, type);
    case Kind::kOneOf:
      return one_cases(f, type);
    case Kind::kRef:
      return cases(TRY(follow(id)), type);
    case Kind::kNot: {
      const Formula inner = f_[f.parts[0]];
      if (inner.kind == Kind::kRef) return cases(TRY(follow(id)), type);
      if (inner.kind == Kind::kOneOf) return not_one_cases(inner, type);
      if (inner.kind != Kind::kNames || type != Composite::kObject) return never;
      const FormulaId keys = TRY(names(f.parts[0]));
      return cases(f_.negate(keys), type);
    }
    case Kind::kNames:
      if (type != Composite::kObject) return always;
      return cases(TRY(names(id)), type);
    default:
      return about(f.kind, type) ? Cases{{id}} : always;
  }
}

// The keys that are not such names have no value that fits.
Result<FormulaId> Solver::names(FormulaId id) {
  const StringId set = TRY(strings(f_[id].parts[0]));
  if (set == sets_.strings.all()) return f_.yes();
  KeySet others;
  if (const auto* list = sets_.strings.finite(set))
    others.except = *list;
  else
    others.outside = {sets_.strings.regex(set)};
  return f_.make({Kind::kKeys, f_.key_set(others), 0, 0, {f_.no()}});
}

Result<Cases> Solver::all_cases(const Formula& f, Composite type) {
  Case always;                 // of parts with one case
  std::vector<Cases> several;  // the others
  for (const FormulaId part : f.parts) {
    Cases one = TRY(cases(part, type));
    if (one.empty()) return one;
    if (one.size() == 1)
      always.insert(always.end(), one[0].begin(), one[0].end());
    else
      several.push_back(std::move(one));
  }
  std::sort(always.begin(), always.end());
  always.erase(std::unique(always.begin(), always.end()), always.end());
  Cases out{std::move(always)};
  for (const Cases& one : several) out = TRY(multiply(out, one, type));
  return out;
}

Result<Cases> Solver::multiply(const Cases& left, const Cases& right, Composite type) {
  const size_t limit = static_cast<size_t>(options_.max_cases);
  if (left.size() * right.size() > limit) return too_many(limit);
  TRY_VOID(spend(left.size() * right.size() * 4));
  Cases out;
  for (const Case& a : left) {
    for (const Case& b : right) {
      Case both = merged(a, b);
      if (!is_dead(both, type)) out.push_back(std::move(both));
    }
  }
  tidy(out);
  return out;
}

Result<Cases> Solver::any_cases(const Formula& f, Composite type) {
  Cases out;
  for (const FormulaId part : f.parts) {
    Cases one = TRY(cases(part, type));
    std::move(one.begin(), one.end(), std::back_inserter(out));
    if (out.size() > static_cast<size_t>(options_.max_cases) * 8) return too_many(out.size());
  }
  tidy(out);
  return out;
}

// Whether one key has a text of its own in every case, as the kinds of a tagged union do.
Result<bool> Solver::told_apart(const std::vector<Cases>& all) {
  std::set<int32_t> candidates;
  for (const Cases& cases : all) {
    std::set<int32_t> required;
    for (const FormulaId id : cases[0])
      if (f_[id].kind == Kind::kRequired) required.insert(f_[id].a);
    if (cases.size() != 1) return false;
    if (&cases == &all[0]) candidates = required;
    std::erase_if(candidates, [&](int32_t key) { return !required.contains(key); });
  }
  for (const int32_t key : candidates) {
    std::set<std::string> seen;
    bool apart = true;
    for (size_t i = 0; apart && i < all.size(); i++) {
      std::vector<FormulaId> values;
      for (const FormulaId id : all[i][0])
        if (f_[id].kind == Kind::kKey && f_[id].a == key) values.push_back(f_[id].parts[0]);
      const FormulaId value = f_.all_of(std::move(values));
      const auto* list = sets_.strings.finite(TRY(strings(value)));
      apart = list != nullptr && TRY(numbers(value)) == sets_.numbers.none() && TRY(constants(value)) == 0 &&
              TRY(cases(value, Composite::kArray)).empty() && TRY(cases(value, Composite::kObject)).empty();
      for (size_t j = 0; apart && j < list->size(); j++) apart = seen.insert((*list)[j]).second;
    }
    if (apart) return true;
  }
  return false;
}

Result<bool> Solver::overlap(const Cases& a, const Cases& b, Composite type) {
  TRY_VOID(spend(a.size() * b.size() * 4));
  for (const Case& one : a)
    for (const Case& other : b)
      if (!is_dead(merged(one, other), type)) return true;
  return false;
}

Result<Cases> Solver::one_cases(const Formula& f, Composite type) {
  std::vector<Cases> all;
  std::vector<FormulaId> parts;
  for (const FormulaId part : f.parts) {
    Cases one = TRY(cases(part, type));
    std::erase_if(one, [&](const Case& of) { return of.empty() ? false : is_dead(of, type); });
    if (one.empty()) continue;
    all.push_back(std::move(one));
    parts.push_back(part);
  }
  Cases out;
  if (all.empty()) return out;
  const bool apart = all.size() == 1 || TRY(told_apart(all));
  if (!apart && all.size() * all.size() > kMaxPairs)
    return wrong_use("{}: keyword 'oneOf': {} alternatives that no key tells apart", last_place_, all.size());
  for (size_t i = 0; i < all.size(); i++) {
    std::vector<FormulaId> needed{parts[i]};
    for (size_t j = 0; !apart && j < all.size(); j++)
      if (j != i && TRY(overlap(all[i], all[j], type))) needed.push_back(f_.negate(parts[j]));
    Cases one = needed.size() == 1 ? all[i] : TRY(cases(f_.all_of(std::move(needed)), type));
    std::move(one.begin(), one.end(), std::back_inserter(out));
  }
  tidy(out);
  return out;
}

// None of them, or two.
Result<Cases> Solver::not_one_cases(const Formula& f, Composite type) {
  if (f.parts.size() > 64) return too_many(64);
  std::vector<FormulaId> none, any;
  for (size_t i = 0; i < f.parts.size(); i++) {
    none.push_back(f_.negate(f.parts[i]));
    for (size_t j = 0; j < i; j++) any.push_back(f_.all_of({f.parts[i], f.parts[j]}));
    // The same schema twice is two that hold together.
    if (i > 0 && f.parts[i] == f.parts[i - 1]) any.push_back(f.parts[i]);
  }
  any.push_back(f_.all_of(std::move(none)));
  return cases(f_.any_of(std::move(any)), type);
}

bool Solver::is_dead(const Case& of, Composite type) {
  if (type == Composite::kArray) {
    const Result<std::optional<ArrayShape>> shape = array(of);
    return shape && !*shape;
  }
  const Result<std::optional<ObjectShape>> shape = object(of);
  return shape && !*shape;
}

}  // namespace brass::grammar::schema
