#include "text/grammar/grammar.h"

#include <chrono>

#include "grammar_support.h"
#include "sanitized.h"

namespace brass::grammar {
namespace {

std::string refusal(Grammar& g, NodeId root) {
  const auto frozen = g.freeze(root);
  return frozen ? "" : frozen.error().message;
}

TEST(Grammar, RefusesByRuleName) {
  {
    Grammar g;
    const NodeId a = g.rule("a");
    g.define(a, g.rule("missing"));
    EXPECT_NE(refusal(g, a).find("rule 'missing' is used but not defined"), std::string::npos);
  }
  {
    Grammar g;
    const NodeId a = g.rule("endless");
    g.define(a, g.sequence({g.text("x"), a}));
    EXPECT_NE(refusal(g, a).find("rule 'endless' has no finite text"), std::string::npos);
  }
  {
    Grammar g;
    const NodeId a = g.rule("a"), b = g.rule("b");
    g.define(a, g.choice({g.sequence({b, g.text("x")}), g.text("y")}));
    g.define(b, g.choice({g.sequence({g.repeat(g.text("n"), 0, 1), a}), g.text("z")}));
    const std::string message = refusal(g, a);
    EXPECT_NE(message.find("left-recursive"), std::string::npos) << message;
    EXPECT_TRUE(message.find("'a'") != std::string::npos || message.find("'b'") != std::string::npos)
        << message;
  }
  {
    Grammar g;
    EXPECT_NE(refusal(g, g.choice({})), "");
  }
}

TEST(Grammar, DirectLeftRecursionIsALoop) {
  auto g = std::make_shared<Grammar>();
  const NodeId sum = g->rule("sum");
  const NodeId one = g->terminal(parsed(g->regexes(), "[0-9]"));
  g->define(sum,
            g->choice({g->sequence({sum, g->text("+"), one}), g->sequence({sum, g->text("-"), one}), one}));
  const Matcher m = matcher_of(g, sum);
  EXPECT_TRUE(accepts(m, "1"));
  EXPECT_TRUE(accepts(m, "1+2-3"));
  EXPECT_FALSE(begins(m, "+"));
  EXPECT_FALSE(accepts(m, "1+"));
}

TEST(Grammar, WhatCannotEndIsRemoved) {
  auto g = std::make_shared<Grammar>();
  const NodeId endless = g->rule("endless");
  g->define(endless, g->sequence({g->text("x"), endless}));
  const Matcher m = matcher_of(g, g->choice({g->text("ok"), g->sequence({g->text("no"), endless})}));
  EXPECT_TRUE(accepts(m, "ok"));
  EXPECT_FALSE(begins(m, "n"));
}

TEST(Grammar, ManyAlternativesAreQuick) {
  const auto begin = std::chrono::steady_clock::now();
  auto g = std::make_shared<Grammar>();
  std::vector<NodeId> texts;
  for (int i = 0; i < 100'000; ++i) texts.push_back(g->text("choice " + std::to_string(i)));
  const Matcher m = matcher_of(g, g->choice(texts));
  EXPECT_TRUE(accepts(m, "choice 99999"));
  EXPECT_FALSE(begins(m, "choice 999990"));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (!kSanitized) {
    EXPECT_LT(seconds.count(), 20.0);
  }
  Grammar other;
  std::vector<NodeId> ways;
  for (int i = 0; i < 100'000; ++i)
    ways.push_back(other.sequence({other.text("a"), other.terminal(parsed(other.regexes(), "b+"))}));
  EXPECT_NE(refusal(other, other.choice(ways)).find("more than 4096 alternatives"), std::string::npos);
}

}  // namespace
}  // namespace brass::grammar
