// Patterns as Python's `re` sees them: fixtures/regex_cases.json, made by tools/oracles/regex_oracle.py.
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "grammar_support.h"
#include "source_dir.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar {
namespace {

std::u32string points_of(const std::string& utf8) {
  std::u32string out;
  for (size_t at = 0; at < utf8.size();) {
    const tokens::Utf8Step step = tokens::utf8_step(utf8, at);
    out.push_back(step.code);
    at += step.length;
  }
  return out;
}

// Following live edges only: what is_live() says must agree with what derivatives find.
bool found_by_edges(RegexArena& arena, RegexId id, const std::u32string& text) {
  for (const char32_t point : text) {
    RegexId next = arena.nothing();
    for (const RegexArena::Edge& edge : arena.edges(id)) {
      if (edge.low <= point && point <= edge.high) next = edge.target;
    }
    id = next;
  }
  return arena.matches_empty(id);
}

TEST(RegexOracle, PatternsMatchWhatPythonMatches) {
  std::ifstream file(source_dir() + "/tests/grammar/fixtures/regex_cases.json");
  const auto cases = nlohmann::json::parse(file);
  ASSERT_GT(cases.size(), 500u);
  size_t refused = 0;
  for (const auto& c : cases) {
    const auto pattern = c[0].get<std::string>();
    RegexArena arena;
    const auto parsed = arena.parse(pattern, RegexSyntax::kEcma);
    if (!parsed) {
      EXPECT_NE(parsed.error().message.find("assertion inside a repetition"), std::string::npos)
          << pattern << ": " << parsed.error().message;
      ++refused;
      continue;
    }
    for (const size_t which : {size_t{1}, size_t{2}}) {
      for (const auto& sample : c[which]) {
        const std::u32string text = points_of(sample.get<std::string>());
        EXPECT_EQ(in_language(arena, *parsed, text), which == 1) << pattern << " on " << sample;
        EXPECT_EQ(found_by_edges(arena, *parsed, text), which == 1)
            << pattern << " on " << sample << ", by live edges";
      }
    }
    EXPECT_FALSE(arena.exhausted()) << pattern;
  }
  EXPECT_LT(refused, cases.size() / 50);
}

// Random expressions over {a, b} with every operation of the arena, against sets of strings of up to four characters.
class Enumerated {
 public:
  static constexpr size_t kLongest = 4;
  Enumerated() {
    all_ = {U""};
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].size() == kLongest) break;
      all_.push_back(all_[i] + U'a');
      all_.push_back(all_[i] + U'b');
    }
  }
  using Set = std::vector<bool>;  // by place in all_

  std::pair<RegexId, Set> random(RegexArena& arena, Rng& rng, int depth) {
    const Set none(all_.size());
    if (depth == 0 || rng.below(8) == 0) {
      const size_t pick = rng.below(4);
      Set set = none;
      if (pick == 0) return set[0] = true, std::pair(arena.empty(), set);
      if (pick != 2) set[place(U"a")] = true;
      if (pick != 1) set[place(U"b")] = true;
      const CodePoints points = pick == 1   ? CodePoints{{'a', 'a'}}
                                : pick == 2 ? CodePoints{{'b', 'b'}}
                                            : CodePoints{{'a', 'b'}};
      return {arena.set(points), set};
    }
    const auto [x, xs] = random(arena, rng, depth - 1);
    const auto [y, ys] = random(arena, rng, depth - 1);
    const RegexId both[] = {x, y};
    Set out = none;
    switch (rng.below(6)) {
      case 0:
        return {arena.concat(both), product(xs, ys)};
      case 1:
        for (size_t i = 0; i < out.size(); ++i) out[i] = xs[i] || ys[i];
        return {arena.any_of(both), out};
      case 2:
        for (size_t i = 0; i < out.size(); ++i) out[i] = xs[i] && ys[i];
        return {arena.all_of(both), out};
      case 3:
        for (size_t i = 0; i < out.size(); ++i) out[i] = xs[i] && !ys[i];
        return {arena.without(x, y), out};
      case 4: {  // every string over a and b that is not in x
        const RegexId ab[] = {arena.repeat(arena.set({{'a', 'b'}}), 0, -1), arena.negate(x)};
        for (size_t i = 0; i < out.size(); ++i) out[i] = !xs[i];
        return {arena.all_of(ab), out};
      }
      default: {
        const int min = static_cast<int>(rng.below(4)),
                  max = rng.below(3) == 0 ? -1 : min + static_cast<int>(rng.below(3));
        Set turn = none;
        turn[0] = true;
        for (int i = 0; i <= (max < 0 ? min + 5 : max); ++i) {
          if (i >= min) {
            for (size_t k = 0; k < out.size(); ++k) out[k] = out[k] || turn[k];
          }
          turn = product(turn, xs);
        }
        return {arena.repeat(x, min, max), out};
      }
    }
  }
  const std::vector<std::u32string>& all() const { return all_; }

 private:
  size_t place(const std::u32string& text) const {
    size_t at = 0;
    for (const char32_t c : text) at = at * 2 + 1 + (c == U'b');
    return at;
  }
  Set product(const Set& x, const Set& y) const {
    Set out(all_.size());
    for (size_t i = 0; i < x.size(); ++i) {
      if (!x[i]) continue;
      for (size_t k = 0; k < y.size(); ++k) {
        if (y[k] && all_[i].size() + all_[k].size() <= kLongest) out[place(all_[i] + all_[k])] = true;
      }
    }
    return out;
  }
  std::vector<std::u32string> all_;
};

TEST(RegexOracle, OperationsAreThoseOfSets) {
  Enumerated oracle;
  Rng rng(7);
  for (int i = 0; i < 1500; ++i) {
    RegexArena arena;
    const auto [id, set] = oracle.random(arena, rng, 4);
    bool any = false;
    for (size_t k = 0; k < set.size(); ++k) {
      ASSERT_EQ(in_language(arena, id, oracle.all()[k]), set[k]) << "expression " << i << ", string " << k;
      ASSERT_EQ(found_by_edges(arena, id, oracle.all()[k]), set[k]) << "expression " << i << ", string " << k;
      any = any || set[k];
    }
    if (any) {
      EXPECT_TRUE(arena.is_live(id)) << i;
    }
    // Relaxed for two characters: the same beginnings of up to two.
    const RegexId relaxed = arena.relaxed(id, 2);
    for (const std::u32string& text : oracle.all()) {
      if (text.size() > 2) continue;
      RegexId exact = id, loose = relaxed;
      for (const char32_t c : text) exact = arena.derivative(exact, c), loose = arena.derivative(loose, c);
      ASSERT_EQ(arena.is_live(exact), arena.is_live(loose)) << "expression " << i;
      ASSERT_EQ(arena.matches_empty(exact), arena.matches_empty(loose)) << "expression " << i;
    }
  }
}

}  // namespace
}  // namespace brass::grammar
