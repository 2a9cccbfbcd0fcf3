// The generation loop under a grammar: every reply is a text of it, however it was sampled, cut or jumped over.
#include <algorithm>
#include <map>
#include <set>

#include "model_fixture.h"
#include "runtime/generation.h"
#include "text/grammar/choices.h"
#include "text/grammar/gbnf.h"

namespace brass {
namespace {

// 400 pieces for the model made here: bytes, then words; the last one ends a text.
std::unique_ptr<Tokenizer> small_tokenizer() {
  VocabSpec spec{.model = "llama",
                 .pre = "",
                 .tokens = {"<unk>"},
                 .scores = {},
                 .kinds = {TokenKind::kUnknown},
                 .merges = {}};
  for (int i = 0; i < 256; i++) {
    spec.tokens.push_back(fmt::format("<0x{:02X}>", i));
    spec.kinds.push_back(TokenKind::kByte);
  }
  const auto add = [&](const std::string& piece) {
    if (spec.tokens.size() == 399 || std::ranges::find(spec.tokens, piece) != spec.tokens.end()) return;
    spec.tokens.push_back(piece);
    spec.kinds.push_back(TokenKind::kNormal);
  };
  for (const std::string word : {"true", "false", "\"name\"", "\"age\"", "{\"", "\": ", "</think>", "<call>"})
    for (size_t size = 1; size <= word.size(); size++) add(word.substr(0, size));
  for (char a = 'a'; a <= 'z'; a++)
    for (char b = 'a'; b <= 'z'; b++) add({a, b});
  spec.tokens.push_back("</s>");
  spec.kinds.push_back(TokenKind::kControl);
  spec.scores.assign(spec.tokens.size(), 0.0f);
  spec.unk = 0;
  spec.eos = 399;
  spec.add_space_prefix = 0;
  Result<std::unique_ptr<Tokenizer>> made = Tokenizer::create(spec);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return std::move(*made);
}

constexpr std::string_view kPerson =
    "root ::= \"{\\\"name\\\": \\\"\" [a-z]{1,12} \"\\\", \\\"age\\\": \" [1-9] [0-9]? \"}\"";

class GenerationGrammarTest : public testing::Test {
 protected:
  void SetUp() override {
    engine_ = open(quantized_llama(folder_), {.context = 600});
    sequence_ = *engine_->create_sequence();
    prompt_ = random_ids(*engine_, 20, 5);
  }

  std::shared_ptr<const grammar::Grammar> read(std::string_view gbnf) {
    auto made = grammar::grammar_from_gbnf(gbnf);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    return *made;
  }
  std::shared_ptr<grammar::CompiledGrammar> compiled(std::string_view gbnf) {
    return grammar::compile(read(gbnf), grammar::TokenTrie::create(*tokenizer_));
  }
  bool allows(std::string_view gbnf, std::string_view text) {
    grammar::Matcher matcher(grammar::compile(read(gbnf), nullptr));
    return matcher.accept_bytes(text) && matcher.can_end();
  }

  std::unique_ptr<Generation> reply(GenerationOptions options) {
    auto made = Generation::start(*engine_, sequence_, tokenizer_.get(), prompt_, std::move(options));
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    std::string shown;
    steps_ = 0;
    const Result<> done = run_alone(*engine_, **made, [&](std::string_view text) {
      shown += text;
      steps_++;
      return true;
    });
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
    EXPECT_EQ(shown, (*made)->text());
    return std::move(*made);
  }

  TempFolder folder_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Tokenizer> tokenizer_ = small_tokenizer();
  SequenceId sequence_ = -1;
  std::vector<int32_t> prompt_;
  int steps_ = 0;
};

SamplingParams with_seed(uint64_t seed) {
  return {.temperature = 1.5f, .top_k = 0, .top_p = 1.0f, .min_p = 0.0f, .seed = seed};
}

TEST_F(GenerationGrammarTest, EveryReplyIsATextOfTheGrammar) {
  const auto grammar = compiled(kPerson);
  std::set<std::string> texts;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    const auto g =
        reply({.sampling = with_seed(seed), .max_tokens = 200, .constraint = {.grammar = grammar}});
    EXPECT_EQ(g->finish(), Finish::kStop);
    EXPECT_TRUE(allows(kPerson, g->text())) << g->text();
    EXPECT_EQ(tokenizer_->decode(g->ids(), true), g->text());
    texts.insert(g->text());
  }
  EXPECT_GT(texts.size(), 10u);
  const auto greedy =
      reply({.sampling = {.greedy = true}, .max_tokens = 200, .constraint = {.grammar = grammar}});
  EXPECT_TRUE(allows(kPerson, greedy->text())) << greedy->text();
}

TEST_F(GenerationGrammarTest, TextThatIsCertainIsNotSampled) {
  const auto grammar = compiled("root ::= [ab] \"{\\\"name\\\": true}\" [0-9] \"{\\\"age\\\": false}\"");
  const auto jumping = reply({.sampling = with_seed(3), .constraint = {.grammar = grammar}});
  const int few = steps_;
  const auto plain =
      reply({.sampling = with_seed(3), .constraint = {.grammar = grammar, .jump_forward = false}});
  EXPECT_EQ(jumping->finish(), Finish::kStop);
  EXPECT_EQ(plain->finish(), Finish::kStop);
  EXPECT_LE(few, 4);
  EXPECT_GT(steps_, few);
  EXPECT_EQ(steps_, static_cast<int>(plain->ids().size()));
}

// What was jumped over is in the engine as if it had been sampled: the same logits follow.
TEST_F(GenerationGrammarTest, ForcedTokensAreProcessedLikeSampledOnes) {
  const auto grammar = compiled("root ::= [ab] \"truefalsetrue\" [a-z]{40}");
  const auto g = reply({.sampling = {.greedy = true}, .constraint = {.grammar = grammar}});
  ASSERT_EQ(g->finish(), Finish::kStop);
  // The same tokens as a prompt, and the rest greedily behind it.
  std::vector<int32_t> front = prompt_;
  const size_t given = g->ids().size() / 2;
  front.insert(front.end(), g->ids().begin(), g->ids().begin() + static_cast<std::ptrdiff_t>(given));
  const std::unique_ptr<Engine> second = open(folder_ / "quantized.gguf", {.context = 600});
  const SequenceId other = *second->create_sequence();
  ASSERT_TRUE(second->sync(other, front).has_value());
  grammar::Matcher matcher(grammar);
  for (size_t i = 0; i < given; i++) ASSERT_TRUE(matcher.accept_token(g->ids()[i]));
  std::vector<uint64_t> mask((400 + 63) / 64);
  Sampler sampler({.greedy = true}, 400);
  for (size_t i = given; i < g->ids().size(); i++) {
    Result<std::span<const StepRows>> made = second->step();
    while (made && made->empty()) made = second->step();
    ASSERT_TRUE(made.has_value());
    std::ranges::fill(mask, 0);
    matcher.mask(mask);
    const int32_t token = sampler.sample(second->logits((*made)[0].first_row), mask).value();
    ASSERT_EQ(token, g->ids()[i]) << i;
    ASSERT_TRUE(matcher.accept_token(token));
    ASSERT_TRUE(second->append(other, token).has_value());
  }
}

// A server has other sequences in the same engine: a reply that has ended leaves nothing to be computed.
TEST_F(GenerationGrammarTest, RepliesThatEndInForcedTextScheduleNothing) {
  const auto grammar = compiled("root ::= [ab] \"truefalsetruefalse\"");
  for (const uint32_t limit : {3u, 200u}) {
    const auto g = reply({.sampling = with_seed(1), .max_tokens = limit, .constraint = {.grammar = grammar}});
    EXPECT_EQ(g->finish(), limit == 3 ? Finish::kLength : Finish::kStop);
    EXPECT_GT(g->ids().size(), 2u);
    EXPECT_FALSE(engine_->has_work());
    EXPECT_EQ(engine_->length(sequence_), prompt_.size());
  }
}

TEST_F(GenerationGrammarTest, LimitsCutForcedTextToo) {
  const auto grammar = compiled("root ::= [ab] \"truefalsetruefalse\" [0-9]");
  for (uint32_t limit = 1; limit <= 4; limit++) {
    const auto g = reply({.sampling = with_seed(1), .max_tokens = limit, .constraint = {.grammar = grammar}});
    EXPECT_EQ(g->finish(), Finish::kLength);
    EXPECT_EQ(g->ids().size(), limit);
    EXPECT_EQ(tokenizer_->decode(g->ids(), true), g->text());
  }
}

TEST_F(GenerationGrammarTest, StopStringsInForcedTextEnd) {
  const auto grammar = compiled("root ::= [ab] \"truefalse\" [0-9]");
  const auto g = reply({.sampling = with_seed(1), .stops = {"uefa"}, .constraint = {.grammar = grammar}});
  EXPECT_EQ(g->finish(), Finish::kStop);
  EXPECT_EQ(g->text().substr(1), "tr");
}

TEST_F(GenerationGrammarTest, EndTokensAreNotTakenTooEarly) {
  SamplingParams eager = with_seed(1);
  eager.logit_bias = {{399, 1000.0f}};
  const auto grammar = compiled("root ::= [a-z] [a-z] [a-z]+");
  const auto g = reply({.sampling = eager, .max_tokens = 20, .constraint = {.grammar = grammar}});
  EXPECT_EQ(g->finish(), Finish::kStop);
  EXPECT_TRUE(allows("root ::= [a-z] [a-z] [a-z]+", g->text())) << g->text();
  EXPECT_LE(g->text().size(), 4u);
  const auto ignoring =
      reply({.sampling = eager, .max_tokens = 20, .ignore_end = true, .constraint = {.grammar = grammar}});
  EXPECT_EQ(ignoring->finish(), Finish::kLength);
  EXPECT_EQ(ignoring->ids().size(), 20u);
}

TEST_F(GenerationGrammarTest, ReasoningComesFirst) {
  SamplingParams thinker = with_seed(2);
  int32_t mark = -1;
  for (int32_t id = 0; id < tokenizer_->size(); id++)
    if (tokenizer_->piece(id) == "</think>") mark = id;
  ASSERT_GE(mark, 0);
  thinker.logit_bias = {{mark, 4.0f}};
  const auto g = reply(
      {.sampling = thinker,
       .max_tokens = 500,
       .constraint = {.grammar = compiled(kPerson), .in_reasoning = true, .reasoning_end = "</think>"}});
  ASSERT_EQ(g->finish(), Finish::kStop);
  const size_t at = g->text().find("</think>");
  ASSERT_NE(at, std::string::npos);
  EXPECT_TRUE(allows(kPerson, g->text().substr(at + 8))) << g->text();
}

TEST_F(GenerationGrammarTest, ALazyGrammarLetsOtherRepliesBe) {
  const auto grammar = compiled("root ::= \"<call>\" [0-9]{3} \";\"");
  // A reply that happens to have no call.
  uint64_t seed = 4;
  auto same = reply({.sampling = with_seed(seed), .max_tokens = 60});
  while (same->text().find("<call>") != std::string::npos)
    same = reply({.sampling = with_seed(++seed), .max_tokens = 60});
  const GenerationOptions options{.sampling = with_seed(seed),
                                  .max_tokens = 60,
                                  .constraint = {.grammar = grammar, .triggers = {"<call>"}}};
  const auto free = reply(options);
  EXPECT_EQ(free->ids(), same->ids());
  GenerationOptions eager = options;
  for (int32_t id = 0; id < tokenizer_->size(); id++)
    if (tokenizer_->piece(id) == "<call>") eager.sampling.logit_bias = {{id, 8.0f}};
  const auto call = reply(eager);
  EXPECT_EQ(call->finish(), Finish::kStop);
  const size_t at = call->text().find("<call>");
  ASSERT_NE(at, std::string::npos);
  EXPECT_TRUE(allows("root ::= \"<call>\" [0-9]{3} \";\"", call->text().substr(at))) << call->text();
}

TEST_F(GenerationGrammarTest, ChoicesAreChosen) {
  const std::vector<std::string> choices = {"true", "false", "maybe so"};
  const auto grammar =
      grammar::compile(*grammar::grammar_from_choices(choices), grammar::TokenTrie::create(*tokenizer_));
  std::map<std::string, int> count;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    const auto g = reply({.sampling = with_seed(seed), .constraint = {.grammar = grammar}});
    EXPECT_EQ(g->finish(), Finish::kStop);
    count[g->text()]++;
  }
  EXPECT_GT(count.size(), 1u);
  for (const auto& [text, n] : count) EXPECT_NE(std::ranges::find(choices, text), choices.end()) << text;
}

TEST_F(GenerationGrammarTest, WhatCanNotBeStartedIsAnError) {
  const auto grammar = compiled(kPerson);
  EXPECT_FALSE(
      Generation::start(*engine_, sequence_, nullptr, prompt_, {.constraint = {.grammar = grammar}}));
  EXPECT_FALSE(Generation::start(*engine_, sequence_, tokenizer_.get(), prompt_,
                                 {.constraint = {.grammar = grammar, .in_reasoning = true}}));
}

}  // namespace
}  // namespace brass
