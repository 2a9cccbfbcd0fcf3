// The tests of the language, `value is name(...)` (jinja_runtime.h, find_test).
#include "text/jinja_long.h"
#include "text/jinja_ops.h"
#include "text/jinja_repr.h"
#include "text/jinja_strings.h"

namespace brass::jinja {
namespace {

Result<Bound> one(const Args& args) { return bind(args, "the test", {"value"}, 1); }

template <bool (*Is)(const Value&)>
Result<Value> simple(Runtime&, Args& args) {
  const Bound bound = TRY(one(args));
  return Value::boolean(Is(*bound[0]));
}

bool defined(const Value& v) { return !v.is_undefined(); }
bool undefined(const Value& v) { return v.is_undefined(); }
bool none(const Value& v) { return v.is_none(); }
bool boolean(const Value& v) { return v.is(Kind::boolean); }
bool is_true(const Value& v) { return v.is(Kind::boolean) && v.as_bool(); }
bool is_false(const Value& v) { return v.is(Kind::boolean) && !v.as_bool(); }
bool integer(const Value& v) { return is_whole(v); }
bool real(const Value& v) { return v.is(Kind::real); }
bool number(const Value& v) { return v.is_number() || is_whole(v); }
bool string(const Value& v) { return v.is_string(); }
bool mapping(const Value& v) { return v.is(Kind::dict); }
bool escaped(const Value& v) { return v.is_string() && v.str().markup(); }

// Has a length and can be indexed, as Jinja asks it: undefined and dicts pass.
bool sequence(const Value& v) {
  if (const auto* opaque = v.as<Opaque>()) return opaque->sequence();
  return v.is_undefined() || v.is_string() || v.is_sequence() || v.is(Kind::dict);
}

template <bool Odd>
Result<Value> parity(Runtime& rt, Args& args) {
  const Bound bound = TRY(one(args));
  const Value rest = TRY(arithmetic(rt, BinaryOp::mod, *bound[0], Value::integer(2)));
  return Value::boolean(TRY(equal(rt, rest, Value::integer(Odd ? 1 : 0))));
}

Result<Value> divisibleby(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "divisibleby", {"value", "num"}, 2));
  const Value rest = TRY(arithmetic(rt, BinaryOp::mod, *bound[0], *bound[1]));
  return Value::boolean(TRY(equal(rt, rest, Value::integer(0))));
}

template <CompareOp Op>
Result<Value> comparison(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "the comparison", {"value", "other"}, 2));
  return Value::boolean(TRY(compare(rt, Op, *bound[0], *bound[1])));
}

Result<Value> sameas(Runtime&, Args& args) {
  const Bound bound = TRY(bind(args, "sameas", {"value", "other"}, 2));
  const Value &a = *bound[0], &b = *bound[1];
  if (a.kind() != b.kind()) return Value::boolean(false);
  if (a.raw() != nullptr)
    return Value::boolean(a.raw() == b.raw() || (a.is_string() && a.bytes() == b.bytes()));
  return Value::boolean(!a.is_number() || compare_numbers(a, b) == 0);
}

template <bool (*Is)(char32_t), bool (*Not)(char32_t)>
Result<Value> cased(Runtime& rt, Args& args) {
  const Bound bound = TRY(one(args));
  const Text text = TRY(to_text(rt, *bound[0]));
  bool some = false, all = true;
  each_character(text.view(), [&](char32_t c, size_t, size_t) {
    some = some || Is(c);
    all = all && !Not(c) && !is_title(c);
  });
  return Value::boolean(some && all);
}

template <const Builtin* (*Find)(std::string_view)>
Result<Value> exists(Runtime&, Args& args) {
  const Bound bound = TRY(one(args));
  if (!hashable(*bound[0])) return fail("a {} cannot be a name", type_name(*bound[0]));
  return Value::boolean(bound[0]->is_string() && Find(bound[0]->bytes()) != nullptr);
}

constexpr Builtin kTests[] = {
    {"!=", comparison<CompareOp::ne>},
    {"<", comparison<CompareOp::lt>},
    {"<=", comparison<CompareOp::le>},
    {"==", comparison<CompareOp::eq>},
    {">", comparison<CompareOp::gt>},
    {">=", comparison<CompareOp::ge>},
    {"boolean", simple<boolean>},
    {"callable", simple<callable>},
    {"defined", simple<defined>},
    {"divisibleby", divisibleby},
    {"eq", comparison<CompareOp::eq>},
    {"equalto", comparison<CompareOp::eq>},
    {"escaped", simple<escaped>},
    {"even", parity<false>},
    {"false", simple<is_false>},
    {"filter", exists<find_filter>},
    {"float", simple<real>},
    {"ge", comparison<CompareOp::ge>},
    {"greaterthan", comparison<CompareOp::gt>},
    {"gt", comparison<CompareOp::gt>},
    {"in", comparison<CompareOp::in>},
    {"integer", simple<integer>},
    {"iterable", simple<iterable>},
    {"le", comparison<CompareOp::le>},
    {"lessthan", comparison<CompareOp::lt>},
    {"lower", cased<is_lower, is_upper>},
    {"lt", comparison<CompareOp::lt>},
    {"mapping", simple<mapping>},
    {"ne", comparison<CompareOp::ne>},
    {"none", simple<none>},
    {"number", simple<number>},
    {"odd", parity<true>},
    {"sameas", sameas},
    {"sequence", simple<sequence>},
    {"string", simple<string>},
    {"test", exists<find_test>},
    {"true", simple<is_true>},
    {"undefined", simple<undefined>},
    {"upper", cased<is_upper, is_lower>},
};
static_assert(in_order(kTests));

}  // namespace

const Builtin* find_test(std::string_view name) { return find_in({{kTests, std::size(kTests)}}, name); }

}  // namespace brass::jinja
