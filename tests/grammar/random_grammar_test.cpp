// Small random grammars against an oracle of another kind: a text is in the language, or begins one of its texts, if the
// relation of places that the grammar can lead between holds the way through it (Bar-Hillel, Perles, Shamir, 1961).
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <bitset>
#include <map>

#include "base/rng.h"
#include "grammar_support.h"
#include "sanitized.h"
#include "text/grammar/gbnf.h"

namespace brass::grammar {
namespace {

constexpr std::string_view kLetters = "abc";
constexpr size_t kMostPlaces = 8;

struct Expr {
  enum class Kind { kText, kClass, kSequence, kChoice, kRepeat, kRule, kAnyOrder };
  Kind kind = Kind::kText;
  std::string text;         // kText, kClass: its letters
  std::vector<Expr> parts;  // kRepeat: the body and, perhaps, a separator; kAnyOrder: parts, last a separator
  int min = 0, max = -1;    // kRepeat, kAnyOrder
  int rule = -1;
  bool distinct = false;  // kAnyOrder: no key comes twice
  std::vector<bool> required,
      again;  // kAnyOrder; what comes again is a text, a class of keys and what is behind
};

struct RandomGrammar {
  std::vector<Expr> rules;  // the first is the root
};

// ---- the oracle

// Pairs of places between which a text leads.
struct Relation {
  std::array<std::bitset<kMostPlaces>, kMostPlaces> to;
  bool operator==(const Relation&) const = default;
};

Relation identity() {
  Relation out;
  for (size_t i = 0; i < kMostPlaces; i++) out.to[i][i] = true;
  return out;
}

Relation both(const Relation& a, const Relation& b) {
  Relation out = a;
  for (size_t i = 0; i < kMostPlaces; i++) out.to[i] |= b.to[i];
  return out;
}

Relation then(const Relation& a, const Relation& b) {
  Relation out;
  for (size_t i = 0; i < kMostPlaces; i++)
    for (size_t j = 0; j < kMostPlaces; j++)
      if (a.to[i][j]) out.to[i] |= b.to[j];
  return out;
}

class Oracle {
 public:
  // `open`: whatever follows the text is read, too.
  Oracle(const RandomGrammar& grammar, std::string_view text, bool open)
      : grammar_(grammar), text_(text), open_(open), rules_(grammar.rules.size()) {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < rules_.size(); i++) {
        const Relation next = both(rules_[i], of(grammar_.rules[i]));
        changed |= next != rules_[i];
        rules_[i] = next;
      }
    }
  }
  bool holds() const { return rules_[0].to[0][text_.size()]; }

 private:
  Relation letter(char c) const {
    Relation out;
    for (size_t i = 0; i < text_.size(); i++) out.to[i][i + 1] = text_[i] == c;
    if (open_) out.to[text_.size()][text_.size()] = true;
    return out;
  }

  // `item`, as often as is said; between the turns `separator`.
  static Relation repeated(const Relation& item, const Relation& separator, int min, int max) {
    Relation out, turns = identity();
    if (min == 0) out = identity();
    const int last = max < 0 ? std::max(min, 1) : max;
    for (int turn = 1; turn <= last; turn++) {
      turns = turn == 1 ? item : then(then(turns, separator), item);
      if (turn >= min) out = both(out, turns);
    }
    for (Relation before; max < 0 && before != turns;) {
      before = turns;
      turns = both(turns, then(then(turns, separator), item));
      out = both(out, turns);
    }
    return out;
  }

  // What may come once, and each key of what may come again.
  struct Unit {
    Relation relation;
    bool required, again;
  };
  std::vector<Unit> units(const Expr& e) const {
    std::vector<Unit> out;
    for (size_t i = 0; i < e.required.size(); i++) {
      if (!e.again[i]) {
        out.push_back({of(e.parts[i]), e.required[i], false});
        continue;
      }
      const std::vector<Expr>& parts = e.parts[i].parts;
      for (const char key : parts[1].text)
        out.push_back({then(then(of(parts[0]), letter(key)), of(parts[2])), false, true});
    }
    return out;
  }

  // Until there are `min`, none comes twice.
  Relation any_order(const Expr& e) const {
    const int enough = std::max(e.max, 0) + 1;
    std::map<std::pair<size_t, int>, Relation> reached = {
        {{0, 0}, identity()}};  // units that were there, the count of all
    const std::vector<Unit> all = units(e);
    const Relation separator = of(e.parts.back());
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [place, relation] : std::map(reached)) {
        const auto [used, count] = place;
        if (e.max >= 0 && count >= e.max) continue;
        for (size_t i = 0; i < all.size(); i++) {
          const bool there = (used >> i & 1) != 0;
          if (there && (!all[i].again || e.distinct || std::popcount(used) < e.min)) continue;
          Relation& next = reached[{used | size_t{1} << i, std::min(count + 1, enough)}];
          const Relation more =
              both(next, then(count == 0 ? relation : then(relation, separator), all[i].relation));
          changed |= more != next;
          next = more;
        }
      }
    }
    Relation out;
    for (const auto& [place, relation] : reached) {
      bool whole = std::popcount(place.first) >= e.min;
      for (size_t i = 0; i < all.size(); i++) whole &= !all[i].required || (place.first >> i & 1) != 0;
      if (whole) out = both(out, relation);
    }
    return out;
  }

  Relation of(const Expr& e) const {
    Relation out;
    switch (e.kind) {
      case Expr::Kind::kText:
        out = identity();
        for (const char c : e.text) out = then(out, letter(c));
        return out;
      case Expr::Kind::kClass:
        for (const char c : e.text) out = both(out, letter(c));
        return out;
      case Expr::Kind::kSequence:
        out = identity();
        for (const Expr& part : e.parts) out = then(out, of(part));
        return out;
      case Expr::Kind::kChoice:
        for (const Expr& part : e.parts) out = both(out, of(part));
        return out;
      case Expr::Kind::kRepeat:
        return repeated(of(e.parts[0]), e.parts.size() > 1 ? of(e.parts[1]) : identity(), e.min, e.max);
      case Expr::Kind::kRule:
        return rules_[static_cast<size_t>(e.rule)];
      case Expr::Kind::kAnyOrder:
        return any_order(e);
    }
    return out;
  }

  const RandomGrammar& grammar_;
  std::string_view text_;
  bool open_;
  std::vector<Relation> rules_;
};

// ---- random grammars

class Maker {
 public:
  // `nodes`: with what only a Grammar can say, not a notation.
  Maker(Rng& rng, bool nodes) : rng_(rng), nodes_(nodes) {}

  RandomGrammar make() {
    rules_ = 1 + static_cast<int>(rng_.below(4));
    RandomGrammar out;
    for (int i = 0; i < rules_; i++) {
      Expr rule{.kind = Expr::Kind::kChoice, .text = {}, .parts = {}, .required = {}, .again = {}};
      for (uint64_t ways = 1 + rng_.below(3); ways > 0; ways--) rule.parts.push_back(sequence(0));
      out.rules.push_back(std::move(rule));
    }
    return out;
  }

 private:
  Expr text(bool maybe_empty) {
    Expr e;
    for (uint64_t n = (maybe_empty ? 0 : 1) + rng_.below(2); n > 0; n--) e.text += kLetters[rng_.below(3)];
    return e;
  }

  Expr sequence(int depth) {
    Expr e{.kind = Expr::Kind::kSequence, .text = {}, .parts = {}, .required = {}, .again = {}};
    for (uint64_t n = rng_.below(4); n > 0; n--) e.parts.push_back(item(depth));
    return e;
  }

  Expr item(int depth) {
    const uint64_t kind = rng_.below(depth < 2 ? (nodes_ ? 10 : 8) : 4);
    if (kind <= 1) return text(false);
    Expr e;
    if (kind == 2) {
      e.kind = Expr::Kind::kClass;
      e.text = rng_.below(2) == 0 ? "ab" : "bc";
      return e;
    }
    if (kind <= 5) {
      e.kind = Expr::Kind::kRule;
      e.rule = static_cast<int>(rng_.below(static_cast<uint64_t>(rules_)));
      return e;
    }
    if (kind == 9) return any_order(depth);
    if (kind == 6) {
      e.kind = Expr::Kind::kChoice;
      for (uint64_t n = 2 + rng_.below(2); n > 0; n--) e.parts.push_back(sequence(depth + 1));
      return e;
    }
    e.kind = Expr::Kind::kRepeat;
    e.min = static_cast<int>(rng_.below(3));
    e.max = rng_.below(2) == 0 ? -1 : e.min + static_cast<int>(rng_.below(3));
    if (e.max == 0) e.max = 1;
    e.parts.push_back(item(depth + 1));
    if (kind == 8) e.parts.push_back(rng_.below(3) == 0 ? item(depth + 1) : text(false));
    return e;
  }

  Expr any_order(int depth) {
    Expr e{.kind = Expr::Kind::kAnyOrder, .text = {}, .parts = {}, .required = {}, .again = {}};
    for (uint64_t n = 1 + rng_.below(3); n > 0; n--) {
      Expr part{
          .kind = Expr::Kind::kSequence, .text = {}, .parts = {text(false)}, .required = {}, .again = {}};
      const bool again = rng_.below(3) == 0;
      if (again) {
        Expr keys{.kind = Expr::Kind::kClass, .text = {}, .parts = {}, .required = {}, .again = {}};
        keys.text = rng_.below(3) == 0 ? "abc" : rng_.below(2) == 0 ? "ab" : "c";
        Expr behind = sequence(depth + 1);
        behind.parts.insert(behind.parts.begin(), text(false));
        part.parts.push_back(std::move(keys));
        part.parts.push_back(std::move(behind));
      } else {
        part.parts.push_back(item(depth + 1));
      }
      e.parts.push_back(std::move(part));
      e.required.push_back(!again && rng_.below(3) == 0);
      e.again.push_back(again);
    }
    e.min = static_cast<int>(rng_.below(3));
    e.max = rng_.below(2) == 0 ? -1 : e.min + 1;
    e.distinct = rng_.below(2) == 0;
    e.parts.push_back(rng_.below(2) == 0 ? text(false) : text(true));
    return e;
  }

  Rng& rng_;
  bool nodes_;
  int rules_ = 1;
};

// ---- the same, as a Grammar and in GBNF

NodeId node_of(Grammar& g, const Expr& e) {
  std::vector<NodeId> parts;
  for (const Expr& part : e.parts) parts.push_back(node_of(g, part));
  switch (e.kind) {
    case Expr::Kind::kText:
      return g.text(e.text);
    case Expr::Kind::kClass:
      return g.terminal(parsed(g.regexes(), "[" + e.text + "]"));
    case Expr::Kind::kSequence:
      return g.sequence(parts);
    case Expr::Kind::kChoice:
      return g.choice(parts);
    case Expr::Kind::kRepeat:
      return g.repeat(parts[0], e.min, e.max, parts.size() > 1 ? parts[1] : -1);
    case Expr::Kind::kRule:
      return g.rule(fmt::format("r{}", e.rule));
    case Expr::Kind::kAnyOrder: {
      AnyOrder order{
          .parts = {}, .min = e.min, .max = e.max, .separator = parts.back(), .distinct = e.distinct};
      for (size_t i = 0; i < e.required.size(); i++) {
        if (!e.again[i]) {
          order.parts.push_back({parts[i], e.required[i], {}});
          continue;
        }
        const std::vector<Expr>& key = e.parts[i].parts;
        order.parts.push_back(g.part_again({.before = node_of(g, key[0]),
                                            .behind = node_of(g, key[2]),
                                            .regex = parsed(g.regexes(), "[" + key[1].text + "]")}));
      }
      return g.any_order(std::move(order));
    }
  }
  return -1;
}

std::string gbnf_of(const Expr& e) {
  std::string out;
  switch (e.kind) {
    case Expr::Kind::kText:
      return "\"" + e.text + "\"";
    case Expr::Kind::kClass:
      return "[" + e.text + "]";
    case Expr::Kind::kSequence:
      if (e.parts.empty()) return "\"\"";
      for (const Expr& part : e.parts) out += (out.empty() ? "" : " ") + gbnf_of(part);
      return out;
    case Expr::Kind::kChoice:
      for (const Expr& part : e.parts) out += (out.empty() ? "" : " | ") + gbnf_of(part);
      return "(" + out + ")";
    case Expr::Kind::kRepeat:
      return fmt::format("({}){{{},{}}}", gbnf_of(e.parts[0]), e.min, e.max < 0 ? "" : std::to_string(e.max));
    case Expr::Kind::kRule:
      return e.rule == 0 ? "root" : fmt::format("r{}", e.rule);
    case Expr::Kind::kAnyOrder:
      break;
  }
  return out;
}

std::string shown(const RandomGrammar& grammar) {
  std::string out;
  for (size_t i = 0; i < grammar.rules.size(); i++)
    out += (i == 0 ? "root" : fmt::format("r{}", i)) + " ::= " + gbnf_of(grammar.rules[i]) + "\n";
  return out;
}

std::vector<std::string> texts() {
  std::vector<std::string> out = {""};
  const size_t longest = kSanitized ? 3 : 5;
  for (size_t at = 0; at < out.size(); at++)
    if (out[at].size() < longest)
      for (const char c : kLetters) out.push_back(out[at] + c);
  return out;
}

struct Counts {
  int judged = 0, refused = 0, members = 0, beginnings = 0;
};

void compare(const RandomGrammar& grammar, const Matcher& matcher, Counts& counts) {
  counts.judged++;
  static const std::vector<std::string> kTexts = texts();
  for (const std::string& text : kTexts) {
    // What nothing begins with needs no more letters.
    const bool member = Oracle(grammar, text, false).holds(),
               begins_one = Oracle(grammar, text, true).holds();
    counts.members += member;
    counts.beginnings += begins_one;
    ASSERT_EQ(begins(matcher, text), begins_one) << "'" << text << "' begins a text of\n" << shown(grammar);
    ASSERT_EQ(accepts(matcher, text), member) << "'" << text << "' is a text of\n" << shown(grammar);
  }
}

bool is_empty(const RandomGrammar& grammar) { return !Oracle(grammar, "", true).holds(); }

TEST(RandomGrammars, NodesAgreeWithAnOracle) {
  Rng rng(21);
  Counts counts;
  for (int i = 0; i < (kSanitized ? 20 : 200); i++) {
    const RandomGrammar random = Maker(rng, true).make();
    auto g = std::make_shared<Grammar>();
    for (size_t r = 0; r < random.rules.size(); r++) {
      const NodeId rule = g->rule(fmt::format("r{}", r));
      g->define(rule, node_of(*g, random.rules[r]));
    }
    const Result<> frozen = g->freeze(g->rule("r0"));
    if (!frozen) {
      counts.refused++;
      const bool left = frozen.error().message.find("left-recursive") != std::string::npos;
      EXPECT_TRUE(left || is_empty(random)) << frozen.error().message << "\n" << shown(random);
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(compare(random, Matcher(compile(g, nullptr)), counts));
  }
  std::printf("%d grammars, %d refused; %d texts, %d beginnings\n", counts.judged, counts.refused,
              counts.members, counts.beginnings);
  EXPECT_GT(counts.judged, kSanitized ? 5 : 100);
}

TEST(RandomGrammars, NotationsAgreeWithAnOracle) {
  Rng rng(22);
  Counts counts;
  for (int i = 0; i < (kSanitized ? 20 : 200); i++) {
    const RandomGrammar random = Maker(rng, false).make();
    const auto made = grammar_from_gbnf(shown(random));
    if (!made) {
      counts.refused++;
      const bool left = made.error().message.find("left-recursive") != std::string::npos;
      EXPECT_TRUE(left || is_empty(random)) << made.error().message << "\n" << shown(random);
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(compare(random, Matcher(compile(*made, nullptr)), counts));
  }
  std::printf("%d grammars, %d refused; %d texts, %d beginnings\n", counts.judged, counts.refused,
              counts.members, counts.beginnings);
  EXPECT_GT(counts.judged, kSanitized ? 5 : 100);
}

}  // namespace
}  // namespace brass::grammar
