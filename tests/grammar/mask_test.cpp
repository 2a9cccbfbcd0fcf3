#include <fmt/format.h>

#include <chrono>
#include <set>

#include "base/rng.h"
#include "gguf/vocab.h"
#include "grammar_support.h"
#include "sanitized.h"
#include "shared_data.h"
#include "text/tokenizer.h"

namespace brass::grammar {
namespace {

// The vocabulary of Qwen, or nothing (after saying why).
const Tokenizer* qwen() {
  static const std::unique_ptr<Tokenizer> made = []() -> std::unique_ptr<Tokenizer> {
    const auto path = shared_data("vocab/ggml-vocab-qwen2.gguf");
    if (!path) return nullptr;
    const auto file = gguf::File::open(*path);
    if (!file) return nullptr;
    const auto spec = gguf::read_vocab(*file);
    if (!spec) return nullptr;
    auto tokenizer = Tokenizer::create(*spec);
    return tokenizer ? std::move(*tokenizer) : nullptr;
  }();
  return made.get();
}

std::shared_ptr<const TokenTrie> qwen_trie() {
  static const std::shared_ptr<const TokenTrie> trie = TokenTrie::create(*qwen());
  return trie;
}

bool bit(const std::vector<uint64_t>& bits, int32_t id) {
  return (bits[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0;
}

// Tokens tried one by one: all that the mask tells apart from its neighbours, and a sample of the others.
void expect_exact(Matcher& m, const Tokenizer& tokenizer, const std::string& where) {
  const int32_t size = tokenizer.size();
  std::vector<uint64_t> bits((static_cast<size_t>(size) + 63) / 64, ~uint64_t{0});
  m.mask(bits);
  int wrong = 0;
  static int32_t offset = 0;
  constexpr int32_t kStep = kSanitized ? 197 : 29;
  for (int32_t id = offset++ % kStep; id < size; id += kStep) {
    Matcher copy = m;
    const bool allowed = copy.accept_token(id);
    if (allowed == bit(bits, id)) continue;
    if (++wrong <= 3)
      ADD_FAILURE() << where << ": token " << id << " '" << tokenizer.piece(id) << "' is "
                    << (allowed ? "" : "not ") << "accepted";
  }
  for (int32_t id = size; id < static_cast<int32_t>(bits.size() * 64); ++id) EXPECT_FALSE(bit(bits, id));
}

// Follows allowed tokens at random, with an exact mask at each step.
void explore(std::shared_ptr<Grammar> grammar, NodeId root, uint64_t seed, int steps,
             const std::string& name) {
  const auto frozen = grammar->freeze(root);
  ASSERT_TRUE(frozen.has_value()) << frozen.error().message;
  const Tokenizer& tokenizer = *qwen();
  Matcher m(compile(std::move(grammar), qwen_trie()));
  Rng rng(seed);
  std::string text;
  for (int step = 0; step < steps && !m.must_end(); ++step) {
    expect_exact(m, tokenizer, name + " after '" + text + "'");
    std::vector<uint64_t> bits((static_cast<size_t>(tokenizer.size()) + 63) / 64);
    m.mask(bits);
    std::vector<int32_t> allowed;
    for (int32_t id = 0; id < tokenizer.size(); ++id) {
      if (bit(bits, id) && !tokenizer.is_eog(id)) allowed.push_back(id);
    }
    ASSERT_FALSE(allowed.empty()) << name << " after '" << text << "'";
    const int32_t id = allowed[rng.below(allowed.size())];
    ASSERT_TRUE(m.accept_token(id));
    text += tokenizer.piece(id);
  }
}

NodeId json_value(Grammar& g) {
  RegexArena& r = g.regexes();
  const NodeId value = g.rule("value");
  const NodeId string = g.sequence({g.text("\""), g.terminal(r.all(), Spelling::kJsonString), g.text("\"")});
  const NodeId number = g.terminal(parsed(r, "-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?"));
  const NodeId space = g.terminal(parsed(r, "[ \\n\\t\\r]*"));
  const NodeId padded = g.sequence({space, value, space});
  Members members;
  members.patterns = {{r.all(), value}};
  members.space = space;
  const NodeId array =
      g.sequence({g.text("["), g.choice({space, g.repeat(padded, 1, -1, g.text(","))}), g.text("]")});
  g.define(value, g.choice({string, number, g.text("true"), g.text("false"), g.text("null"), array,
                            g.object(members)}));
  return value;
}

TEST(Mask, EqualsTryingEveryToken) {
  if (qwen() == nullptr) GTEST_SKIP() << "no vocabulary";
  const int steps = kSanitized ? 2 : 7;
  struct Case {
    const char* name;
    NodeId (*make)(Grammar&);
  };
  const Case kCases[] = {
      {"json", json_value},
      {"bounded string",
       [](Grammar& g) {
         return g.sequence(
             {g.text("\""),
              g.terminal(g.regexes().repeat(g.regexes().set({{0, 0x10FFFF}}), 3, 600), Spelling::kJsonString),
              g.text("\"")});
       }},
      {"short string",
       [](Grammar& g) {
         return g.sequence(
             {g.text("\""),
              g.terminal(g.regexes().repeat(g.regexes().set({{0, 0x10FFFF}}), 2, 9), Spelling::kJsonString),
              g.text("\"")});
       }},
      {"pattern",
       [](Grammar& g) {
         return g.sequence(
             {g.text("<"), g.terminal(parsed(g.regexes(), "\\p{L}[\\w -]*(\\.[a-z]{2,4})?")), g.text(">\n")});
       }},
      {"lines",
       [](Grammar& g) { return g.repeat(g.terminal(parsed(g.regexes(), "- .+")), 2, 5, g.text("\n")); }},
      {"object",
       [](Grammar& g) {
         const NodeId text =
             g.sequence({g.text("\""), g.terminal(g.regexes().all(), Spelling::kJsonString), g.text("\"")});
         const NodeId number = g.terminal(parsed(g.regexes(), "[1-9]\\d{0,3}"));
         Members members;
         members.named = {{"name", text, true},
                          {"namely", number, false},
                          {"größe", number, true},
                          {"tag", g.choice({g.text("\"a\""), text}), false}};
         members.patterns = {
             {g.regexes().without(parsed(g.regexes(), "x.*"), parsed(g.regexes(), "xx")), text}};
         members.space = g.terminal(parsed(g.regexes(), "[ \\n]{0,2}"));
         members.min = 3;
         return g.object(std::move(members));
       }},
      {"choices",
       [](Grammar& g) {
         return g.choice({g.text("red"), g.text("green"), g.text("dark red"), g.text("größer")});
       }},
  };
  uint64_t seed = 1;
  for (const Case& c : kCases) {
    auto g = std::make_shared<Grammar>();
    const NodeId root = c.make(*g);
    explore(g, root, seed++, steps, c.name);
  }
}

// A vocabulary of all bytes and these pieces.
VocabSpec spec_of(const std::set<std::string>& pieces) {
  VocabSpec spec = {.model = "llama", .tokens = {"<unk>"}, .kinds = {TokenKind::kUnknown}, .merges = {}};
  for (int i = 0; i < 256; i++) {
    spec.tokens.push_back(fmt::format("<0x{:02X}>", i));
    spec.kinds.push_back(TokenKind::kByte);
  }
  for (const std::string& piece : pieces) {
    spec.tokens.push_back(piece);
    spec.kinds.push_back(TokenKind::kNormal);
  }
  spec.tokens.push_back("</s>");
  spec.kinds.push_back(TokenKind::kControl);
  spec.scores.assign(spec.tokens.size(), 0.0f);
  spec.unk = 0;
  spec.eos = static_cast<int32_t>(spec.tokens.size()) - 1;
  spec.add_space_prefix = 0;
  return spec;
}

// Every token tried in `replies` random texts that begin with `start`; how many that hold `mark` were taken.
void try_all(const std::shared_ptr<CompiledGrammar>& compiled, const VocabSpec& spec, std::string_view start,
             int replies, std::string_view mark, Rng& rng, size_t& marked) {
  std::vector<uint64_t> bits((spec.tokens.size() + 63) / 64);
  for (int reply = 0; reply < replies; ++reply) {
    Matcher m(compiled);
    std::string text(start);
    ASSERT_TRUE(m.accept_bytes(start));
    for (int step = 0; step < 12 && !m.must_end(); ++step) {
      m.mask(bits);
      std::vector<int32_t> allowed;
      for (int32_t id = 0; id < static_cast<int32_t>(spec.tokens.size()); ++id) {
        Matcher copy = m;
        const bool taken = copy.accept_token(id);
        const std::string& piece = spec.tokens[static_cast<size_t>(id)];
        ASSERT_EQ(taken, bit(bits, id)) << "token '" << piece << "' after " << text;
        if (!taken) continue;
        if (id != spec.eos) allowed.push_back(id);
        marked += piece.find(mark) != std::string::npos;
      }
      ASSERT_FALSE(allowed.empty()) << text;
      const int32_t id = allowed[rng.below(allowed.size())];
      ASSERT_TRUE(m.accept_token(id));
      text += spec.tokens[static_cast<size_t>(id)];
    }
  }
}

// Of objects that count their members, keys are told apart: also where one token ends a key and begins, or holds, the
// next, and where a key is of a kind that has few.
TEST(Mask, TokensWithTwoKeys) {
  Rng rng(5);
  std::set<std::string> pieces;
  while (pieces.size() < 1500) {
    std::string piece;
    for (uint64_t left = 1 + rng.below(12); left > 0; --left) piece += "ab\":1,ab\":1,}"[rng.below(13)];
    pieces.insert(piece);
  }
  for (const std::string first : {"", "a", "b", "ab", "aa", "aaa"}) {
    for (const std::string second : {"", "a", "b", "ab", "aa", "aaa"}) {
      pieces.insert(first + "\":1,\"" + second);
      pieces.insert(first + "\":1,\"" + second + "\"");
    }
  }
  const VocabSpec spec = spec_of(pieces);
  const auto tokenizer = Tokenizer::create(spec);
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  const auto trie = TokenTrie::create(**tokenizer);
  for (const char* keys : {"[ab]*", "(a|b|ab)?", "a{1,3}"}) {
    auto g = std::make_shared<Grammar>();
    Members members;
    members.patterns = {{parsed(g->regexes(), keys), g->text("1")}};
    members.min = 3;
    const NodeId root = g->object(std::move(members));
    ASSERT_TRUE(g->freeze(root).has_value());
    size_t two_keys = 0;
    try_all(compile(g, trie), spec, "{\"", kSanitized ? 2 : 12, "\":1,\"", rng, two_keys);
    EXPECT_GT(two_keys, 20u) << keys;
  }
}

// Items that are all different, strings and numbers: also where a token ends one item and holds the next.
TEST(Mask, TokensWithTwoItems) {
  Rng rng(6);
  std::set<std::string> pieces;
  while (pieces.size() < 1200) {
    std::string piece;
    for (uint64_t left = 1 + rng.below(9); left > 0; --left) piece += "ab\",\"ab1,21]\\"[rng.below(13)];
    pieces.insert(piece);
  }
  for (const std::string first : {"", "a", "b", "ab", "aa", "1", "2", "12"}) {
    for (const std::string second : {"", "a", "b", "ab", "aa", "1", "2", "12"}) {
      pieces.insert(first + "\",\"" + second + "\"");
      pieces.insert(first + "," + second + ",");
      pieces.insert("," + second + "]");
    }
  }
  const VocabSpec spec = spec_of(pieces);
  const auto tokenizer = Tokenizer::create(spec);
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  const auto trie = TokenTrie::create(**tokenizer);
  for (const char* texts : {"[ab]*", "(a|b|ab)?", "a{1,3}|b+|ab"}) {
    for (const char* numbers : {"[12]{1,2}", "1[12]*"}) {
      auto g = std::make_shared<Grammar>();
      const NodeId quote = g->text("\"");
      AnyOrder order;
      order.distinct = true;
      order.min = 2;
      order.separator = g->text(",");
      order.parts = {g->part_again({quote, quote, parsed(g->regexes(), texts), Spelling::kJsonString}),
                     g->part_again({-1, g->sequence({}), parsed(g->regexes(), numbers), Spelling::kPlain})};
      const NodeId root = g->sequence({g->text("["), g->any_order(order), g->text("]")});
      ASSERT_TRUE(g->freeze(root).has_value());
      size_t two_items = 0;
      const auto compiled = compile(g, trie);
      for (const char* start : {"[", "[1,\"a\",", "[\"ab\",\"b\",12,\""})
        ASSERT_NO_FATAL_FAILURE(try_all(compiled, spec, start, kSanitized ? 1 : 4, ",", rng, two_items));
      EXPECT_GT(two_items, 20u) << texts;
    }
  }
}

TEST(Mask, AllowsTheEndOnlyWhereATextMayEnd) {
  if (qwen() == nullptr) GTEST_SKIP() << "no vocabulary";
  auto g = std::make_shared<Grammar>();
  const NodeId root = g->terminal(parsed(g->regexes(), "ab+"));
  ASSERT_TRUE(g->freeze(root).has_value());
  Matcher m(compile(g, qwen_trie()));
  const int32_t end = qwen()->eog_ids()[0];
  std::vector<uint64_t> bits((static_cast<size_t>(qwen()->size()) + 63) / 64);
  m.mask(bits);
  EXPECT_FALSE(bit(bits, end));
  EXPECT_FALSE(m.accept_token(end));
  ASSERT_TRUE(m.accept_bytes("ab"));
  m.mask(bits);
  EXPECT_TRUE(bit(bits, end));
  EXPECT_TRUE(m.accept_token(end));
}

}  // namespace
}  // namespace brass::grammar
