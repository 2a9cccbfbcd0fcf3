#include "text/jinja_expressions.h"

namespace brass::jinja {

std::string describe(const Token& token) {
  switch (token.type) {
    case Tok::end_of_file:
      return "end of template";
    case Tok::block_end:
      return "end of statement block";
    case Tok::variable_end:
      return "end of print statement";
    case Tok::string:
      return "a string";
    case Tok::integer:
    case Tok::real:
      return "a number";
    default:
      return fmt::format("'{}'", token.text);
  }
}

Result<ExprPtr> ExprParser::assign_target(Target mode, std::string_view end) {
  ExprPtr target;
  if (mode == Target::name_only) {
    const Position at = now().at;
    target = node(ExprKind::name, at);
    target->name = TRY(expect_name("a name"));
  } else {
    target = TRY(tuple(Tuple{.primaries = true, .namespaces = mode == Target::with_namespace, .end = end}));
  }
  TRY(check_target(*target));
  return target;
}

Result<> ExprParser::check_target(const Expr& target) {
  if (target.kind == ExprKind::ns_target) return {};
  if (target.kind == ExprKind::tuple) {
    for (const ExprPtr& kid : target.kids) TRY(check_target(*kid));
    return {};
  }
  static constexpr std::string_view kReserved[] = {"true", "false", "none", "True", "False", "None"};
  if (target.kind != ExprKind::name ||
      std::find(std::begin(kReserved), std::end(kReserved), target.name) != std::end(kReserved)) {
    return fail_at(target.at, "can't assign to this expression");
  }
  return {};
}

bool ExprParser::tuple_ends(const Tuple& mode) const {
  return now().type == Tok::variable_end || now().type == Tok::block_end || at_op(")") ||
         (!mode.end.empty() && at_name(mode.end));
}

Result<ExprPtr> ExprParser::tuple(Tuple mode) {
  ExprPtr out = node(ExprKind::tuple, now().at);
  bool commas = false;
  while (true) {
    if (!out->kids.empty()) TRY(expect_op(","));
    if (tuple_ends(mode)) break;
    if (mode.primaries) {
      out->kids.push_back(TRY(primary(mode.namespaces)));
    } else {
      out->kids.push_back(TRY(expression(mode.conditional)));
    }
    if (!at_op(",")) break;
    commas = true;
  }
  if (!commas) {
    if (!out->kids.empty()) return std::move(out->kids[0]);
    if (!mode.parenthesized) return fail_at(now().at, "expected an expression, got {}", describe(now()));
  }
  return finish(std::move(out));
}

Result<ExprPtr> ExprParser::expression(bool conditional) {
  const Nesting nesting(nesting_);
  TRY(check_nesting());
  ExprPtr left = TRY(or_test());
  while (conditional && at_name("if")) {
    ExprPtr out = node(ExprKind::conditional, take().at);
    out->kids.push_back(TRY(or_test()));
    out->kids.push_back(std::move(left));
    ExprPtr otherwise;
    if (skip_name("else")) otherwise = TRY(expression());
    out->kids.push_back(std::move(otherwise));
    left = TRY(finish(std::move(out)));
  }
  return left;
}

Result<ExprPtr> ExprParser::or_test() {
  ExprPtr left = TRY(and_test());
  while (at_name("or")) {
    const Position at = take().at;
    ExprPtr right = TRY(and_test());
    left = TRY(binary(ExprKind::or_, at, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> ExprParser::and_test() {
  ExprPtr left = TRY(not_test());
  while (at_name("and")) {
    const Position at = take().at;
    ExprPtr right = TRY(not_test());
    left = TRY(binary(ExprKind::and_, at, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> ExprParser::not_test() {
  if (!at_name("not")) return comparison();
  const Nesting nesting(nesting_);
  TRY(check_nesting());
  ExprPtr out = node(ExprKind::not_, take().at);
  out->kids.push_back(TRY(not_test()));
  return finish(std::move(out));
}

// Takes a comparison operator if one is next.
bool ExprParser::comparison_op(CompareOp& op) {
  static constexpr std::pair<std::string_view, CompareOp> kOps[] = {
      {"==", CompareOp::eq}, {"!=", CompareOp::ne}, {"<", CompareOp::lt},
      {"<=", CompareOp::le}, {">", CompareOp::gt},  {">=", CompareOp::ge}};
  for (const auto& [symbol, value] : kOps) {
    if (skip_op(symbol)) return op = value, true;
  }
  if (skip_name("in")) return op = CompareOp::in, true;
  if (at_name("not") && after().type == Tok::name && after().text == "in") {
    take(), take();
    return op = CompareOp::not_in, true;
  }
  return false;
}

Result<ExprPtr> ExprParser::comparison() {
  const Position at = now().at;
  ExprPtr left = TRY(sum());
  CompareOp op{};
  if (!comparison_op(op)) return left;
  ExprPtr out = node(ExprKind::compare, at);
  out->kids.push_back(std::move(left));
  do {
    out->compares.push_back(op);
    out->kids.push_back(TRY(sum()));
  } while (comparison_op(op));
  return finish(std::move(out));
}

Result<ExprPtr> ExprParser::arithmetic(ExprPtr left, BinaryOp op, Result<ExprPtr> (ExprParser::*operand)()) {
  const Position at = take().at;
  ExprPtr right = TRY((this->*operand)());
  ExprPtr out = TRY(binary(ExprKind::binary, at, std::move(left), std::move(right)));
  out->op = op;
  return out;
}

Result<ExprPtr> ExprParser::sum() {
  ExprPtr left = TRY(concat());
  while (at_op("+") || at_op("-")) {
    const BinaryOp op = at_op("+") ? BinaryOp::add : BinaryOp::sub;
    left = TRY(arithmetic(std::move(left), op, &ExprParser::concat));
  }
  return left;
}

Result<ExprPtr> ExprParser::concat() {
  ExprPtr left = TRY(product());
  if (!at_op("~")) return left;
  ExprPtr out = node(ExprKind::concat, now().at);
  out->kids.push_back(std::move(left));
  while (skip_op("~")) out->kids.push_back(TRY(product()));
  return finish(std::move(out));
}

Result<ExprPtr> ExprParser::product() {
  ExprPtr left = TRY(power());
  while (at_op("*") || at_op("/") || at_op("//") || at_op("%")) {
    const BinaryOp op = at_op("*")   ? BinaryOp::mul
                        : at_op("/") ? BinaryOp::div
                        : at_op("%") ? BinaryOp::mod
                                     : BinaryOp::floordiv;
    left = TRY(arithmetic(std::move(left), op, &ExprParser::power));
  }
  return left;
}

// To the left, unlike Python.
Result<ExprPtr> ExprParser::power() {
  ExprPtr left = TRY(unary_with_filters());
  while (at_op("**")) left = TRY(arithmetic(std::move(left), BinaryOp::pow, &ExprParser::unary_with_filters));
  return left;
}

Result<ExprPtr> ExprParser::unary_with_filters() {
  ExprPtr expr = TRY(unary());
  return filters_and_tests(std::move(expr));
}

Result<ExprPtr> ExprParser::unary() {
  if (!at_op("-") && !at_op("+")) {
    ExprPtr expr = TRY(primary(false));
    return postfix(std::move(expr));
  }
  const Nesting nesting(nesting_);
  TRY(check_nesting());
  ExprPtr out = node(at_op("-") ? ExprKind::negate : ExprKind::plus, now().at);
  take();
  out->kids.push_back(TRY(unary()));
  out = TRY(finish(std::move(out)));
  return postfix(std::move(out));
}

Result<ExprPtr> ExprParser::primary(bool namespaces) {
  const Position at = now().at;
  switch (now().type) {
    case Tok::name:
      return name(namespaces);
    case Tok::string: {
      std::string text = take().text;
      while (now().type == Tok::string) text += take().text;
      return literal(at, constant_string(text));
    }
    case Tok::integer:
      return literal(at, Value::integer(take().integer));
    case Tok::real:
      return literal(at, Value::real(take().real));
    case Tok::op:
      break;
    default:
      return fail_at(at, "unexpected {}", describe(now()));
  }
  if (at_op("[")) return list();
  if (at_op("{")) return dict();
  if (!skip_op("(")) return fail_at(at, "unexpected {}", describe(now()));
  ExprPtr out = TRY(tuple(Tuple{.parenthesized = true}));
  TRY(expect_op(")"));
  return out;
}

Result<ExprPtr> ExprParser::name(bool namespaces) {
  Token token = take();
  const std::string& text = token.text;
  if (text == "true" || text == "True") return literal(token.at, Value::boolean(true));
  if (text == "false" || text == "False") return literal(token.at, Value::boolean(false));
  if (text == "none" || text == "None") return literal(token.at, Value::none());
  ExprPtr out = node(ExprKind::name, token.at);
  out->name = text;
  out->value = constant_string(text);
  if (namespaces && skip_op(".")) {
    out->kind = ExprKind::ns_target;
    const std::string attribute = TRY(expect_name("an attribute name"));
    out->value = constant_string(attribute);
  }
  return out;
}

Result<ExprPtr> ExprParser::list() {
  ExprPtr out = node(ExprKind::list, take().at);
  while (!at_op("]")) {
    if (!out->kids.empty()) TRY(expect_op(","));
    if (at_op("]")) break;
    out->kids.push_back(TRY(expression()));
  }
  take();
  return finish(std::move(out));
}

Result<ExprPtr> ExprParser::dict() {
  ExprPtr out = node(ExprKind::dict, take().at);
  while (!at_op("}")) {
    if (!out->kids.empty()) TRY(expect_op(","));
    if (at_op("}")) break;
    out->kids.push_back(TRY(expression()));
    TRY(expect_op(":"));
    out->kids.push_back(TRY(expression()));
  }
  take();
  return finish(std::move(out));
}

Result<ExprPtr> ExprParser::postfix(ExprPtr expr) {
  while (true) {
    if (at_op(".")) {
      expr = TRY(attribute(std::move(expr)));
    } else if (at_op("[")) {
      expr = TRY(subscript(std::move(expr)));
    } else if (at_op("(")) {
      expr = TRY(call(std::move(expr)));
    } else {
      return expr;
    }
  }
}

Result<ExprPtr> ExprParser::filters_and_tests(ExprPtr expr) {
  while (true) {
    if (at_op("|")) {
      expr = TRY(filters(std::move(expr)));
    } else if (at_name("is")) {
      expr = TRY(test(std::move(expr)));
    } else if (at_op("(")) {
      expr = TRY(call(std::move(expr)));
    } else {
      return expr;
    }
  }
}

Result<ExprPtr> ExprParser::attribute(ExprPtr object) {
  const Position at = take().at;
  const bool index = now().type == Tok::integer;
  if (!index && now().type != Tok::name) return fail_at(now().at, "expected a name or number after '.'");
  Token token = take();
  ExprPtr out = node(index ? ExprKind::item : ExprKind::attribute, at);
  out->kids.push_back(std::move(object));
  if (index) {
    out->kids.push_back(literal(token.at, Value::integer(token.integer)));
  } else {
    out->value = constant_string(token.text);
  }
  return finish(std::move(out));
}

Result<ExprPtr> ExprParser::subscript(ExprPtr object) {
  ExprPtr out = node(ExprKind::item, take().at);
  out->kids.push_back(std::move(object));
  ExprPtr index = node(ExprKind::tuple, out->at);
  while (!at_op("]")) {
    if (!index->kids.empty()) TRY(expect_op(","));
    index->kids.push_back(TRY(subscribed()));
  }
  take();
  if (index->kids.size() == 1) {
    out->kids.push_back(std::move(index->kids[0]));
  } else {
    out->kids.push_back(TRY(finish(std::move(index))));
  }
  return finish(std::move(out));
}

Result<ExprPtr> ExprParser::subscribed() {
  ExprPtr slice = node(ExprKind::slice, now().at);
  ExprPtr start;
  if (!at_op(":")) {
    start = TRY(expression());
    if (!at_op(":")) return start;
  }
  slice->kids.push_back(std::move(start));
  for (int i = 0; i < 2; i++) {
    ExprPtr part;
    if (skip_op(":") && !at_op(":") && !at_op("]") && !at_op(",")) part = TRY(expression());
    slice->kids.push_back(std::move(part));
  }
  return finish(std::move(slice));
}

// Appends arguments in brackets to a call, filter or test.
Result<> ExprParser::arguments(Expr& out) {
  const Position at = now().at;
  const auto misplaced = [&] { return fail_at(at, "arguments in an order that a call does not allow"); };
  TRY(expect_op("("));
  bool first = true;
  while (!at_op(")")) {
    if (!first) TRY(expect_op(","));
    if (at_op(")")) break;
    first = false;
    if (skip_op("*")) {
      if (out.star || out.star_star) return misplaced();
      out.star = TRY(expression());
    } else if (skip_op("**")) {
      if (out.star_star) return misplaced();
      out.star_star = TRY(expression());
    } else if (now().type == Tok::name && after().type == Tok::op && after().text == "=") {
      if (out.star_star) return misplaced();
      Value name = constant_string(take().text);
      take();
      ExprPtr value = TRY(expression());
      out.keywords.push_back({std::move(name), std::move(value)});
    } else {
      if (out.star || out.star_star || !out.keywords.empty()) return misplaced();
      out.kids.push_back(TRY(expression()));
    }
  }
  take();
  return {};
}

Result<ExprPtr> ExprParser::call(ExprPtr callee) {
  ExprPtr out = node(ExprKind::call, now().at);
  out->kids.push_back(std::move(callee));
  TRY(arguments(*out));
  return finish(std::move(out));
}

Result<std::string> ExprParser::dotted_name(std::string_view what) {
  std::string name = TRY(expect_name(what));
  while (skip_op(".")) {
    const std::string part = TRY(expect_name(what));
    name += "." + part;
  }
  return name;
}

Result<ExprPtr> ExprParser::filter(ExprPtr input) {
  ExprPtr out = node(ExprKind::filter, now().at);
  out->name = TRY(dotted_name("a filter name"));
  out->kids.push_back(std::move(input));
  if (at_op("(")) TRY(arguments(*out));
  return finish(std::move(out));
}

Result<ExprPtr> ExprParser::filters(ExprPtr input) {
  while (skip_op("|")) input = TRY(filter(std::move(input)));
  return input;
}

Result<ExprPtr> ExprParser::test(ExprPtr subject) {
  const Position at = take().at;
  const bool negated = skip_name("not");
  ExprPtr out = node(ExprKind::test, at);
  out->name = TRY(dotted_name("a test name"));
  out->kids.push_back(std::move(subject));
  if (at_op("(")) {
    TRY(arguments(*out));
  } else if (starts_argument()) {
    if (at_name("is")) return fail_at(now().at, "tests cannot be chained with 'is'");
    ExprPtr argument = TRY(primary(false));
    out->kids.push_back(TRY(postfix(std::move(argument))));
  }
  out = TRY(finish(std::move(out)));
  if (!negated) return out;
  ExprPtr inverse = node(ExprKind::not_, at);
  inverse->kids.push_back(std::move(out));
  return finish(std::move(inverse));
}

bool ExprParser::starts_argument() const {
  switch (now().type) {
    case Tok::name:
      return !at_any({"else", "or", "and"});
    case Tok::string:
    case Tok::integer:
    case Tok::real:
      return true;
    default:
      return at_op("[") || at_op("{");
  }
}

}  // namespace brass::jinja
