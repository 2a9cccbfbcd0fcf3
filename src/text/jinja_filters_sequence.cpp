// Filters on lists and dicts (jinja_filters.h).
#include <algorithm>

#include "text/jinja_filters.h"
#include "text/jinja_ops.h"

namespace brass::jinja {
namespace {

Result<Value> default_(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "default", {"value", "default_value", "boolean"}, 1));
  const bool boolean = bound.has(2) && truthy(*bound[2]);
  if (!bound[0]->is_undefined() && !(boolean && !truthy(*bound[0]))) return *bound[0];
  return bound.has(1) ? *bound[1] : rt.string(std::string_view());
}

Result<Value> length_(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "length", {"value"}, 1));
  if (const auto n = length(*bound[0])) return Value::integer(static_cast<Int>(*n));
  (void)rt;
  return fail("{} has no length", type_name(*bound[0]));
}

Result<Value> list(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "list", {"value"}, 1));
  return rt.heap().list(TRY(to_vector(rt, *bound[0])));
}

Result<Value> first(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "first", {"seq"}, 1));
  const Ref<Iterator> it = TRY(iterate(rt, *bound[0]));
  Value item;
  if (TRY(it->next(rt, item))) return item;
  return rt.undefined("the first item of an empty sequence");
}

// What Python's reversed() takes: whatever has a length and an order.
bool reversible(const Value& value) { return iterable(value) && length(value).has_value(); }

Result<Value> last(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "last", {"seq"}, 1));
  const Value& seq = *bound[0];
  if (!reversible(seq)) return fail("last needs a sequence, not {}; use '| list' before it", type_name(seq));
  if (*length(seq) == 0) return rt.undefined("the last item of an empty sequence");
  if (seq.is_string() || seq.is_sequence()) return get_item(rt, seq, Value::integer(-1));
  return TRY(to_vector(rt, seq)).back();
}

// What Python's reversed() makes of each kind of value.
std::string_view reversed_kind(const Value& value) {
  if (value.is(Kind::list)) return "list_reverseiterator object";
  if (value.is(Kind::dict)) return "dict_reversekeyiterator object";
  if (const auto* view = value.as<DictView>()) {
    if (view->what() == DictView::What::items) return "dict_reverseitemiterator object";
    return view->what() == DictView::What::keys ? "dict_reversekeyiterator object"
                                                : "dict_reversevalueiterator object";
  }
  return value.is(Kind::tuple) ? "reversed object" : "range_iterator object";
}

Result<Value> reverse(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "reverse", {"value"}, 1));
  const Value& value = *bound[0];
  if (value.is_string()) return get_slice(rt, value, Value::none(), Value::none(), Value::integer(-1));
  std::vector<Value> items = TRY(to_vector(rt, value));
  std::reverse(items.begin(), items.end());
  if (!reversible(value)) return rt.heap().list(std::move(items));
  return generator(rt, reversed_kind(value),
                   [items = std::move(items), i = size_t{0}](Runtime&, Value& out) mutable -> Result<bool> {
                     if (i >= items.size()) return false;
                     out = items[i++];
                     return true;
                   });
}

Result<Value> items(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "items", {"value"}, 1));
  return generator(rt, "generator object do_items",
                   [value = *bound[0], i = size_t{0}](Runtime& r, Value& out) mutable -> Result<bool> {
                     if (value.is_undefined()) return false;
                     if (!value.is(Kind::dict)) return fail("items needs a dict, not {}", type_name(value));
                     if (i >= value.mapping().size()) return false;
                     const auto& [key, item] = value.mapping().entries()[i++];
                     out = r.heap().tuple({key, item});
                     return true;
                   });
}

Result<Value> dictsort(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "dictsort", {"value", "case_sensitive", "by", "reverse"}, 1));
  if (bound[0]->is_undefined()) return undefined_error(*bound[0]);
  if (!bound[0]->is(Kind::dict)) return fail("dictsort needs a dict, not {}", type_name(*bound[0]));
  const std::string_view by =
      bound.has(2) && bound[2]->is_string() ? std::string_view(bound[2]->bytes()) : "key";
  if (by != "key" && by != "value") return fail("dictsort can sort by 'key' or 'value'");
  const bool sensitive = bound.has(1) && truthy(*bound[1]);
  std::vector<Value> pairs, keys;
  for (const auto& [key, value] : bound[0]->mapping().entries()) {
    pairs.push_back(rt.heap().tuple({key, value}));
    const Value& part = by == "key" ? key : value;
    keys.push_back(sensitive ? part : TRY(ignore_case(rt, part)));
  }
  TRY(sort_by(rt, pairs, std::move(keys), bound.has(3) && truthy(*bound[3])));
  return rt.heap().list(std::move(pairs));
}

// The attributes to sort by: none, one, or several with commas between them.
Result<Value> sort_key(Runtime& rt, const Value& item, const Value* attribute, bool sensitive) {
  std::vector<Value> paths;
  if (given(attribute) && attribute->is_string()) {
    const Value comma = rt.string(",");
    const Builtin* split = find_method(*attribute, "split");
    Args args;
    args.positional = {*attribute, comma};
    const Value parts = TRY(split->run(rt, args));
    paths = TRY(to_vector(rt, parts));
  } else {
    paths.push_back(attribute == nullptr ? Value::none() : *attribute);
  }
  for (Value& path : paths) {
    Value found = TRY(lookup_path(rt, item, &path, nullptr));
    path = sensitive ? std::move(found) : TRY(ignore_case(rt, found));
  }
  return rt.heap().list(std::move(paths));
}

Result<Value> sort(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "sort", {"value", "reverse", "case_sensitive", "attribute"}, 1));
  const bool sensitive = bound.has(2) && truthy(*bound[2]);
  std::vector<Value> items = TRY(to_vector(rt, *bound[0]));
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) keys.push_back(TRY(sort_key(rt, item, bound[3], sensitive)));
  TRY(sort_by(rt, items, std::move(keys), bound.has(1) && truthy(*bound[1])));
  return rt.heap().list(std::move(items));
}

Result<Value> key_of(Runtime& rt, const Value& item, const Value* attribute, bool sensitive,
                     const Value* otherwise) {
  Value found = TRY(lookup_path(rt, item, attribute, otherwise));
  if (sensitive) return found;
  return ignore_case(rt, found);
}

template <bool Max>
Result<Value> extreme(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, Max ? "max" : "min", {"value", "case_sensitive", "attribute"}, 1));
  const bool sensitive = bound.has(1) && truthy(*bound[1]);
  const Ref<Iterator> it = TRY(iterate(rt, *bound[0]));
  Value best, best_key;
  bool some = false;
  for (Value item; TRY(it->next(rt, item));) {
    Value key = TRY(key_of(rt, item, bound[2], sensitive, nullptr));
    const bool better = !some || TRY(Max ? less(rt, best_key, key) : less(rt, key, best_key));
    if (better) best = item, best_key = std::move(key);
    some = true;
  }
  return some ? best : rt.undefined("the extreme of an empty sequence");
}

Result<Value> unique(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "unique", {"value", "case_sensitive", "attribute"}, 1));
  const bool sensitive = bound.has(1) && truthy(*bound[1]);
  const Value attribute = bound.has(2) ? *bound[2] : Value::none();
  return generator(rt, "generator object sync_do_unique",
                   [source = Ref<Iterator>(), value = *bound[0], seen = rt.heap().dict(), sensitive,
                    attribute](Runtime& r, Value& out) mutable -> Result<bool> {
                     if (!source) source = TRY(iterate(r, value));
                     while (TRY(source->next(r, out))) {
                       const Value key = TRY(key_of(r, out, &attribute, sensitive, nullptr));
                       if (!hashable(key)) return fail("unique cannot compare a {}", type_name(key));
                       if (seen.mapping().find(key) != nullptr) continue;
                       seen.mapping().set(key, Value::none());
                       return true;
                     }
                     return false;
                   });
}

Result<Value> groupby(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "groupby", {"value", "attribute", "default", "case_sensitive"}, 2));
  const bool sensitive = bound.has(3) && truthy(*bound[3]);
  std::vector<Value> items = TRY(to_vector(rt, *bound[0]));
  std::vector<Value> keys;
  for (const Value& item : items) keys.push_back(TRY(key_of(rt, item, bound[1], sensitive, bound[2])));
  TRY(sort_by(rt, items, std::move(keys), false));
  std::vector<Value> groups, members;
  Value group_key;
  const auto flush = [&]() -> Result<> {
    if (members.empty()) return {};
    Value grouper = TRY(lookup_path(rt, members[0], bound[1], bound[2]));
    std::vector<Value> pair = {std::move(grouper), rt.heap().list(std::exchange(members, {}))};
    groups.push_back(rt.heap().group(std::move(pair)));
    return {};
  };
  for (const Value& item : items) {
    Value key = TRY(key_of(rt, item, bound[1], sensitive, bound[2]));
    if (!members.empty() && !TRY(equal(rt, key, group_key))) TRY(flush());
    if (members.empty()) group_key = std::move(key);
    members.push_back(item);
  }
  TRY(flush());
  return rt.heap().list(std::move(groups));
}

Result<Value> sum(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "sum", {"iterable", "attribute", "start"}, 1));
  Value total = bound.has(2) ? *bound[2] : Value::integer(0);
  if (total.is_string()) return fail("sum cannot add strings; use join");
  const Ref<Iterator> it = TRY(iterate(rt, *bound[0]));
  for (Value item; TRY(it->next(rt, item));) {
    const Value part = TRY(lookup_path(rt, item, bound[1], nullptr));
    total = TRY(arithmetic(rt, BinaryOp::add, total, part));
  }
  return total;
}

Result<Value> batch(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "batch", {"value", "linecount", "fill_with"}, 2));
  const Value fill = bound.has(2) ? *bound[2] : Value::none();
  return generator(rt, "generator object do_batch",
                   [source = Ref<Iterator>(), value = *bound[0], count = *bound[1], fill, pending = Value(),
                    more = false](Runtime& r, Value& out) mutable -> Result<bool> {
                     if (!source) {
                       source = TRY(iterate(r, value));
                       more = TRY(source->next(r, pending));
                     }
                     if (!more) return false;
                     const Int size = count.is_number() ? static_cast<Int>(count.to_double()) : -1;
                     std::vector<Value> row = {std::exchange(pending, Value())};
                     while ((more = TRY(source->next(r, pending)))) {
                       if (static_cast<Int>(row.size()) == size) break;
                       row.push_back(std::exchange(pending, Value()));
                     }
                     if (!more && !fill.is_none() && size > static_cast<Int>(row.size())) {
                       if (size > static_cast<Int>(r.options().max_memory / sizeof(Value)))
                         return fail("the batch is too large");
                       TRY(r.room(static_cast<size_t>(size) * sizeof(Value)));
                       row.resize(static_cast<size_t>(size), fill);
                     }
                     out = r.heap().list(std::move(row));
                     return true;
                   });
}

Result<Value> slice(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "slice", {"value", "slices", "fill_with"}, 2));
  const Value fill = bound.has(2) ? *bound[2] : Value::none();
  return generator(rt, "generator object sync_do_slice",
                   [value = *bound[0], count = *bound[1], fill, items = std::optional<std::vector<Value>>(),
                    at = size_t{0}, index = Int{0}](Runtime& r, Value& out) mutable -> Result<bool> {
                     const Int slices = TRY(to_index(count, "the number of slices"));
                     if (!items) items = TRY(to_vector(r, value));
                     if (slices == 0) return fail("the number of slices is zero");
                     if (index >= slices) return false;
                     const Int size = static_cast<Int>(items->size()), extra = size % slices;
                     const auto take = static_cast<size_t>(size / slices + (index < extra ? 1 : 0));
                     const auto from = items->begin() + static_cast<std::ptrdiff_t>(at);
                     std::vector<Value> part(from, from + static_cast<std::ptrdiff_t>(take));
                     if (!fill.is_none() && index >= extra) part.push_back(fill);
                     at += take;
                     index++;
                     out = r.heap().list(std::move(part));
                     return true;
                   });
}

Result<Value> attr(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "attr", {"obj", "name"}, 2));
  if (!bound[1]->is_string())
    return fail("attr needs the name of an attribute, not {}", type_name(*bound[1]));
  if (bound[0]->is(Kind::dict) && find_method(*bound[0], bound[1]->bytes()) == nullptr) {
    return Value::undefined(Ref<Object>(bound[1]->raw()));
  }
  return get_attribute(rt, *bound[0], *bound[1]);
}

constexpr Builtin kFilters[] = {
    {"attr", attr},         {"batch", batch},        {"count", length_},
    {"d", default_},        {"default", default_},   {"dictsort", dictsort},
    {"first", first},       {"groupby", groupby},    {"items", items},
    {"last", last},         {"length", length_},     {"list", list},
    {"max", extreme<true>}, {"min", extreme<false>}, {"reverse", reverse},
    {"slice", slice},       {"sort", sort},          {"sum", sum},
    {"unique", unique},
};
static_assert(in_order(kFilters));

}  // namespace

std::span<const Builtin> sequence_filters() { return kFilters; }

}  // namespace brass::jinja
