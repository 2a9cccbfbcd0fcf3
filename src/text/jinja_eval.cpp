// The expressions of the interpreter (jinja_interp.h).
#include <algorithm>

#include "base/check.h"
#include "text/jinja_interp.h"
#include "text/jinja_ops.h"

namespace brass::jinja {

Result<Value> Interpreter::eval(const Expr& expr) {
  if (expr.kind == ExprKind::constant) {
    TRY(step());
    return expr.value;
  }
  Result<Value> value = eval_here(expr);
  if (!value) [[unlikely]]
    return located(expr.at, std::move(value));
  return value;
}

Result<const Value*> Interpreter::look(const Expr& expr, Value& own) {
  if (expr.kind == ExprKind::constant) {
    TRY(step());
    return &expr.value;
  }
  if (expr.kind == ExprKind::name) {
    TRY(step());
    const Value& value = slot(expr.slot);
    if (!value.is_undefined()) return &value;
  }
  if (expr.kind == ExprKind::attribute ||
      (expr.kind == ExprKind::item && expr.kids[1]->kind != ExprKind::slice)) {
    Result<const Value*> found = look_inside(expr, own);
    if (!found) [[unlikely]]
      return located(expr.at, std::move(found));
    return found;
  }
  own = TRY(eval(expr));
  return &own;
}

// The value under a key in what came from outside, which the context keeps as it is.
static const Value* find_frozen(const Value& object, const Value& key) {
  if (!object.is(Kind::dict) || object.raw()->heap() != nullptr || !key.is_string()) return nullptr;
  return object.mapping().find(key);
}

Result<const Value*> Interpreter::look_inside(const Expr& expr, Value& own) {
  TRY(step());
  Value own_object, own_key;
  const Value* const object = TRY(look(*expr.kids[0], own_object));
  if (expr.kind == ExprKind::attribute) {
    const Value* const found = find_frozen(*object, expr.value);
    if (found != nullptr && find_method(*object, expr.value.bytes()) == nullptr) return found;
    own = TRY(get_attribute(*this, *object, expr.value));
    return &own;
  }
  const Value* const key = TRY(look(*expr.kids[1], own_key));
  if (const Value* const found = find_frozen(*object, *key)) return found;
  own = TRY(get_item(*this, *object, *key));
  return &own;
}

Result<bool> Interpreter::holds(const Expr& expr) {
  TRY(step());
  switch (expr.kind) {
    case ExprKind::not_:
      return !TRY(holds(*expr.kids[0]));
    case ExprKind::and_:
    case ExprKind::or_:
      if (TRY(holds(*expr.kids[0])) == (expr.kind == ExprKind::or_)) return expr.kind == ExprKind::or_;
      return holds(*expr.kids[1]);
    case ExprKind::compare: {
      Result<bool> result = comparison(expr);
      if (!result) [[unlikely]]
        return located(expr.at, std::move(result));
      return result;
    }
    default: {
      Value own;
      return truthy(*TRY(look(expr, own)));
    }
  }
}

Result<Value> Interpreter::eval_here(const Expr& expr) {
  TRY(step());
  switch (expr.kind) {
    case ExprKind::constant:
    case ExprKind::data:
      return expr.value;
    case ExprKind::name: {
      const Value& value = slot(expr.slot);
      return value.is_undefined() && value.raw() == nullptr ? Value::undefined(Ref<Object>(expr.value.raw()))
                                                            : value;
    }
    case ExprKind::tuple:
      return heap().tuple(TRY(eval_all(expr.kids)));
    case ExprKind::list:
      return heap().list(TRY(eval_all(expr.kids)));
    case ExprKind::dict:
      return dict(expr);
    case ExprKind::attribute: {
      Value own;
      const Value* const object = TRY(look(*expr.kids[0], own));
      return get_attribute(*this, *object, expr.value);
    }
    case ExprKind::item:
      return item(expr);
    case ExprKind::call:
      return call_expr(expr, nullptr);
    case ExprKind::filter:
    case ExprKind::test:
      return filter_or_test(expr);
    case ExprKind::negate:
      return negate(TRY(eval(*expr.kids[0])));
    case ExprKind::plus: {
      Value value = TRY(eval(*expr.kids[0]));
      if (value.is(Kind::real)) return value;
      return Value::integer(TRY(to_index(value, "the operand of '+'")));
    }
    case ExprKind::not_:
      return Value::boolean(!TRY(holds(*expr.kids[0])));
    case ExprKind::and_:
    case ExprKind::or_: {
      Value left = TRY(eval(*expr.kids[0]));
      if (truthy(left) == (expr.kind == ExprKind::or_)) return left;
      return eval(*expr.kids[1]);
    }
    case ExprKind::conditional:
      return conditional(expr);
    case ExprKind::concat:
      return concat(*this, TRY(eval_all(expr.kids)), expr.escape == Escape::on && !expr.folded);
    case ExprKind::binary: {
      Value own_left, own_right;
      const Value* const left = TRY(look(*expr.kids[0], own_left));
      const Value* const right = TRY(look(*expr.kids[1], own_right));
      return arithmetic(*this, expr.op, *left, *right);
    }
    case ExprKind::compare:
      return Value::boolean(TRY(comparison(expr)));
    case ExprKind::slice:
      return fail("a slice must be the only index");
    case ExprKind::ns_target:
      break;
  }
  ENSURE(false, "an assignment target is not evaluated");
}

Result<std::vector<Value>> Interpreter::eval_all(const std::vector<ExprPtr>& exprs) {
  std::vector<Value> values;
  values.reserve(exprs.size());
  for (const ExprPtr& expr : exprs) values.push_back(TRY(eval(*expr)));
  return values;
}

Result<Value> Interpreter::dict(const Expr& expr) {
  Value out = heap().dict();
  for (size_t i = 0; i < expr.kids.size(); i += 2) {
    Value key = TRY(eval(*expr.kids[i]));
    Value value = TRY(eval(*expr.kids[i + 1]));
    if (!hashable(key)) return fail("a {} cannot be a dict key", type_name(key));
    out.mapping().set(std::move(key), std::move(value));
  }
  return out;
}

// Whether a slice of the object with these ends is a question of values, not of types.
static bool sliceable(const Value& object, const Value (&parts)[3]) {
  if (object.is_undefined()) return true;  // that is an error of its own
  if (!object.is_string() && !object.is_sequence() && object.as<Range>() == nullptr) return false;
  return std::all_of(std::begin(parts), std::end(parts),
                     [](const Value& part) { return part.is_none() || part.is_integral(); });
}

Result<Value> Interpreter::item(const Expr& expr) {
  Value own;
  const Value& object = *TRY(look(*expr.kids[0], own));
  const Expr& index = *expr.kids[1];
  if (index.kind != ExprKind::slice) {
    Value own_key;
    const Value* const key = TRY(look(index, own_key));
    return get_item(*this, object, *key);
  }
  Value parts[3];
  for (size_t i = 0; i < 3; i++) parts[i] = index.kids[i] ? TRY(eval(*index.kids[i])) : Value::none();
  if (expr.folded && !sliceable(object, parts)) return undefined("the slice");
  return get_slice(*this, object, parts[0], parts[1], parts[2]);
}

Result<Value> Interpreter::conditional(const Expr& expr) {
  if (TRY(holds(*expr.kids[0]))) return eval(*expr.kids[1]);
  if (expr.kids[2]) return eval(*expr.kids[2]);
  return undefined("the inline if-expression without an else");
}

Result<bool> Interpreter::comparison(const Expr& expr) {
  Value own[2];
  const Value* left = TRY(look(*expr.kids[0], own[0]));
  for (size_t i = 0; i < expr.compares.size(); i++) {
    const Value* const right = TRY(look(*expr.kids[i + 1], own[(i + 1) % 2]));
    if (!TRY(compare(*this, expr.compares[i], *left, *right))) return false;
    left = right;
  }
  return true;
}

// Evaluates the arguments of a call, filter or test after what `args` already holds.
Result<> Interpreter::arguments(const Expr& expr, Args& args) {
  for (size_t i = 1; i < expr.kids.size(); i++) args.positional.push_back(TRY(eval(*expr.kids[i])));
  for (const Keyword& keyword : expr.keywords) {
    Value value = TRY(eval(*keyword.value));
    args.named.emplace_back(keyword.name, std::move(value));
  }
  if (expr.star) {
    const Value more = TRY(eval(*expr.star));
    std::vector<Value> values = TRY(to_vector(*this, more));
    for (Value& value : values) args.positional.push_back(std::move(value));
  }
  if (expr.star_star) {
    const Value more = TRY(eval(*expr.star_star));
    if (!more.is(Kind::dict)) return fail("the argument after ** must be a dict, not {}", type_name(more));
    for (const auto& [key, value] : more.mapping().entries()) {
      if (!key.is_string()) return fail("keywords must be strings");
      args.named.emplace_back(key, value);
    }
  }
  for (size_t i = 0; i < args.named.size(); i++) {
    for (size_t j = 0; j < i; j++) {
      if (args.named[i].first.bytes() == args.named[j].first.bytes()) {
        return fail("argument '{}' is given twice", args.named[i].first.bytes());
      }
    }
  }
  return {};
}

Result<Value> Interpreter::call_expr(const Expr& expr, const Value* caller) {
  const Expr& callee = *expr.kids[0];
  Args args;
  if (caller != nullptr) args.named.emplace_back(string("caller"), *caller);
  if (callee.kind == ExprKind::attribute) {
    // object.method(...): without making a bound method first.
    Value object = TRY(eval(*callee.kids[0]));
    args.positional.reserve(expr.kids.size());
    if (const Builtin* method = find_method(object, callee.value.bytes())) {
      args.positional.push_back(std::move(object));
      TRY(arguments(expr, args));
      return method->run(*this, args);
    }
    const Value function = TRY(located(callee.at, get_attribute(*this, object, callee.value)));
    TRY(arguments(expr, args));
    return call(function, std::move(args));
  }
  const Value function = TRY(eval(callee));
  TRY(arguments(expr, args));
  return call(function, std::move(args));
}

Result<Value> Interpreter::filter_or_test(const Expr& expr) {
  Args args;
  args.positional.reserve(expr.kids.size());
  if (expr.kids[0]) {
    args.positional.push_back(TRY(eval(*expr.kids[0])));
  } else {
    args.positional.push_back(*filter_input_);
  }
  if (expr.builtin == nullptr) {
    return fail("no {} named '{}'", expr.kind == ExprKind::filter ? "filter" : "test", expr.name);
  }
  TRY(arguments(expr, args));
  if (!expr.folded) return expr.builtin->run(*this, args);
  const bool outer = autoescape();  // what Jinja computed as it compiled, by what it took to hold there
  set_autoescape(expr.escape == Escape::on);
  Result<Value> value = expr.builtin->run(*this, args);
  set_autoescape(outer);
  return value;
}

}  // namespace brass::jinja
