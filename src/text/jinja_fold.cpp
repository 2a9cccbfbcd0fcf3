#include "text/jinja_fold.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "text/jinja_interp.h"
#include "text/jinja_ops.h"

namespace brass::jinja {
namespace {

// Filters that ask for the render's context, and so wait for it.
bool needs_context(const std::string& filter) {
  static constexpr std::string_view kFilters[] = {"map", "select", "reject", "selectattr", "rejectattr"};
  return std::find(std::begin(kFilters), std::end(kFilters), filter) != std::end(kFilters);
}

// Whether Jinja would write the value into the code that it makes, in place of the expression.
bool replaces(const Value& value) {
  if (value.is_undefined()) return false;
  if (value.is_sequence()) {
    const auto& items = value.items().get();
    return std::all_of(items.begin(), items.end(), replaces);
  }
  if (value.is(Kind::dict)) {
    const auto& entries = value.mapping().entries();
    return std::all_of(entries.begin(), entries.end(),
                       [](const Dict::Entry& e) { return replaces(e.first) && replaces(e.second); });
  }
  return !value.is(Kind::object) || value.as<Range>() != nullptr;
}

RenderOptions budget() {
  RenderOptions options;  // what costs more than this is left to the render
  options.max_steps = 100'000;
  options.max_memory = 8 << 20;
  return options;
}

class Folder {
 public:
  explicit Folder(Folding how) : how_(how) { runtime_.set_autoescape(how.autoescape); }

  void run(Expr& root) {
    const std::optional<Value> value = fold(root);
    mark(root, how_.printed && value.has_value());
  }
  std::optional<bool> truth(const Expr& root) {
    const Folded value = fold(root);
    return value ? std::optional(truthy(*value)) : std::nullopt;
  }

 private:
  using Folded = std::optional<Value>;

  Folded fold(const Expr& e) {
    const auto see = [&](const ExprPtr& kid) {
      if (kid) fold(*kid);
    };
    for (const ExprPtr& kid : e.kids) see(kid);
    for (const Keyword& keyword : e.keywords) see(keyword.value);
    see(e.star);
    see(e.star_star);
    Folded value = compute(e);
    if (value) values_.emplace(&e, *value);
    return value;
  }

  Folded known(const Expr& e) const {
    const auto found = values_.find(&e);
    return found == values_.end() ? Folded() : Folded(found->second);
  }

  Folded compute(const Expr& e) {
    switch (e.kind) {
      case ExprKind::constant:
      case ExprKind::data:
        return e.value;
      case ExprKind::name:
      case ExprKind::ns_target:
      case ExprKind::call:
      case ExprKind::slice:  // with the item that it is the index of
        return {};
      case ExprKind::and_:
      case ExprKind::or_: {
        const Folded left = known(*e.kids[0]);
        if (!left || truthy(*left) == (e.kind == ExprKind::or_)) return left;
        return known(*e.kids[1]);
      }
      case ExprKind::conditional: {
        const Folded test = known(*e.kids[0]);
        if (!test) return {};
        if (truthy(*test)) return known(*e.kids[1]);
        return e.kids[2] ? known(*e.kids[2]) : Folded();
      }
      case ExprKind::compare:
        return comparison(e);
      case ExprKind::filter:
        if (how_.unknown || !e.kids[0] || e.builtin == nullptr || needs_context(e.name)) return {};
        return whole(e);
      case ExprKind::test:
        return how_.unknown || e.builtin == nullptr ? Folded() : whole(e);
      default:
        return whole(e);
    }
  }

  Folded comparison(const Expr& e) {
    Folded left = known(*e.kids[0]);
    for (size_t i = 0; left && i < e.compares.size(); i++) {
      Folded right = known(*e.kids[i + 1]);
      if (!right) return {};
      const auto holds = compare(runtime_, e.compares[i], *left, *right);
      if (!holds) return {};
      if (!*holds) return Value::boolean(false);
      left = std::move(right);
    }
    return left ? Folded(Value::boolean(true)) : Folded();
  }

  // The expression over the values of all its parts.
  Folded whole(const Expr& e) {
    const auto copy = shallow(e);
    if (!copy) return {};
    auto value = runtime_.evaluate(*copy);
    return value ? Folded(std::move(*value)) : Folded();
  }

  ExprPtr literal(const Expr& e) const {
    const Folded value = known(e);
    if (!value) return nullptr;
    auto out = std::make_unique<Expr>();
    out->kind = ExprKind::constant;
    out->value = *value;
    return out;
  }

  ExprPtr shallow(const Expr& e) const {
    auto out = std::make_unique<Expr>();
    out->kind = e.kind;
    out->op = e.op;
    out->value = e.value;
    out->name = e.name;
    out->builtin = e.builtin;
    out->folded = true;
    out->escape = how_.autoescape ? Escape::on : Escape::off;
    bool complete = true;
    const auto part = [&](const ExprPtr& kid) -> ExprPtr {
      if (!kid) return nullptr;
      ExprPtr copy = kid->kind == ExprKind::slice ? shallow(*kid) : literal(*kid);
      complete = complete && copy;
      return copy;
    };
    for (const ExprPtr& kid : e.kids) out->kids.push_back(part(kid));
    for (const Keyword& keyword : e.keywords) out->keywords.push_back({keyword.name, part(keyword.value)});
    out->star = part(e.star);
    out->star_star = part(e.star_star);
    return complete ? std::move(out) : nullptr;
  }

  // `folds`: what is around the expression is replaced by its value, or printed.
  void mark(Expr& e, bool folds) {
    const Folded value = known(e);
    e.folded = folds || (!how_.unknown && value && replaces(*value));
    const auto visit = [&](const ExprPtr& kid) {
      if (kid) mark(*kid, e.folded);
    };
    for (const ExprPtr& kid : e.kids) visit(kid);
    for (const Keyword& keyword : e.keywords) visit(keyword.value);
    visit(e.star);
    visit(e.star_star);
  }

  const Folding how_;
  const RenderOptions options_ = budget();
  const Tree tree_;
  Heap heap_{options_.max_memory};
  const Value nothing_ = Value::dict(frozen_dict());
  Interpreter runtime_{heap_, options_, tree_, nothing_};
  std::unordered_map<const Expr*, Value> values_;
};

}  // namespace

void mark_folded(Expr& root, Folding how) { Folder(how).run(root); }

std::optional<bool> constant_truth(const Expr& root, Folding how) { return Folder(how).truth(root); }

}  // namespace brass::jinja
