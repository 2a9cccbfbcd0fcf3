// The methods of dict, list and tuple (jinja_runtime.h, find_method).
//
// Jinja's sandbox forbids those that change a container; templates in use call list.append, so they work here
// on what the template itself made, and never on its input.
#include <algorithm>

#include "text/jinja_ops.h"

namespace brass::jinja {

const Builtin* find_container_method(const Value& object, std::string_view name);

namespace {

Result<> check_own(const Value& container) {
  if (container.raw()->heap() != nullptr) return {};
  return fail("a template cannot change its input ({})", type_name(container));
}

Result<> check_key(const Value& key) {
  if (!hashable(key)) return fail("a {} cannot be a dict key", type_name(key));
  return {};
}

// dict.

Result<Value> dict_get(Runtime&, Args& args) {
  const Bound bound = TRY(bind(args, "dict.get", {"self", "key", "default"}, 2));
  TRY(check_key(*bound[1]));
  const Value* found = bound[0]->mapping().find(*bound[1]);
  return found != nullptr ? *found : bound.has(2) ? *bound[2] : Value::none();
}

template <DictView::What What>
Result<Value> dict_view(Runtime& rt, Args& args) {
  TRY(bind(args, "the dict's method", {"self"}, 1));
  return Value::object(make<DictView>(&rt.heap(), args.positional[0], What));
}

Result<Value> dict_copy(Runtime& rt, Args& args) {
  TRY(bind(args, "dict.copy", {"self"}, 1));
  Value copy = rt.heap().dict();
  TRY(rt.step(args.positional[0].mapping().size()));
  for (const auto& [key, value] : args.positional[0].mapping().entries()) copy.mapping().set(key, value);
  return copy;
}

Result<Value> dict_pop(Runtime&, Args& args) {
  const Bound bound = TRY(bind(args, "dict.pop", {"self", "key", "default"}, 2));
  TRY(check_own(*bound[0]));
  TRY(check_key(*bound[1]));
  const Value* found = bound[0]->mapping().find(*bound[1]);
  if (found == nullptr) {
    if (bound.has(2)) return *bound[2];
    return fail("the dict has no such key to pop");
  }
  Value value = *found;
  bound[0]->mapping().erase(*bound[1]);
  return value;
}

Result<Value> dict_popitem(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "dict.popitem", {"self"}, 1));
  TRY(check_own(*bound[0]));
  Dict& dict = bound[0]->mapping();
  if (dict.size() == 0) return fail("the dict is empty: there is no item to pop");
  const Dict::Entry last = dict.entries().back();
  dict.erase(last.first);
  return rt.heap().tuple({last.first, last.second});
}

Result<Value> dict_fromkeys(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "dict.fromkeys", {"self", "iterable", "value"}, 2));
  Value out = rt.heap().dict();
  for (const Value& key : TRY(to_vector(rt, *bound[1]))) {
    TRY(check_key(key));
    out.mapping().set(key, bound.has(2) ? *bound[2] : Value::none());
  }
  return out;
}

Result<Value> dict_setdefault(Runtime&, Args& args) {
  const Bound bound = TRY(bind(args, "dict.setdefault", {"self", "key", "default"}, 2));
  TRY(check_own(*bound[0]));
  TRY(check_key(*bound[1]));
  if (const Value* found = bound[0]->mapping().find(*bound[1])) return *found;
  Value value = bound.has(2) ? *bound[2] : Value::none();
  bound[0]->mapping().set(*bound[1], value);
  return value;
}

Result<Value> dict_update(Runtime& rt, Args& args) {
  if (args.positional.size() > 2) return fail("dict.update takes at most 1 argument");
  TRY(check_own(args.positional[0]));
  Dict& dict = args.positional[0].mapping();
  if (args.positional.size() == 2) {
    if (!args.positional[1].is(Kind::dict))
      return fail("dict.update needs a dict, not {}", type_name(args.positional[1]));
    const std::vector<Dict::Entry> entries = args.positional[1].mapping().entries();
    TRY(rt.step(entries.size()));
    for (const auto& [key, value] : entries) dict.set(key, value);
  }
  for (auto& [key, value] : args.named) dict.set(std::move(key), std::move(value));
  return Value::none();
}

Result<Value> clear(Runtime&, Args& args) {
  TRY(bind(args, "clear", {"self"}, 1));
  TRY(check_own(args.positional[0]));
  static_cast<Container*>(args.positional[0].raw())->clear();
  return Value::none();
}

// list and tuple.

Result<Value> sequence_count(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "count", {"self", "value"}, 2));
  Int n = 0;
  for (const Value& item : bound[0]->items().get()) n += TRY(equal(rt, item, *bound[1]));
  return Value::integer(n);
}

Result<Value> sequence_index(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "index", {"self", "value", "start", "stop"}, 2));
  const auto& items = bound[0]->items().get();
  const auto size = static_cast<Int>(items.size());
  const auto place = [&](size_t which, Int without) -> Result<Int> {
    if (!bound.has(which)) return without;
    const Int at = TRY(to_index(*bound[which], "the place"));
    return std::clamp<Int>(at < 0 ? at + size : at, 0, size);
  };
  const Int stop = TRY(place(3, size));
  for (Int i = TRY(place(2, 0)); i < stop; i++) {
    if (TRY(equal(rt, items[static_cast<size_t>(i)], *bound[1]))) return Value::integer(i);
  }
  return fail("the value is not in the {}", type_name(*bound[0]));
}

Result<Value> list_append(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "list.append", {"self", "value"}, 2));
  TRY(check_own(*bound[0]));
  bound[0]->items().change([&](std::vector<Value>& items) { items.push_back(*bound[1]); });
  TRY(rt.step());
  return Value::none();
}

Result<Value> list_extend(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "list.extend", {"self", "values"}, 2));
  TRY(check_own(*bound[0]));
  const std::vector<Value> more = TRY(to_vector(rt, *bound[1]));
  bound[0]->items().change(
      [&](std::vector<Value>& items) { items.insert(items.end(), more.begin(), more.end()); });
  return Value::none();
}

Result<Value> list_insert(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "list.insert", {"self", "index", "value"}, 3));
  TRY(check_own(*bound[0]));
  const Int n = static_cast<Int>(bound[0]->items().size());
  Int at = TRY(to_index(*bound[1], "the index"));
  if (at < 0) at += n;
  at = std::clamp<Int>(at, 0, n);
  TRY(rt.step(static_cast<uint64_t>(n - at) / 16));
  bound[0]->items().change([&](std::vector<Value>& items) {
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), *bound[2]);
  });
  return Value::none();
}

Result<Value> list_pop(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "list.pop", {"self", "index"}, 1));
  TRY(check_own(*bound[0]));
  const Int n = static_cast<Int>(bound[0]->items().size());
  Int at = bound.has(1) ? TRY(to_index(*bound[1], "the index")) : -1;
  if (at < 0) at += n;
  if (at < 0 || at >= n) return fail("there is no such item to pop from the list");
  TRY(rt.step(static_cast<uint64_t>(n - at) / 16));
  Value value = bound[0]->items()[static_cast<size_t>(at)];
  bound[0]->items().change(
      [&](std::vector<Value>& items) { items.erase(items.begin() + static_cast<std::ptrdiff_t>(at)); });
  return value;
}

Result<Value> list_remove(Runtime& rt, Args& args) {
  TRY(bind(args, "list.remove", {"self", "value"}, 2));
  const Value index = TRY(sequence_index(rt, args));
  args.positional[1] = index;
  TRY(list_pop(rt, args));
  return Value::none();
}

Result<Value> list_reverse(Runtime&, Args& args) {
  TRY(bind(args, "list.reverse", {"self"}, 1));
  TRY(check_own(args.positional[0]));
  args.positional[0].items().change(
      [](std::vector<Value>& items) { std::reverse(items.begin(), items.end()); });
  return Value::none();
}

Result<Value> list_copy(Runtime& rt, Args& args) {
  TRY(bind(args, "list.copy", {"self"}, 1));
  return rt.heap().list(TRY(to_vector(rt, args.positional[0])));
}

Result<Value> list_sort(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "list.sort", {"self", "reverse"}, 1));
  TRY(check_own(*bound[0]));
  std::vector<Value> items = bound[0]->items().get();
  TRY(sort_by(rt, items, items, bound.has(1) && truthy(*bound[1])));
  bound[0]->items().change([&](std::vector<Value>& own) { own = std::move(items); });
  return Value::none();
}

constexpr Builtin kDictMethods[] = {
    {"clear", clear},
    {"copy", dict_copy},
    {"fromkeys", dict_fromkeys},
    {"get", dict_get},
    {"items", dict_view<DictView::items>},
    {"keys", dict_view<DictView::keys>},
    {"pop", dict_pop},
    {"popitem", dict_popitem},
    {"setdefault", dict_setdefault},
    {"update", dict_update},
    {"values", dict_view<DictView::values>},
};
static_assert(in_order(kDictMethods));
constexpr NameFilter kDictNames(kDictMethods);
constexpr Builtin kTupleMethods[] = {{"count", sequence_count}, {"index", sequence_index}};
static_assert(in_order(kTupleMethods));
constexpr Builtin kListMethods[] = {
    {"append", list_append}, {"clear", clear},          {"copy", list_copy},
    {"extend", list_extend}, {"insert", list_insert},   {"pop", list_pop},
    {"remove", list_remove}, {"reverse", list_reverse}, {"sort", list_sort},
};
static_assert(in_order(kListMethods));

}  // namespace

const Builtin* find_container_method(const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::dict:
      if (!kDictNames.may_hold(name)) return nullptr;
      return find_in({{kDictMethods, std::size(kDictMethods)}}, name);
    case Kind::tuple:
      return find_in({{kTupleMethods, std::size(kTupleMethods)}}, name);
    case Kind::list:
      return find_in({{kListMethods, std::size(kListMethods)}, {kTupleMethods, std::size(kTupleMethods)}},
                     name);
    default:
      return nullptr;
  }
}

}  // namespace brass::jinja
