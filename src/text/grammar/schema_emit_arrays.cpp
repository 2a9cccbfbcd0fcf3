// Arrays.
#include <algorithm>

#include "text/grammar/schema_emitter.h"

namespace brass::grammar::schema {
namespace {

constexpr size_t kMaxStates = 4096;

// How far an array is, where its items are counted.
struct Progress {
  int length = 0;           // not past where it still matters
  std::vector<int> counts;  // of each `contains`, likewise
  uint32_t used = 0;        // which of the listed values were there
  auto operator<=>(const Progress&) const = default;
};

// One way for the next item.
struct Step {
  std::vector<FormulaId> item;
  Progress to;
};

class Counter {
 public:
  Counter(const ArrayShape& shape, Formulas& f, std::vector<FormulaId> values)
      : shape_(shape), f_(f), values_(std::move(values)) {
    cap_ = std::max({1, shape.min, shape.max + 1, static_cast<int>(shape.prefix.size())});
    for (const auto& one : shape.contains) cap_ = std::max(cap_, one.from);
  }

  bool accepts(const Progress& at) const {
    if (at.length < shape_.min) return false;
    for (size_t i = 0; i < at.counts.size(); i++)
      if (at.counts[i] < shape_.contains[i].min) return false;
    return true;
  }

  std::vector<Step> steps(const Progress& at) const {
    if (shape_.max >= 0 && at.length >= shape_.max) return {};
    const auto index = static_cast<size_t>(at.length);
    Step first{{index < shape_.prefix.size() ? shape_.prefix[index] : shape_.rest}, at};
    first.to.length = std::min(at.length + 1, cap_);
    std::vector<Step> out{std::move(first)};
    for (size_t i = 0; i < at.counts.size(); i++) out = counted(out, i, at.length);
    return shape_.unique ? unused(out) : out;
  }

 private:
  // Each way, with the item counted or not.
  std::vector<Step> counted(const std::vector<Step>& ways, size_t which, int index) const {
    const ArrayShape::Contains& rule = shape_.contains[which];
    std::vector<Step> out;
    for (const Step& way : ways) {
      const bool enough = rule.max < 0 && way.to.counts[which] >= rule.min;
      if (index < rule.from || enough) {
        out.push_back(way);
        continue;
      }
      Step yes = way, no = way;
      yes.item.push_back(rule.item);
      yes.to.counts[which]++;
      no.item.push_back(f_.negate(rule.item));
      if (rule.max < 0 || yes.to.counts[which] <= rule.max) out.push_back(std::move(yes));
      out.push_back(std::move(no));
    }
    return out;
  }

  std::vector<Step> unused(const std::vector<Step>& ways) const {
    std::vector<Step> out;
    for (const Step& way : ways) {
      for (size_t i = 0; i < values_.size(); i++) {
        if ((way.to.used >> i & 1) != 0) continue;
        Step step = way;
        step.item.push_back(values_[i]);
        step.to.used |= 1u << i;
        out.push_back(std::move(step));
      }
    }
    return out;
  }

  const ArrayShape& shape_;
  Formulas& f_;
  std::vector<FormulaId> values_;
  int cap_ = 0;
};

}  // namespace

// `body` begins and ends with an item.
NodeId Emitter::brackets(NodeId body, bool may_be_empty) {
  std::vector<NodeId> ways{spaced({body, grammar_.text("]")})};
  if (may_be_empty) ways.push_back(grammar_.text("]"));
  return spaced({grammar_.text("["), grammar_.choice(std::move(ways))});
}

Result<NodeId> Emitter::array(const Case& of) {
  const std::optional<ArrayShape> shape = TRY(solver_.array(of));
  if (!shape) return grammar_.choice({});
  if (shape->repeats)
    return wrong_use("{}: keyword 'not' over 'uniqueItems' is not supported", reader_.pointer(shape->place));
  if (shape->unique || !shape->contains.empty()) return counted_array(*shape);
  return plain_array(*shape);
}

Result<NodeId> Emitter::plain_array(const ArrayShape& shape) {
  const auto fixed = static_cast<int>(shape.prefix.size());
  const int more = shape.max < 0 ? -1 : shape.max - fixed;  // items after the prefix
  // From the back: what may follow the first i items.
  NodeId tail = -1;
  if (more != 0) {
    const NodeId item = TRY(node(shape.rest));
    const int min = std::max(shape.min - fixed, 0);
    if (fixed == 0) return brackets(grammar_.repeat(item, std::max(min, 1), more, comma_), shape.min == 0);
    tail = grammar_.repeat(grammar_.sequence({comma_, item}), min, more);
  }
  std::vector<NodeId> needed;  // in the order of the text
  for (int i = fixed - 1; i >= 0; i--) {
    std::vector<NodeId> rest{TRY(node(shape.prefix[static_cast<size_t>(i)]))};
    if (i > 0) rest.insert(rest.begin(), comma_);
    if (i < shape.min) {
      needed.insert(needed.begin(), rest.begin(), rest.end());
      continue;
    }
    if (tail >= 0) rest.push_back(tail);
    tail = grammar_.sequence(std::move(rest));
    if (i > 0) tail = grammar_.choice({tail, grammar_.sequence({})});
  }
  if (needed.empty() && tail < 0) return spaced({grammar_.text("["), grammar_.text("]")});
  if (tail >= 0) needed.push_back(tail);
  return brackets(grammar_.sequence(std::move(needed)), shape.min == 0);
}

Result<NodeId> Emitter::counted_array(const ArrayShape& shape) {
  std::vector<FormulaId> values;
  if (shape.unique) {
    std::vector<FormulaId> items = shape.prefix;
    if (shape.max < 0 || shape.max > static_cast<int>(shape.prefix.size())) items.push_back(shape.rest);
    const auto listed = TRY(solver_.listed(f_.any_of(std::move(items))));
    if (!listed && shape.prefix.empty() && shape.contains.empty()) return distinct_array(shape);
    if (!listed) return not_distinct(shape);
    values = *listed;
  }
  const Counter counter(shape, f_, std::move(values));
  Progress start;
  start.counts.assign(shape.contains.size(), 0);
  std::map<Progress, NodeId> rules{{start, fresh_rule("the items of an array")}};
  std::deque<Progress> open{start};
  const NodeId top = rules.at(start);
  while (!open.empty()) {
    const Progress at = open.front();
    open.pop_front();
    std::vector<NodeId> ways;
    const bool first = at == start;
    if (!first && counter.accepts(at)) ways.push_back(grammar_.sequence({}));
    for (const Step& step : counter.steps(at)) {
      TRY_VOID(solver_.spend(8));
      const FormulaId item = f_.all_of(step.item);
      if (solver_.is_nothing(item)) continue;
      auto [to, fresh] = rules.try_emplace(step.to, -1);
      if (fresh) to->second = fresh_rule("the items of an array"), open.push_back(step.to);
      std::vector<NodeId> parts{TRY(node(item)), to->second};
      if (!first) parts.insert(parts.begin(), comma_);
      ways.push_back(grammar_.sequence(std::move(parts)));
    }
    if (rules.size() > kMaxStates)
      return wrong_use("{}: keywords 'contains' and 'uniqueItems' need more than {} states",
                       solver_.last_place(), kMaxStates);
    grammar_.define(rules.at(at), grammar_.choice(std::move(ways)));
  }
  return brackets(top, counter.accepts(start));
}

}  // namespace brass::grammar::schema
