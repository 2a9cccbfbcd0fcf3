// Objects.
#include <algorithm>

#include "text/grammar/schema_emitter.h"

namespace brass::grammar::schema {
namespace {

constexpr size_t kMaxNamed = 8;
constexpr size_t kMaxSome = 4;
constexpr size_t kMaxStates = 4096;

// How far an object is, where some of its members must exist without being named.
struct Progress {
  uint32_t seen = 0, some = 0;
  int count = 0;  // not past where it still matters
  auto operator<=>(const Progress&) const = default;
};

}  // namespace

Result<NodeId> Emitter::object(const Case& of) {
  const std::optional<ObjectShape> shape = TRY(solver_.object(of));
  if (!shape) return grammar_.choice({});
  return shape->some.empty() ? plain_object(*shape) : object_with_some(of, *shape);
}

Result<NodeId> Emitter::plain_object(const ObjectShape& shape) {
  if (!options_.dialect.quote.empty()) return written_members(shape);
  const NodeId json = TRY(json_object(shape));
  if (!options_.dialect.python || !shape.some.empty()) return json;
  const NodeId python = TRY(written_members(shape));
  return grammar_.choice({json, python});
}

Result<NodeId> Emitter::json_object(const ObjectShape& shape) {
  Members members;
  for (const ObjectShape::Named& one : shape.named)
    members.named.push_back({f_.key_name(one.key), TRY(node(one.value)), one.required});
  for (const ObjectShape::Others& others : shape.others)
    members.patterns.push_back({spoken(sets_.strings.regex(others.keys)), TRY(node(others.value))});
  members.min = shape.min;
  members.max = shape.max;
  members.space = space_;
  members.ordered = options_.ordered;
  members.shortest_keys = !options_.escaped_keys;
  return grammar_.object(std::move(members));
}

// {key: value}, with bare keys where quotes are marks, else with keys between single quotes.
Result<NodeId> Emitter::written_members(const ObjectShape& shape) {
  class Writer : public MemberWriter {
   public:
    explicit Writer(Emitter& emitter) : emitter_(emitter) {}
    Result<NodeId> named(const std::string& key, const Value& value) override {
      const StringId one = emitter_.sets_.strings.values({key});
      const NodeId written = emitter_.bare() ? emitter_.key_text(one)
                                             : emitter_.single_quoted(emitter_.sets_.strings.regex(one));
      return emitter_.grammar_.sequence({written, emitter_.colon_, value.any});
    }
    Result<std::optional<AnyOrder::Key>> unnamed(RegexId keys, const Value& value) override {
      Grammar& grammar = emitter_.grammar_;
      AnyOrder::Key key;
      if (emitter_.bare()) {
        key.regex = emitter_.bare_key(keys);
        key.behind = grammar.sequence({emitter_.colon_, value.any});
      } else {
        key.regex = emitter_.spoken(keys);
        key.spelling = Spelling::kSingleQuoted;
        key.before = grammar.text("'");
        key.behind = grammar.sequence({grammar.text("'"), emitter_.colon_, value.any});
      }
      if (!emitter_.sets_.regexes.is_live(key.regex)) return std::optional<AnyOrder::Key>();
      return key;
    }
    NodeId separator() override { return emitter_.comma_; }

   private:
    Emitter& emitter_;
  };
  Writer writer(*this);
  const NodeId inside = TRY(written_object(shape, writer));
  return spaced({grammar_.text("{"), inside, grammar_.text("}")});
}

Result<MemberWriter::Value> Emitter::member_value(FormulaId value) {
  MemberWriter::Value out;
  out.any = TRY(node(value));
  const FormulaId rest = f_.all_of({value, f_.types(types::kAll & ~types::kString)});
  if (!solver_.is_nothing(rest)) out.no_strings = TRY(node(rest));
  const StringId strings = TRY(solver_.strings(value));
  if (!sets_.strings.is_none(strings)) out.strings = sets_.strings.regex(strings);
  return out;
}

Result<NodeId> Emitter::written_object(const ObjectShape& shape, MemberWriter& writer) {
  if (!shape.some.empty())
    return wrong_use(
        "{}: keyword 'not' (or what 'oneOf' and 'if' exclude) over 'additionalProperties', "
        "'patternProperties' or "
        "'propertyNames', where members are not written as JSON",
        solver_.last_place());
  AnyOrder order{.parts = {}, .min = shape.min, .max = shape.max, .separator = writer.separator()};
  bool all_written = true;
  int64_t possible = 0;
  for (const ObjectShape::Named& one : shape.named) {
    const NodeId part = TRY(writer.named(f_.key_name(one.key), TRY(member_value(one.value))));
    if (part < 0 && one.required)
      return wrong_use("{}: keyword 'required': '{}' cannot be written as the name of a parameter",
                       solver_.last_place(), f_.key_name(one.key));
    all_written &= part >= 0;
    if (part >= 0) order.parts.push_back({part, one.required, {}}), possible++;
  }
  for (const ObjectShape::Others& others : shape.others) {
    const RegexId keys = sets_.strings.regex(others.keys);
    const std::optional<AnyOrder::Key> key = TRY(writer.unnamed(keys, TRY(member_value(others.value))));
    all_written &= key.has_value();
    if (key) order.parts.push_back(grammar_.part_again(*key));
    if (key) possible += sets_.regexes.count_strings(key->regex, std::max(shape.min, 1));
  }
  if (possible < shape.min && !all_written)
    return wrong_use("{}: keyword 'minProperties': {} members cannot be written as parameters",
                     solver_.last_place(), shape.min);
  return grammar_.any_order(std::move(order));
}

Result<NodeId> Emitter::members(FormulaId id, MemberWriter& writer) {
  std::vector<NodeId> ways;
  for (const Case& one : TRY(solver_.cases(id, Composite::kObject))) {
    const std::optional<ObjectShape> shape = TRY(solver_.object(one));
    if (shape) ways.push_back(TRY(written_object(*shape, writer)));
  }
  TRY_VOID(define_all());
  return grammar_.choice(std::move(ways));
}

// Where only named keys can be the one that must exist, each is a case of its own.
Result<NodeId> Emitter::object_with_some(const Case& of, const ObjectShape& shape) {
  if (std::any_of(shape.others.begin(), shape.others.end(), [](const auto& one) { return one.some != 0; }))
    return counted_object(shape);
  const ObjectShape::Some some = shape.some[0];
  Case without;
  const FormulaId asked = f_.make({Kind::kSomeKey, some.keys, 0, 0, {some.value}});
  std::remove_copy(of.begin(), of.end(), std::back_inserter(without), asked);
  std::vector<NodeId> ways;
  for (const ObjectShape::Named& one : shape.named) {
    if (!solver_.in_key_set(f_.key_set(some.keys), f_.key_name(one.key))) continue;
    TRY_VOID(solver_.spend(64));
    Case with = without;
    with.push_back(f_.make({Kind::kRequired, one.key, 0, 0, {}}));
    with.push_back(f_.make({Kind::kKey, one.key, 0, 0, {some.value}}));
    std::sort(with.begin(), with.end());
    ways.push_back(TRY(object(with)));
  }
  return grammar_.choice(std::move(ways));
}

Result<std::vector<Emitter::Member>> Emitter::counted_members(const ObjectShape& shape) {
  if (shape.named.size() > kMaxNamed || shape.some.size() > kMaxSome)
    return wrong_use(
        "{}: keyword 'not' (or what 'oneOf' and 'if' exclude) over 'additionalProperties', "
        "'patternProperties' or "
        "'propertyNames' beside more than {} properties",
        solver_.last_place(), kMaxNamed);
  std::vector<Member> members;
  for (size_t i = 0; i < shape.named.size(); i++) {
    const ObjectShape::Named& one = shape.named[i];
    uint32_t some = 0;
    for (size_t j = 0; j < shape.some.size(); j++)
      if (solver_.in_key_set(f_.key_set(shape.some[j].keys), f_.key_name(one.key))) some |= 1u << j;
    const StringId name = sets_.strings.values({f_.key_name(one.key)});
    members.push_back({key_text(name), one.value, 1u << i, some, one.required});
  }
  for (const ObjectShape::Others& one : shape.others)
    members.push_back({key_text(one.keys), one.value, 0, one.some, false});
  return members;
}

// Member by member: which named ones were there, which demands are met.
Result<NodeId> Emitter::counted_object(const ObjectShape& shape) {
  const std::vector<Member> members = TRY(counted_members(shape));
  const uint32_t wanted = (1u << shape.some.size()) - 1;
  uint32_t required = 0;
  for (const Member& member : members) required |= member.required ? member.bit : 0;
  const int cap = std::max({1, shape.min, shape.max + 1});  // never that of the start again
  std::map<Progress, NodeId> rules{{Progress{}, fresh_rule("the members of an object")}};
  std::deque<Progress> open{Progress{}};
  const NodeId top = rules.begin()->second;
  while (!open.empty()) {
    const Progress at = open.front();
    open.pop_front();
    std::vector<NodeId> ways;
    if (at.some == wanted && (at.seen & required) == required && at.count >= shape.min)
      ways.push_back(grammar_.sequence({}));
    for (const Member& member : members) {
      if ((at.seen & member.bit) != 0 || (shape.max >= 0 && at.count >= shape.max)) continue;
      // Every set of open demands that this member may meet, with what its value then has to be.
      const uint32_t possible = member.some & ~at.some;
      for (uint32_t met = possible;; met = (met - 1) & possible) {
        const FormulaId value = demanded(shape, member, met);
        TRY_VOID(solver_.spend(8));
        if (!solver_.is_nothing(value)) {
          const Progress next{at.seen | member.bit, at.some | met, std::min(at.count + 1, cap)};
          auto [to, fresh] = rules.try_emplace(next, -1);
          if (fresh) to->second = fresh_rule("the members of an object"), open.push_back(next);
          std::vector<NodeId> parts{member.key, colon_, TRY(node(value)), to->second};
          if (rules.at(at) != top) parts.insert(parts.begin(), comma_);
          ways.push_back(grammar_.sequence(std::move(parts)));
        }
        if (met == 0) break;
      }
    }
    if (rules.size() > kMaxStates)
      return wrong_use("{}: keyword 'not' over members that are not named needs more than {} states",
                       solver_.last_place(), kMaxStates);
    grammar_.define(rules.at(at), grammar_.choice(std::move(ways)));
  }
  return spaced({grammar_.text("{"), top, grammar_.text("}")});
}

FormulaId Emitter::demanded(const ObjectShape& shape, const Member& member, uint32_t met) {
  std::vector<FormulaId> parts{member.value};
  for (size_t i = 0; i < shape.some.size(); i++)
    if ((met >> i & 1) != 0) parts.push_back(shape.some[i].value);
  return f_.all_of(std::move(parts));
}

}  // namespace brass::grammar::schema
