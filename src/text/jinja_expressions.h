// Parses expressions; the grammar of statements (jinja_parser.cpp) builds on it.
//
// Owns: ExprParser: the token stream, the grammar of expressions and assignment targets.
// Must not know: statements.
// Invariants: as in jinja_parser.h.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "text/jinja_parser.h"

namespace brass::jinja {

using Words = std::initializer_list<std::string_view>;

std::string describe(const Token& token);

class ExprParser {
 public:
  explicit ExprParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  // Tokens.
  const Token& now() const { return tokens_[next_]; }
  const Token& after() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  Token take() { return next_ + 1 < tokens_.size() ? std::move(tokens_[next_++]) : tokens_[next_]; }
  bool at_op(std::string_view op) const { return now().type == Tok::op && now().text == op; }
  bool at_name(std::string_view name) const { return now().type == Tok::name && now().text == name; }
  bool at_any(Words names) const {
    return now().type == Tok::name && std::find(names.begin(), names.end(), now().text) != names.end();
  }
  bool skip_op(std::string_view op) { return at_op(op) && (take(), true); }
  bool skip_name(std::string_view name) { return at_name(name) && (take(), true); }

  Result<> expect(Tok type, std::string_view what) {
    if (now().type != type) return fail_at(now().at, "expected {}, got {}", what, describe(now()));
    take();
    return {};
  }
  Result<> expect_op(std::string_view op) {
    if (!skip_op(op)) return fail_at(now().at, "expected '{}', got {}", op, describe(now()));
    return {};
  }
  Result<std::string> expect_name(std::string_view what) {
    if (now().type != Tok::name) return fail_at(now().at, "expected {}, got {}", what, describe(now()));
    return take().text;
  }

  struct Nesting {
    explicit Nesting(int& depth) : count(depth) { count++; }
    ~Nesting() { count--; }
    int& count;
  };
  Result<> check_nesting() const {
    if (nesting_ > kMaxNesting) return fail_at(now().at, "nested deeper than {} levels", kMaxNesting);
    return {};
  }

  // Nodes.
  static ExprPtr node(ExprKind kind, Position at) {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->at = at;
    return expr;
  }
  // Adds the depth of what the node holds; chains such as a+b+c… grow deep without brackets.
  static Result<ExprPtr> finish(ExprPtr expr) {
    int depth = 0;
    const auto see = [&](const ExprPtr& kid) {
      if (kid) depth = std::max<int>(depth, kid->depth);
    };
    for (const ExprPtr& kid : expr->kids) see(kid);
    for (const Keyword& keyword : expr->keywords) see(keyword.value);
    see(expr->star);
    see(expr->star_star);
    if (depth >= kMaxNesting)
      return fail_at(expr->at, "expression nested deeper than {} levels", kMaxNesting);
    expr->depth = static_cast<uint16_t>(depth + 1);
    return expr;
  }
  static Result<ExprPtr> binary(ExprKind kind, Position at, ExprPtr left, ExprPtr right) {
    ExprPtr expr = node(kind, at);
    expr->kids.push_back(std::move(left));
    expr->kids.push_back(std::move(right));
    return finish(std::move(expr));
  }
  static ExprPtr literal(Position at, Value value) {
    ExprPtr expr = node(ExprKind::constant, at);
    expr->value = std::move(value);
    return expr;
  }
  static Value constant_string(std::string_view text) { return frozen_string(text, true); }

  // Expressions.
  enum class Target { name_only, plain, with_namespace };
  Result<ExprPtr> assign_target(Target mode, std::string_view end = {});
  static Result<> check_target(const Expr& target);
  struct Tuple {
    bool primaries = false;   // only names and literals
    bool namespaces = false;  // 'name.attribute' as a target
    bool conditional = true;  // 'a if b' allowed
    bool parenthesized = false;
    std::string_view end = {};  // a name that ends the tuple
  };
  bool tuple_ends(const Tuple& mode) const;
  Result<ExprPtr> tuple(Tuple mode);
  Result<ExprPtr> expression(bool conditional = true);
  Result<ExprPtr> or_test();
  Result<ExprPtr> and_test();
  Result<ExprPtr> not_test();
  // Takes a comparison operator if one is next.
  bool comparison_op(CompareOp& op);
  Result<ExprPtr> comparison();
  Result<ExprPtr> arithmetic(ExprPtr left, BinaryOp op, Result<ExprPtr> (ExprParser::*operand)());
  Result<ExprPtr> sum();
  Result<ExprPtr> concat();
  Result<ExprPtr> product();
  Result<ExprPtr> power();
  Result<ExprPtr> unary_with_filters();
  Result<ExprPtr> unary();
  Result<ExprPtr> primary(bool namespaces);
  Result<ExprPtr> name(bool namespaces);
  Result<ExprPtr> list();
  Result<ExprPtr> dict();
  Result<ExprPtr> postfix(ExprPtr expr);
  Result<ExprPtr> filters_and_tests(ExprPtr expr);
  Result<ExprPtr> attribute(ExprPtr object);
  Result<ExprPtr> subscript(ExprPtr object);
  Result<ExprPtr> subscribed();
  // Appends arguments in brackets to a call, filter or test.
  Result<> arguments(Expr& out);
  Result<ExprPtr> call(ExprPtr callee);
  Result<std::string> dotted_name(std::string_view what);
  Result<ExprPtr> filter(ExprPtr input);
  Result<ExprPtr> filters(ExprPtr input);
  Result<ExprPtr> test(ExprPtr subject);
  bool starts_argument() const;

  std::vector<Token> tokens_;
  size_t next_ = 0;
  int nesting_ = 0;
};

}  // namespace brass::jinja
