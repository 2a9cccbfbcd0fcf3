#include "text/grammar/ebnf.h"

#include "text/grammar/ebnf_lower.h"

namespace brass::grammar {

Ebnf::ExprId Ebnf::add(Expr expr) {
  exprs_.push_back(expr);
  return static_cast<ExprId>(exprs_.size() - 1);
}

Ebnf::ExprId Ebnf::text(std::string utf8) {
  texts_.push_back(std::move(utf8));
  return add({.kind = Kind::kText, .value = static_cast<int32_t>(texts_.size() - 1), .place = {}});
}

Ebnf::ExprId Ebnf::regex(RegexId regex, uint64_t weight) {
  return add({.kind = Kind::kRegex, .value = regex, .weight = weight, .place = {}});
}

Ebnf::ExprId Ebnf::add_list(Kind kind, std::span<const ExprId> parts) {
  const auto first = static_cast<int32_t>(children_.size());
  children_.insert(children_.end(), parts.begin(), parts.end());
  return add({.kind = kind, .first = first, .count = static_cast<int32_t>(parts.size()), .place = {}});
}

Ebnf::ExprId Ebnf::sequence(std::span<const ExprId> parts) {
  return parts.size() == 1 ? parts[0] : add_list(Kind::kSequence, parts);
}

Ebnf::ExprId Ebnf::choice(std::span<const ExprId> parts) {
  return parts.size() == 1 ? parts[0] : add_list(Kind::kChoice, parts);
}

Ebnf::ExprId Ebnf::repeat(ExprId body, int min, int max) {
  return add({.kind = Kind::kRepeat, .value = body, .min = min, .max = max, .place = {}});
}

Ebnf::ExprId Ebnf::reference(std::string_view name, Place place) {
  return add({.kind = Kind::kRule, .value = rule(name), .place = place});
}

Ebnf::RuleId Ebnf::rule(std::string_view name) {
  const auto [found, fresh] = names_.try_emplace(std::string(name), static_cast<RuleId>(rules_.size()));
  if (fresh) rules_.push_back({.name = std::string(name), .place = {}});
  return found->second;
}

Ebnf::RuleId Ebnf::find(std::string_view name) const {
  const auto found = names_.find(std::string(name));
  return found == names_.end() ? -1 : found->second;
}

Result<> Ebnf::define(std::string_view name, ExprId body, Place place) {
  Rule& r = rules_[static_cast<size_t>(rule(name))];
  if (r.body >= 0) return fail_at(place, "rule '{}' is defined on line {} already", name, r.place.line);
  r.body = body;
  r.place = place;
  return {};
}

Result<std::shared_ptr<const Grammar>> Ebnf::build(std::string_view root) && {
  for (const Expr& e : exprs_)
    if (e.kind == Kind::kRule && rules_[static_cast<size_t>(e.value)].body < 0)
      return fail_at(e.place, "rule '{}' is not defined", rules_[static_cast<size_t>(e.value)].name);
  const RuleId start = find(root);
  if (start < 0) return wrong_use("rule '{}', where a text begins, is not defined", root);
  const NodeId node = lower_rules(*this, *grammar_, start);
  if (Result<> frozen = grammar_->freeze(node); !frozen) {
    constexpr std::string_view kOwnName = "grammar: ";  // the notation says it for all of its errors
    Error error = std::move(frozen.error());
    if (error.message.starts_with(kOwnName)) error.message.erase(0, kOwnName.size());
    error.wrong_use = true;
    return std::unexpected(std::move(error));
  }
  return grammar_;
}

}  // namespace brass::grammar
