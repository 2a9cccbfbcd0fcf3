// Marks that are control pieces of a vocabulary: taken as tokens where the grammar has them, and nowhere else.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/calls/call_grammar.h"
#include "text/calls/parser.h"
#include "text/grammar/constraint.h"

namespace brass::calls {
namespace {

constexpr int32_t kEnd = 1;

// Bytes, and the marks of Kimi K2 as control pieces, from 2 on.
std::unique_ptr<Tokenizer> kimi_tokenizer() {
  VocabSpec spec{
      .model = "llama",
      .pre = "",
      .tokens = {"<unk>", "</s>", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>",
                 "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|other|>"},
      .scores = {},
      .kinds = {},
      .merges = {}};
  spec.kinds.assign(spec.tokens.size(), TokenKind::kControl);
  spec.kinds[0] = TokenKind::kUnknown;
  for (int i = 0; i < 256; i++) {
    spec.tokens.push_back(fmt::format("<0x{:02X}>", i));
    spec.kinds.push_back(TokenKind::kByte);
  }
  spec.scores.assign(spec.tokens.size(), 0.0f);
  spec.unk = 0;
  spec.eos = kEnd;
  spec.add_space_prefix = 0;
  auto made = Tokenizer::create(spec);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return std::move(*made);
}

enum Control : int32_t { kSectionBegin = 2, kSectionEnd, kCallBegin, kArguments, kCallEnd, kOther };

class ControlMarks : public testing::Test {
 protected:
  void SetUp() override {
    for (const Row& row : table())
      if (row.format.family == "kimi k2") format_ = row.format;
    tools_ = ToolSet(nlohmann::ordered_json::parse(
        R"([{"name": "get", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}])"));
    options_.controls = control_pieces(format_, *tokenizer_);
  }

  grammar::Constraint constrain() {
    const auto made = call_grammar(format_, tools_, options_);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    grammar::ConstraintOptions options;
    options.grammar = grammar::compile(made->grammar, grammar::TokenTrie::create(*tokenizer_));
    options.triggers = made->triggers;
    EXPECT_TRUE(grammar::validate(options));
    return {std::move(options), *tokenizer_, static_cast<size_t>(tokenizer_->size())};
  }

  static int32_t id(char c) { return kOther + 1 + static_cast<unsigned char>(c); }
  static bool allows(grammar::Constraint& constraint, int32_t token) {
    const auto mask = constraint.mask();
    return mask.empty() || (mask[static_cast<size_t>(token) / 64] >> (token % 64) & 1) != 0;
  }
  static void say(grammar::Constraint& constraint, int32_t token) {
    EXPECT_TRUE(allows(constraint, token)) << token;
    EXPECT_TRUE(constraint.accept(token)) << token;
  }
  static void say(grammar::Constraint& constraint, std::string_view text) {
    for (const char c : text) say(constraint, id(c));
  }

  std::unique_ptr<Tokenizer> tokenizer_ = kimi_tokenizer();
  CallFormat format_;
  ToolSet tools_;
  CallGrammarOptions options_;
};

TEST_F(ControlMarks, AreFoundInTheFormat) {
  EXPECT_EQ(options_.controls, (std::vector<std::string>{
                                   "<|tool_call_argument_begin|>", "<|tool_call_begin|>", "<|tool_call_end|>",
                                   "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"}));
}

TEST_F(ControlMarks, AreTokensWhereTheyStand) {
  options_.choice = ToolChoice::kRequired;
  grammar::Constraint constraint = constrain();
  EXPECT_TRUE(allows(constraint, kSectionBegin));
  EXPECT_TRUE(allows(constraint, id('<'))) << "what begins calls may be spelled, too";
  EXPECT_FALSE(allows(constraint, kCallBegin));
  EXPECT_FALSE(allows(constraint, kOther));
  EXPECT_FALSE(allows(constraint, kEnd));
  say(constraint, kSectionBegin);
  EXPECT_FALSE(allows(constraint, id('<'))) << "inside only the token is the mark";
  say(constraint, kCallBegin);
  say(constraint, "functions.get:0");
  say(constraint, kArguments);
  say(constraint, "{\"city\": \"a <|tool_call_end|> b");
  EXPECT_FALSE(allows(constraint, kCallEnd)) << "in a string it would not be text";
  EXPECT_FALSE(allows(constraint, id('\xFF')));
  say(constraint, "\"}");
  say(constraint, kCallEnd);
  EXPECT_FALSE(allows(constraint, kEnd));
  EXPECT_TRUE(allows(constraint, kCallBegin));
  say(constraint, kSectionEnd);
  EXPECT_TRUE(constraint.must_end());
}

TEST_F(ControlMarks, BeginALazyGrammar) {
  grammar::Constraint constraint = constrain();
  say(constraint, "Let me look.");
  EXPECT_TRUE(allows(constraint, kEnd));
  EXPECT_FALSE(constraint.begun());
  say(constraint, kSectionBegin);
  EXPECT_TRUE(constraint.begun());
  EXPECT_FALSE(allows(constraint, kEnd));
  say(constraint, kCallBegin);
  say(constraint, "functions.get:12");
  EXPECT_FALSE(allows(constraint, kSectionEnd));
  say(constraint, kArguments);
  say(constraint, "{}");
  say(constraint, kCallEnd);
  say(constraint, kSectionEnd);
  EXPECT_TRUE(constraint.must_end());
}

}  // namespace
}  // namespace brass::calls
