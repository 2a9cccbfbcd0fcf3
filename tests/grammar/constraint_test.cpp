// A reply under a grammar: masks, reasoning in front, lazy starts, text that is not sampled.
#include "text/grammar/constraint.h"

#include <algorithm>
#include <random>

#include "notation_support.h"
#include "text/grammar/gbnf.h"

namespace brass::grammar {
namespace {

constexpr int32_t kEnd = 1, kCall = 2;

// Bytes, and words with all their beginnings (so that merging by pairs finds them). 1 ends a reply, 2 is a control piece.
std::unique_ptr<Tokenizer> word_tokenizer(bool adds_blank) {
  VocabSpec spec{.model = "llama",
                 .pre = "",
                 .tokens = {"<unk>", "</s>", "<|call|>"},
                 .scores = {},
                 .kinds = {TokenKind::kUnknown, TokenKind::kControl, TokenKind::kControl},
                 .merges = {}};
  for (int i = 0; i < 256; i++) {
    spec.tokens.push_back(fmt::format("<0x{:02X}>", i));
    spec.kinds.push_back(TokenKind::kByte);
  }
  const auto add = [&](const std::string& piece) {
    if (std::ranges::find(spec.tokens, piece) != spec.tokens.end()) return;
    spec.tokens.push_back(piece);
    spec.kinds.push_back(TokenKind::kNormal);
  };
  add("\u2581");
  for (const std::string word :
       {"true", "false", "\"name\":", "\"name\"", "name", "\"na", "</think>", "</think>\n", "think", "<call>",
        "<call>{", ">{", "\n\n", "abc", "{\"", "}\n", "xyz"})
    for (size_t size = 1; size <= word.size(); size++) add(word.substr(0, size));
  spec.scores.assign(spec.tokens.size(), 0.0f);
  for (size_t i = 0; i < spec.tokens.size(); i++) spec.scores[i] = static_cast<float>(spec.tokens[i].size());
  spec.unk = 0;
  spec.eos = kEnd;
  spec.add_space_prefix = adds_blank ? 1 : 0;
  Result<std::unique_ptr<Tokenizer>> made = Tokenizer::create(spec);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return std::move(*made);
}

class ConstraintTest : public testing::TestWithParam<bool> {
 protected:
  Constraint constrain(std::string_view gbnf, ConstraintOptions options = {}) {
    const GrammarResult grammar = grammar_from_gbnf(gbnf);
    EXPECT_TRUE(grammar) << grammar.error().message;
    options.grammar = compile(*grammar, TokenTrie::create(*tokenizer_));
    const Result<> valid = validate(options);
    EXPECT_TRUE(valid) << valid.error().message;
    return Constraint(std::move(options), *tokenizer_, vocabulary());
  }

  size_t vocabulary() const {
    return static_cast<size_t>(tokenizer_->size()) + 70;
  }  // more logits than pieces
  std::string_view piece(int32_t id) const { return tokenizer_->piece(id); }
  int32_t id(std::string_view text) const {
    for (int32_t i = kCall + 1 + 256; i < tokenizer_->size(); i++)
      if (piece(i) == text) return i;
    EXPECT_EQ(text.size(), 1u) << text;
    return kCall + 1 + static_cast<uint8_t>(text[0]);
  }
  static bool allows(Constraint& constraint, int32_t id) {
    const std::span<const uint64_t> mask = constraint.mask();
    return mask.empty() || (mask[static_cast<size_t>(id) / 64] >> static_cast<size_t>(id) % 64 & 1) != 0;
  }
  void say(Constraint& constraint, std::initializer_list<std::string_view> pieces) {
    for (const std::string_view text : pieces) {
      const int32_t token = id(text);
      EXPECT_TRUE(allows(constraint, token)) << "'" << text << "'";
      EXPECT_TRUE(constraint.accept(token)) << "'" << text << "'";
    }
  }
  std::string jumped(Constraint& constraint) {
    std::string text;
    constraint.jump([&](int32_t token) {
      text += piece(token);
      return true;
    });
    return text;
  }

  std::unique_ptr<Tokenizer> tokenizer_ = word_tokenizer(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Blanks, ConstraintTest, testing::Bool());

constexpr std::string_view kObject =
    "root ::= \"{\\\"name\\\": \" (\"true\" | \"false\" | word) (\", \\\"name\\\": \\\"xyz\\\"\")? \"}\"\n"
    "word ::= \"\\\"\" ([a-c\u00e9] | \" \")* \"\\\"\"";

// Random replies: each is a text of the grammar, and at each place the mask is what bytes say.
TEST_P(ConstraintTest, RandomRepliesAreTextsOfTheGrammar) {
  const GrammarResult grammar = grammar_from_gbnf(kObject);
  const std::shared_ptr<CompiledGrammar> by_bytes = compile(*grammar, nullptr);
  std::mt19937 random(5);
  for (int round = 0; round < 60; round++) {
    Constraint constraint = constrain(kObject, {.jump_forward = round % 2 == 0});
    std::string text;
    Matcher reference(by_bytes);
    while (!constraint.must_end()) {
      std::vector<int32_t> allowed;
      const std::vector<uint64_t> mask(constraint.mask().begin(), constraint.mask().end());
      ASSERT_EQ(mask.size(), (vocabulary() + 63) / 64);
      for (size_t token = 0; token < vocabulary(); token++) {
        const bool bit = (mask[token / 64] >> token % 64 & 1) != 0;
        const auto i = static_cast<int32_t>(token);
        Matcher ahead = reference;
        const bool right = i == kEnd ? reference.can_end()
                           : tokenizer_->is_valid(i) && !tokenizer_->is_control(i)
                               ? ahead.accept_bytes(piece(i))
                               : false;
        ASSERT_EQ(bit, right) << "'" << piece(i) << "' behind " << text;
        if (bit && i != kEnd) allowed.push_back(i);
      }
      ASSERT_FALSE(allowed.empty()) << text;
      const int32_t token = allowed[random() % allowed.size()];
      ASSERT_TRUE(constraint.accept(token));
      text += piece(token);
      ASSERT_TRUE(reference.accept_bytes(piece(token)));
      const std::string forced = reference.forced(), more = jumped(constraint);
      ASSERT_TRUE(forced.starts_with(more)) << more;
      text += more;
      ASSERT_TRUE(reference.accept_bytes(more));
    }
    EXPECT_TRUE(accepts(*grammar, text)) << text;
  }
}

TEST_P(ConstraintTest, ForcedTextIsNotSampled) {
  Constraint constraint = constrain("root ::= (\"a\" | \"b\") \"\\\"name\\\":xyz\" [0-9] \"true\"");
  say(constraint, {"a"});
  // All of it: the digit is a piece of its own.
  EXPECT_EQ(jumped(constraint), "\"name\":xyz");
  say(constraint, {"7"});
  EXPECT_EQ(jumped(constraint), "true");
  EXPECT_TRUE(constraint.must_end());
}

// <call> may be followed by '{' in one token, or not: which token it is says something.
TEST_P(ConstraintTest, JumpsStopWhereATokenReachesFurther) {
  Constraint constraint = constrain("root ::= \"abc\" \"xyz<call>\" (\"{\" | \"x\") [0-9]");
  say(constraint, {"a"});
  EXPECT_EQ(jumped(constraint), "bcxyz");
  EXPECT_TRUE(allows(constraint, id("<call>")));
  say(constraint, {"<call>{"});
}

TEST_P(ConstraintTest, JumpsStopWhereThereIsNoRoom) {
  Constraint constraint = constrain("root ::= (\"a\" | \"b\") \"truefalsetrue\" [0-9]");
  say(constraint, {"a"});
  int taken = 0;
  constraint.jump([&](int32_t) { return ++taken < 2; });
  EXPECT_EQ(taken, 2);
  say(constraint, {"true", "7"});
  EXPECT_TRUE(constraint.must_end());
}

TEST_P(ConstraintTest, EndTokensOnlyWhereTheTextMayEnd) {
  Constraint constraint = constrain("root ::= \"a\" \"b\"*");
  EXPECT_FALSE(allows(constraint, kEnd));
  say(constraint, {"a"});
  EXPECT_TRUE(allows(constraint, kEnd));
  EXPECT_FALSE(constraint.must_end());
  Constraint endless = constrain("root ::= \"a\" \"b\"*", {.ends_by_itself = false});
  say(endless, {"a"});
  EXPECT_FALSE(allows(endless, kEnd));
}

// ---- reasoning

TEST_P(ConstraintTest, TheGrammarBeginsBehindReasoning) {
  Constraint constraint =
      constrain("root ::= \"true\"", {.in_reasoning = true, .reasoning_end = "</think>", .gap = "\n\n"});
  say(constraint, {"xyz", "\n\n", "</th"});
  EXPECT_FALSE(allows(constraint, kEnd));
  EXPECT_FALSE(constraint.begun());
  say(constraint, {"i", "n", "k", ">"});
  EXPECT_TRUE(allows(constraint, id("\n\n")));
  EXPECT_TRUE(allows(constraint, id("true")));
  EXPECT_FALSE(allows(constraint, id("xyz")));
  say(constraint, {"\n\n"});
  EXPECT_FALSE(allows(constraint, id("\n\n")));
  say(constraint, {"tru", "e"});
  EXPECT_TRUE(constraint.must_end());
}

TEST_P(ConstraintTest, AMarkMayEndInsideOfAToken) {
  const ConstraintOptions options{.in_reasoning = true, .reasoning_end = "</think>"};
  Constraint refused = constrain("root ::= \"true\"", options);
  EXPECT_TRUE(allows(refused, id("</think>\n")));
  EXPECT_FALSE(refused.accept(id("</think>\n")));
  EXPECT_FALSE(allows(refused, id("</think>\n")));
  EXPECT_TRUE(allows(refused, id("xyz")));
  say(refused, {"xyz"});
  EXPECT_TRUE(allows(refused, id("</think>\n")));  // refused in its place, not for good
  say(refused, {"</think>", "true"});
  Constraint taken = constrain("root ::= [ \\n]* \"true\"", options);
  say(taken, {"</think>\n", "true"});
  EXPECT_TRUE(taken.must_end());
}

TEST_P(ConstraintTest, ReasoningMayBeLeftOut) {
  const ConstraintOptions options{.reasoning_begin = "<call>", .reasoning_end = "</think>"};
  const std::vector<int32_t> mark = {id("<call>")};
  Constraint without = constrain("root ::= \"true\" | \"<\" [a-z]", options);
  EXPECT_TRUE(allows(without, mark[0]));
  say(without, {"<", "x"});
  EXPECT_TRUE(without.must_end());
  Constraint with = constrain("root ::= \"true\" | \"<\" [a-z]", options);
  say(with, {"<call>", "xyz", "true", "</think>"});
  EXPECT_FALSE(allows(with, mark[0]));
  say(with, {"true"});
  EXPECT_TRUE(with.must_end());
}

TEST_P(ConstraintTest, ControlPiecesMayBeMarks) {
  Constraint constraint =
      constrain("root ::= \"true\"", {.reasoning_begin = "<|call|>", .reasoning_end = "</think>"});
  EXPECT_TRUE(allows(constraint, kCall));
  EXPECT_TRUE(constraint.accept(kCall));
  EXPECT_FALSE(allows(constraint, kEnd));
  say(constraint, {"xyz", "</think>", "true"});
  EXPECT_TRUE(constraint.must_end());
}

// ---- lazy

TEST_P(ConstraintTest, ALazyGrammarBeginsWithItsTrigger) {
  const ConstraintOptions options{.triggers = {"<call>", "abc{"}};
  Constraint constraint = constrain("root ::= (\"<call>\" | \"abc\") \"{\" [0-9]+ \"}\"", options);
  EXPECT_TRUE(constraint.mask().empty());
  say(constraint, {"xyz", "true", "<", "c", "a", "l", "l"});
  EXPECT_TRUE(constraint.mask().empty());
  EXPECT_TRUE(allows(constraint, kEnd));
  say(constraint, {">{"});
  EXPECT_TRUE(constraint.begun());
  EXPECT_FALSE(allows(constraint, kEnd));
  EXPECT_FALSE(allows(constraint, id("true")));
  say(constraint, {"7", "}"});
  EXPECT_TRUE(constraint.must_end());
}

TEST_P(ConstraintTest, WhatATriggerMayNotGoOnWithIsRefused) {
  Constraint constraint =
      constrain("root ::= \"[\" [0-9] \"]\"", {.triggers = {"<call>"}, .trigger_in_grammar = false});
  say(constraint, {"xyz"});
  EXPECT_TRUE(allows(constraint, id("<call>{")));
  EXPECT_FALSE(constraint.accept(id("<call>{")));
  EXPECT_FALSE(allows(constraint, id("<call>{")));
  EXPECT_TRUE(allows(constraint, id("true")));
  say(constraint, {"<call>", "[", "1", "]"});
  EXPECT_TRUE(constraint.must_end());
}

TEST_P(ConstraintTest, AControlPieceMayBeATrigger) {
  Constraint constraint =
      constrain("root ::= \"{\" [0-9] \"}\"", {.triggers = {"<|call|>"}, .trigger_in_grammar = false});
  say(constraint, {"true"});
  EXPECT_TRUE(constraint.accept(kCall));
  EXPECT_TRUE(constraint.begun());
  say(constraint, {"{", "1", "}"});
  EXPECT_TRUE(constraint.must_end());
}

// A mark that reasoning speaks of begins nothing.
TEST_P(ConstraintTest, TriggersDoNotCountInReasoning) {
  const ConstraintOptions options{
      .in_reasoning = true, .reasoning_end = "</think>", .triggers = {"<call>"}, .trigger_in_grammar = false};
  Constraint constraint = constrain("root ::= \"{\" [0-9] \"}\"", options);
  say(constraint, {"xyz", "<call>", "xyz"});
  EXPECT_TRUE(allows(constraint, kEnd)) << "a free reply may end";
  say(constraint, {"</think>", "\n\n", "xyz"});
  EXPECT_FALSE(constraint.begun());
  say(constraint, {"<call>"});
  EXPECT_TRUE(constraint.begun());
  EXPECT_FALSE(allows(constraint, id("xyz")));
  say(constraint, {"{", "1", "}"});
  EXPECT_TRUE(constraint.must_end());
}

TEST_P(ConstraintTest, ALazyReplyMayBeginWithReasoning) {
  const ConstraintOptions options{.reasoning_begin = "<|call|>",
                                  .reasoning_end = "</think>",
                                  .triggers = {"<call>"},
                                  .trigger_in_grammar = false};
  Constraint with = constrain("root ::= \"{\" [0-9] \"}\"", options);
  say(with, {"\n\n"});
  EXPECT_TRUE(with.accept(kCall));
  say(with, {"<call>", "xyz", "</think>", "<call>"});
  EXPECT_TRUE(with.begun());
  Constraint late = constrain("root ::= \"{\" [0-9] \"}\"", options);
  say(late, {"xyz"});
  EXPECT_TRUE(late.accept(kCall)) << "text, for the reply has begun";
  say(late, {"<call>"});
  EXPECT_TRUE(late.begun());
}

TEST(ConstraintOptions, WhatCanNotBeIsNamed) {
  const auto message = [](const ConstraintOptions& options) {
    const Result<> valid = validate(options);
    return valid ? std::string("valid") : valid.error().message;
  };
  EXPECT_EQ(message({}), "valid");
  EXPECT_TRUE(message({.in_reasoning = true}).starts_with("reasoning_end:"));
  EXPECT_TRUE(message({.reasoning_begin = "<think>"}).starts_with("reasoning_end:"));
  EXPECT_TRUE(message({.triggers = {"a", ""}}).starts_with("triggers[1]:"));
  EXPECT_TRUE(message({.triggers = std::vector<std::string>(1025, "a")}).starts_with("triggers:"));
  EXPECT_TRUE(message({.triggers = {std::string(1025, 'a')}}).starts_with("triggers[0]:"));
  EXPECT_EQ(message({.in_reasoning = true, .reasoning_end = "x", .triggers = {"a"}}), "valid");
}

}  // namespace
}  // namespace brass::grammar
