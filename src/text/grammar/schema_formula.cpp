#include "text/grammar/schema_formula.h"

#include <algorithm>

#include "base/check.h"

namespace brass::grammar::schema {

size_t Formulas::Hash::operator()(const Formula& f) const {
  uint64_t h = static_cast<uint64_t>(f.kind);
  const auto add = [&](int32_t v) {
    h = (h ^ static_cast<uint32_t>(v)) * 0x9E3779B97F4A7C15ull;
    h ^= h >> 31;
  };
  add(f.a), add(f.b), add(f.c);
  for (const FormulaId part : f.parts) add(part);
  return h;
}

Formulas::Formulas() {
  yes_ = make({Kind::kTrue, 0, 0, 0, {}});
  no_ = make({Kind::kFalse, 0, 0, 0, {}});
}

FormulaId Formulas::make(Formula formula) {
  // An assertion that holds for every item or member is none. A key that is named stays: it then stands at most once.
  const bool over_parts = formula.kind == Kind::kItem || formula.kind == Kind::kItems ||
                          formula.kind == Kind::kKeys || formula.kind == Kind::kNames;
  if (over_parts && formula.parts[0] == yes_) return yes_;
  const auto [place, fresh] = ids_.emplace(std::move(formula), static_cast<FormulaId>(all_.size()));
  if (fresh) all_.push_back(place->first);
  return place->second;
}

FormulaId Formulas::types(int32_t mask) {
  if (mask == types::kAll) return yes_;
  if (mask == 0) return no_;
  return make({Kind::kTypes, mask, 0, 0, {}});
}

// And, or: flat, sorted, without repetitions, one mask of types.
FormulaId Formulas::joined(Kind kind, std::vector<FormulaId> parts) {
  const bool conjunction = kind == Kind::kAnd;
  const FormulaId neutral = conjunction ? yes_ : no_, final = conjunction ? no_ : yes_;
  std::vector<FormulaId> flat;
  int32_t mask = conjunction ? types::kAll : 0;
  const auto take = [&](FormulaId part) {
    const Formula& f = (*this)[part];
    if (f.kind == Kind::kTypes)
      mask = conjunction ? mask & f.a : mask | f.a;
    else if (part != neutral)
      flat.push_back(part);
  };
  for (const FormulaId part : parts) {
    if ((*this)[part].kind == kind)
      for (const FormulaId inner : (*this)[part].parts) take(inner);
    else
      take(part);
  }
  if (const FormulaId mask_part = types(mask); mask_part != neutral) flat.push_back(mask_part);
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (std::find(flat.begin(), flat.end(), final) != flat.end()) return final;
  if (flat.empty()) return neutral;
  return flat.size() == 1 ? flat[0] : make({kind, 0, 0, 0, std::move(flat)});
}

FormulaId Formulas::all_of(std::vector<FormulaId> parts) { return joined(Kind::kAnd, std::move(parts)); }
FormulaId Formulas::any_of(std::vector<FormulaId> parts) { return joined(Kind::kOr, std::move(parts)); }

FormulaId Formulas::one_of(std::vector<FormulaId> parts) {
  std::erase(parts, no_);
  if (parts.empty()) return no_;
  if (parts.size() == 1) return parts[0];
  std::sort(parts.begin(), parts.end());
  return make({Kind::kOneOf, 0, 0, 0, std::move(parts)});
}

FormulaId Formulas::negate(FormulaId id) {
  if (const auto found = negations_.find(id); found != negations_.end()) return found->second;
  const Formula f = (*this)[id];
  const FormulaId result = negated(f);
  negations_[id] = result;
  return result;
}

FormulaId Formulas::negated(const Formula& f) {
  const auto of_type = [&](int32_t type, std::vector<FormulaId> parts) {
    parts.push_back(types(type));
    return all_of(std::move(parts));
  };
  switch (f.kind) {
    case Kind::kTrue:
      return no_;
    case Kind::kFalse:
      return yes_;
    case Kind::kAnd:
    case Kind::kOr: {
      std::vector<FormulaId> parts;
      for (const FormulaId part : f.parts) parts.push_back(negate(part));
      return f.kind == Kind::kAnd ? any_of(std::move(parts)) : all_of(std::move(parts));
    }
    case Kind::kNot:
      return f.parts[0];
    case Kind::kOneOf:
    case Kind::kRef:
    case Kind::kNumber:
    case Kind::kString:
    case Kind::kNames:
      return make({Kind::kNot, 0, 0, 0, {make(f)}});
    case Kind::kTypes:
      return types(types::kAll & ~f.a);
    case Kind::kItem:
      return of_type(types::kArray, {make({Kind::kLength, f.a + 1, -1, 0, {}}),
                                     make({Kind::kItem, f.a, 0, 0, {negate(f.parts[0])}})});
    case Kind::kItems:
      return of_type(types::kArray, {make({Kind::kContains, 1, -1, f.a, {negate(f.parts[0])}})});
    case Kind::kLength:
      return outside_counts(Kind::kLength, f, types::kArray);
    case Kind::kContains:
      return outside_counts(Kind::kContains, f, types::kArray);
    case Kind::kUnique:
      return of_type(types::kArray, {make({Kind::kRepeats, f.a, 0, 0, {}})});
    case Kind::kRepeats:
      return of_type(types::kArray, {make({Kind::kUnique, f.a, 0, 0, {}})});
    case Kind::kKey:
      return of_type(types::kObject, {make({Kind::kRequired, f.a, 0, 0, {}}),
                                      make({Kind::kKey, f.a, 0, 0, {negate(f.parts[0])}})});
    case Kind::kKeys:
      return of_type(types::kObject, {make({Kind::kSomeKey, f.a, 0, 0, {negate(f.parts[0])}})});
    case Kind::kSomeKey:
      return of_type(types::kObject, {make({Kind::kKeys, f.a, 0, 0, {negate(f.parts[0])}})});
    case Kind::kRequired:
      return of_type(types::kObject, {make({Kind::kKey, f.a, 0, 0, {no_}})});
    case Kind::kCount:
      return outside_counts(Kind::kCount, f, types::kObject);
  }
  ENSURE(false);
  return no_;
}

// Fewer than the least, or more than the most.
FormulaId Formulas::outside_counts(Kind kind, const Formula& f, int32_t type) {
  std::vector<FormulaId> parts;
  if (f.a > 0) parts.push_back(make({kind, 0, f.a - 1, f.c, f.parts}));
  if (f.b >= 0) parts.push_back(make({kind, f.b + 1, -1, f.c, f.parts}));
  return all_of({types(type), any_of(std::move(parts))});
}

int32_t Formulas::key(const std::string& name) {
  const auto [place, fresh] = keys_.emplace(name, static_cast<int32_t>(key_names_.size()));
  if (fresh) key_names_.push_back(name);
  return place->second;
}

int32_t Formulas::key_set(const KeySet& set) {
  KeySet sorted = set;
  std::sort(sorted.except.begin(), sorted.except.end());
  std::sort(sorted.within.begin(), sorted.within.end());
  std::sort(sorted.outside.begin(), sorted.outside.end());
  const auto [place, fresh] = key_set_ids_.emplace(std::move(sorted), static_cast<int32_t>(key_sets_.size()));
  if (fresh) key_sets_.push_back(place->first);
  return place->second;
}

}  // namespace brass::grammar::schema
