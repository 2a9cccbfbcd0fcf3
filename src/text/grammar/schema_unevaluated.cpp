// unevaluatedProperties and unevaluatedItems: by the ways in which the schemas beside them can hold.
//
// Where several alternatives hold, each adds to what has been looked at, and the more that is, the less these two
// forbid. So it is enough to go over the sets of alternatives that hold, without saying that the others do not.
#include <algorithm>
#include <iterator>

#include "text/grammar/schema_reader.h"

namespace brass::grammar::schema {
namespace {

constexpr size_t kMaxWays = 512;
constexpr size_t kMaxNestedWays = 200;
constexpr size_t kMaxAlternatives = 8;

}  // namespace

Result<FormulaId> Reader::unevaluated(const At& at) {
  std::vector<FormulaId> parts;
  for (const Way& way : TRY(ways_of(at))) parts.push_back(way.formula);
  return f_.any_of(std::move(parts));
}

Result<Reader::Ways> Reader::ways(int32_t place) {
  const Place where = document_.place(place);
  if (!where.json->is_object()) return Ways{{TRY(formula(place)), {}}};
  const At at{*where.json, place, where.draft7};
  if (reading_ways_.size() > kMaxNestedWays || !reading_ways_.insert(place).second)
    return refuse(at, "unevaluatedProperties", "the schemas beside it refer to themselves, or too deep");
  Result<Ways> result = ways_of(at);
  reading_ways_.erase(place);
  return result;
}

Result<Reader::Ways> Reader::ways_below(const At& at, const Json& schema, const std::string& step) {
  if (schema.is_boolean()) return Ways{{schema.get<bool>() ? f_.yes() : f_.no(), {}}};
  return ways(TRY(document_.find(schema, at.place, "/" + step)));
}

Result<Reader::Ways> Reader::ways_of(const At& at) {
  if (at.draft7 && at.get("$ref") != nullptr) return ways(TRY(target(at, "$ref", *at.get("$ref"))));
  TRY_VOID(check(at));
  Ways out{{TRY(assertions(at, false)), TRY(seen_by(at))}};
  TRY_VOID(add_branches(at, out));
  TRY_VOID(add_alternatives(at, out));
  TRY_VOID(add_dependents(at, out));
  TRY_VOID(close(at, out));
  return out;
}

Result<> Reader::add_branches(const At& at, Ways& out) {
  for (const char* keyword : {"$ref", "$dynamicRef"})
    if (const Json* value = at.get(keyword))
      TRY_VOID(multiply(at, out, TRY(ways(TRY(target(at, keyword, *value))))));
  if (const Json* list = at.get("allOf")) {
    TRY_VOID(subs(at, "allOf", *list));
    for (size_t i = 0; i < list->size(); i++)
      TRY_VOID(multiply(at, out, TRY(ways_below(at, (*list)[i], "allOf/" + std::to_string(i)))));
  }
  return {};
}

Result<> Reader::add_alternatives(const At& at, Ways& out) {
  if (const Json* list = at.get("anyOf")) TRY_VOID(multiply(at, out, TRY(any_ways(at, *list))));
  if (const Json* list = at.get("oneOf")) TRY_VOID(multiply(at, out, TRY(one_ways(at, *list))));
  if (const Json* test = at.get("if")) TRY_VOID(multiply(at, out, TRY(condition_ways(at, *test))));
  return {};
}

Result<> Reader::add_dependents(const At& at, Ways& out) {
  for (const char* keyword : {"dependentSchemas", "dependencies"}) {
    const Json* value = at.get(keyword);
    if (value == nullptr) continue;
    if (!value->is_object()) return refuse(at, keyword, "it is not an object of schemas");
    for (const auto& [name, one] : value->items()) {
      Ways present{{f_.yes(), {}}};
      if (one.is_array())
        for (const std::string& other : TRY(names(at, keyword, one)))
          present[0].formula = f_.all_of({present[0].formula, required_key(other)});
      else
        present = TRY(ways_below(at, one, std::string(keyword) + "/" + escape_pointer(name)));
      for (Way& way : present) way.formula = f_.all_of({way.formula, required_key(name)});
      present.push_back({value_at(name, f_.no()), {}});
      TRY_VOID(multiply(at, out, present));
    }
  }
  return {};
}

Result<Reader::Ways> Reader::any_ways(const At& at, const Json& list) {
  TRY_VOID(subs(at, "anyOf", list));
  if (list.size() > kMaxAlternatives)
    return refuse(at, "anyOf",
                  fmt::format("more than {} alternatives beside 'unevaluated…'", kMaxAlternatives));
  Ways out, none{{f_.yes(), {}}};
  std::vector<Ways> sets{none};  // for each set of alternatives so far
  for (size_t i = 0; i < list.size(); i++) {
    const Ways branch = TRY(ways_below(at, list[i], "anyOf/" + std::to_string(i)));
    for (size_t set = 0, count = sets.size(); set < count; set++) {
      Ways with = sets[set];
      TRY_VOID(multiply(at, with, branch));
      sets.push_back(std::move(with));
    }
  }
  for (size_t set = 1; set < sets.size(); set++) out.insert(out.end(), sets[set].begin(), sets[set].end());
  if (out.size() > kMaxWays) return refuse(at, "anyOf", "too many cases beside 'unevaluated…'");
  return out;
}

Result<Reader::Ways> Reader::one_ways(const At& at, const Json& list) {
  const std::vector<FormulaId> branches = TRY(subs(at, "oneOf", list));
  if (list.size() > kMaxAlternatives)
    return refuse(at, "oneOf",
                  fmt::format("more than {} alternatives beside 'unevaluated…'", kMaxAlternatives));
  Ways out;
  for (size_t i = 0; i < list.size(); i++) {
    std::vector<FormulaId> others;
    for (size_t j = 0; j < list.size(); j++)
      if (j != i) others.push_back(f_.negate(branches[j]));
    for (Way& way : TRY(ways_below(at, list[i], "oneOf/" + std::to_string(i)))) {
      others.push_back(way.formula);
      out.push_back({f_.all_of(others), way.seen});
      others.pop_back();
    }
  }
  return out;
}

Result<Reader::Ways> Reader::condition_ways(const At& at, const Json& schema) {
  Ways yes = TRY(ways_below(at, schema, "if"));
  Ways no{{f_.negate(TRY(sub(at, schema, "if"))), {}}};
  if (const Json* then = at.get("then")) TRY_VOID(multiply(at, yes, TRY(ways_below(at, *then, "then"))));
  if (const Json* other = at.get("else")) TRY_VOID(multiply(at, no, TRY(ways_below(at, *other, "else"))));
  std::move(no.begin(), no.end(), std::back_inserter(yes));
  return yes;
}

Result<> Reader::multiply(const At& at, Ways& left, const Ways& right) {
  if (left.size() * right.size() > kMaxWays)
    return refuse(at, "unevaluatedProperties", "too many cases beside it");
  Ways out;
  for (const Way& a : left) {
    for (const Way& b : right) {
      Way both{f_.all_of({a.formula, b.formula}), a.seen};
      if (both.formula == f_.no()) continue;
      both.seen.all_keys |= b.seen.all_keys;
      both.seen.all_items |= b.seen.all_items;
      both.seen.keys.insert(b.seen.keys.begin(), b.seen.keys.end());
      both.seen.patterns.insert(b.seen.patterns.begin(), b.seen.patterns.end());
      both.seen.items = std::max(a.seen.items, b.seen.items);
      both.seen.contained.insert(b.seen.contained.begin(), b.seen.contained.end());
      out.push_back(std::move(both));
    }
  }
  left = std::move(out);
  return {};
}

// What has not been looked at fulfils the two keywords, and has then been looked at.
Result<> Reader::close(const At& at, Ways& ways) {
  if (const Json* schema = at.get("unevaluatedProperties")) {
    const FormulaId member = TRY(sub(at, *schema, "unevaluatedProperties"));
    for (Way& way : ways) {
      if (!way.seen.all_keys) {
        KeySet rest;
        rest.except.assign(way.seen.keys.begin(), way.seen.keys.end());
        rest.outside.assign(way.seen.patterns.begin(), way.seen.patterns.end());
        way.formula = f_.all_of({way.formula, f_.make({Kind::kKeys, f_.key_set(rest), 0, 0, {member}})});
      }
      way.seen.all_keys = true;
    }
  }
  if (const Json* schema = at.get("unevaluatedItems")) {
    const FormulaId item = TRY(sub(at, *schema, "unevaluatedItems"));
    for (Way& way : ways) {
      std::vector<FormulaId> any(way.seen.contained.begin(), way.seen.contained.end());
      any.push_back(item);
      if (!way.seen.all_items)
        way.formula = f_.all_of(
            {way.formula, f_.make({Kind::kItems, way.seen.items, 0, 0, {f_.any_of(std::move(any))}})});
      way.seen.all_items = true;
    }
  }
  return {};
}

}  // namespace brass::grammar::schema
