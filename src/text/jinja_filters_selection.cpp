// map, select, reject and their attribute forms: filters that run filters and tests (jinja_filters.h).
#include "text/jinja_filters.h"
#include "text/jinja_ops.h"

namespace brass::jinja {
namespace {

// A filter or test called by name on each item, with the arguments that were left over.
struct Applied {
  const Builtin* builtin = nullptr;
  Args args;  // positional[0] is replaced by the item

  Result<Value> operator()(Runtime& rt, const Value& item) const {
    Args call = args;
    call.positional[0] = item;
    return builtin->run(rt, call);
  }
};

Result<Applied> apply(const Args& args, size_t from, const Builtin* (*find)(std::string_view),
                      std::string_view what) {
  const Value& name = args.positional[from];
  if (!name.is_string()) return fail("the name of a {} must be a string, not {}", what, type_name(name));
  Applied out{find(name.bytes()), {}};
  if (out.builtin == nullptr) return fail("no {} named '{}'", what, name.bytes());
  out.args.positional.assign(args.positional.begin() + static_cast<std::ptrdiff_t>(from),
                             args.positional.end());
  out.args.named = args.named;
  return out;
}

// How one item of map's input becomes one of its output; made when the first item is asked for, as in Jinja.
struct Mapping {
  std::optional<Applied> filter;
  Value attribute, otherwise = Value::none();
};

Result<Mapping> mapping_from(const Args& args) {
  Mapping out;
  if (args.positional.size() > 1) {
    out.filter = TRY(apply(args, 1, find_filter, "filter"));
    return out;
  }
  bool found = false;
  for (const auto& [name, value] : args.named) {
    if (name.bytes() == "attribute") {
      out.attribute = value, found = true;
    } else if (name.bytes() == "default") {
      out.otherwise = value;
    } else {
      return fail("map has no parameter '{}'", name.bytes());
    }
  }
  if (!found) return fail("map needs the name of a filter, or attribute=");
  return out;
}

Result<Value> map(Runtime& rt, Args& args) {
  return generator(rt, "generator object sync_do_map",
                   [args = args, source = Ref<Iterator>(), mapping = Mapping()](
                       Runtime& r, Value& out) mutable -> Result<bool> {
                     if (!source) {
                       if (!truthy(args.positional[0])) return false;
                       mapping = TRY(mapping_from(args));
                       source = TRY(iterate(r, args.positional[0]));
                     }
                     Value item;
                     if (!TRY(source->next(r, item))) return false;
                     if (mapping.filter) {
                       out = TRY((*mapping.filter)(r, item));
                     } else {
                       out = TRY(lookup_path(r, item, &mapping.attribute, &mapping.otherwise));
                     }
                     return true;
                   });
}

// select and reject: on the item itself, or on an attribute of it.
template <bool Keep, bool Attribute>
Result<Value> select(Runtime& rt, Args& args) {
  return generator(rt, "generator object select_or_reject",
                   [args = args, source = Ref<Iterator>(), test = std::optional<Applied>()](
                       Runtime& r, Value& out) mutable -> Result<bool> {
                     constexpr size_t kTest = Attribute ? 2 : 1;  // where the name of the test is
                     if (!source) {
                       if (!truthy(args.positional[0])) return false;
                       if (Attribute && args.positional.size() < 2)
                         return fail("the name of an attribute is missing");
                       if (args.positional.size() > kTest) test = TRY(apply(args, kTest, find_test, "test"));
                       source = TRY(iterate(r, args.positional[0]));
                     }
                     while (TRY(source->next(r, out))) {
                       Value subject = out;
                       if constexpr (Attribute)
                         subject = TRY(lookup_path(r, out, &args.positional[1], nullptr));
                       if (test) subject = TRY((*test)(r, subject));
                       if (truthy(subject) == Keep) return true;
                     }
                     return false;
                   });
}

constexpr Builtin kFilters[] = {
    {"map", map},
    {"reject", select<false, false>},
    {"rejectattr", select<false, true>},
    {"select", select<true, false>},
    {"selectattr", select<true, true>},
};
static_assert(in_order(kFilters));

}  // namespace

std::span<const Builtin> selection_filters() { return kFilters; }

}  // namespace brass::jinja
