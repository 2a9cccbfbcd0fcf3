#include "text/jinja_fold.h"

#include <algorithm>

namespace brass::jinja {
namespace {

// Filters that ask for the render's context, and so wait for it.
bool needs_context(const std::string& filter) {
  static constexpr std::string_view kFilters[] = {"map", "select", "reject", "selectattr", "rejectattr"};
  return std::find(std::begin(kFilters), std::end(kFilters), filter) != std::end(kFilters);
}

bool constant(const Expr& e) {
  switch (e.kind) {
    case ExprKind::constant:
      return true;
    case ExprKind::name:
    case ExprKind::ns_target:
    case ExprKind::call:
      return false;
    case ExprKind::filter:
      if (!e.kids[0] || e.builtin == nullptr || needs_context(e.name)) return false;
      break;
    default:
      break;
  }
  const auto is = [](const ExprPtr& kid) { return !kid || constant(*kid); };
  return std::all_of(e.kids.begin(), e.kids.end(), is) && is(e.star) && is(e.star_star) &&
         std::all_of(e.keywords.begin(), e.keywords.end(), [&](const Keyword& k) { return is(k.value); });
}

// Whether a value of this kind is never undefined and holds nothing undefined: only such a value replaces its
// expression while Jinja compiles.
bool plain_result(ExprKind kind) {
  switch (kind) {
    case ExprKind::filter:
    case ExprKind::test:
    case ExprKind::not_:
    case ExprKind::concat:
    case ExprKind::binary:
    case ExprKind::compare:
      return true;
    default:
      return false;
  }
}

// `folds`: what is around the expression is replaced by its value, or printed.
void mark(Expr& e, bool folds) {
  const bool is = constant(e);
  e.folded = is && folds;
  const bool inside = is && (folds || plain_result(e.kind));
  const auto visit = [&](const ExprPtr& kid) {
    if (kid) mark(*kid, inside);
  };
  for (const ExprPtr& kid : e.kids) visit(kid);
  for (const Keyword& keyword : e.keywords) visit(keyword.value);
  visit(e.star);
  visit(e.star_star);
}

}  // namespace

void mark_folded(Expr& root, bool printed) { mark(root, printed); }

}  // namespace brass::jinja
