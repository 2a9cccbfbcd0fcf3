// A schema's grammar as a judge of texts.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "text/grammar/matcher.h"
#include "text/grammar/schema.h"

namespace brass::grammar {

inline bool judge(const std::shared_ptr<CompiledGrammar>& compiled, std::string_view text) {
  if (compiled == nullptr) return false;  // no value fulfils the schema
  const Result<std::string> spelled = spell_out_numbers(text);
  if (!spelled) return false;
  Matcher matcher(compiled);
  return matcher.accept_bytes(*spelled) && matcher.can_end();
}

inline Result<std::shared_ptr<CompiledGrammar>> compiled(
    std::string_view schema, SchemaOptions options = SchemaOptions::for_checking()) {
  auto grammar = TRY(grammar_from_schema(TRY(parse_schema(schema)), options));
  if (grammar == nullptr) return nullptr;
  return compile(std::move(grammar), nullptr);
}

// The texts are in the schema's language, the others are not.
inline void expect_verdicts(std::string_view schema, const std::vector<std::string>& valid,
                            const std::vector<std::string>& invalid,
                            SchemaOptions options = SchemaOptions::for_checking()) {
  const auto ready = compiled(schema, options);
  ASSERT_TRUE(ready) << schema << ": " << ready.error().message;
  for (const std::string& text : valid)
    EXPECT_TRUE(judge(*ready, text)) << schema << " should allow " << text;
  for (const std::string& text : invalid)
    EXPECT_FALSE(judge(*ready, text)) << schema << " should forbid " << text;
}

// Refused, with every one of `words` in the message.
inline void expect_refused(std::string_view schema, const std::vector<std::string>& words) {
  const auto ready = compiled(schema);
  ASSERT_FALSE(ready) << schema.substr(0, 200);
  EXPECT_TRUE(ready.error().wrong_use);
  for (const std::string& word : words)
    EXPECT_NE(ready.error().message.find(word), std::string::npos)
        << ready.error().message << " has no " << word;
}

}  // namespace brass::grammar
