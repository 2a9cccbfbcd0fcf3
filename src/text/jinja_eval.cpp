// The expressions of the interpreter (jinja_interp.h).
#include "base/check.h"
#include "text/jinja_interp.h"
#include "text/jinja_ops.h"

namespace brass::jinja {

Result<Value> Interpreter::eval(const Expr& expr) {
  if (expr.kind == ExprKind::constant) {
    TRY(step());
    return expr.value;
  }
  return located(expr.at, eval_here(expr));
}

Result<Value> Interpreter::eval_here(const Expr& expr) {
  TRY(step());
  switch (expr.kind) {
    case ExprKind::constant:
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
      const Value object = TRY(eval(*expr.kids[0]));
      return get_attribute(*this, object, expr.value);
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
      return Value::boolean(!truthy(TRY(eval(*expr.kids[0]))));
    case ExprKind::and_:
    case ExprKind::or_: {
      Value left = TRY(eval(*expr.kids[0]));
      if (truthy(left) == (expr.kind == ExprKind::or_)) return left;
      return eval(*expr.kids[1]);
    }
    case ExprKind::conditional:
      return conditional(expr);
    case ExprKind::concat:
      return concat(*this, TRY(eval_all(expr.kids)));
    case ExprKind::binary: {
      const Value left = TRY(eval(*expr.kids[0]));
      const Value right = TRY(eval(*expr.kids[1]));
      return arithmetic(*this, expr.op, left, right);
    }
    case ExprKind::compare:
      return comparison(expr);
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

Result<Value> Interpreter::item(const Expr& expr) {
  const Value object = TRY(eval(*expr.kids[0]));
  const Expr& index = *expr.kids[1];
  if (index.kind != ExprKind::slice) {
    const Value key = TRY(eval(index));
    return get_item(*this, object, key);
  }
  if (expr.folded && !object.is_string() && !object.is_sequence()) return Value();
  Value parts[3];
  for (size_t i = 0; i < 3; i++) parts[i] = index.kids[i] ? TRY(eval(*index.kids[i])) : Value::none();
  return get_slice(*this, object, parts[0], parts[1], parts[2]);
}

Result<Value> Interpreter::conditional(const Expr& expr) {
  if (truthy(TRY(eval(*expr.kids[0])))) return eval(*expr.kids[1]);
  if (expr.kids[2]) return eval(*expr.kids[2]);
  return undefined("the inline if-expression without an else");
}

Result<Value> Interpreter::comparison(const Expr& expr) {
  Value left = TRY(eval(*expr.kids[0]));
  for (size_t i = 0; i < expr.compares.size(); i++) {
    Value right = TRY(eval(*expr.kids[i + 1]));
    if (!TRY(compare(*this, expr.compares[i], left, right))) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
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
  if (expr.kids[0]) {
    args.positional.push_back(TRY(eval(*expr.kids[0])));
  } else {
    args.positional.push_back(*filter_input_);
  }
  if (expr.builtin == nullptr) {
    return fail("no {} named '{}'", expr.kind == ExprKind::filter ? "filter" : "test", expr.name);
  }
  TRY(arguments(expr, args));
  return expr.builtin->run(*this, args);
}

}  // namespace brass::jinja
