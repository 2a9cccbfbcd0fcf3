// Whole grammars in GBNF and Lark, against what the `lark` package says (tools/oracles/grammar_fixtures.py).
#include <fstream>
#include <nlohmann/json.hpp>

#include "notation_support.h"
#include "source_dir.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/lark.h"

namespace brass::grammar {
namespace {

TEST(Notations, HaveTheTextsOfTheOracle) {
  std::ifstream file(source_dir() + "/tests/grammar/fixtures/notations.jsonl");
  std::string line;
  int grammars = 0, yes = 0, no = 0;
  while (std::getline(file, line)) {
    const auto row = nlohmann::json::parse(line);
    const auto source = row["grammar"].get<std::string>();
    SCOPED_TRACE(source);
    const GrammarResult grammar =
        row["syntax"] == "gbnf" ? grammar_from_gbnf(source) : grammar_from_lark(source);
    ASSERT_TRUE(grammar) << grammar.error().message;
    grammars++;
    const std::shared_ptr<CompiledGrammar> compiled = compile(*grammar, nullptr);
    for (const auto& entry : row["texts"]) {
      const auto text = entry[0].get<std::string>();
      const bool allowed = entry[1].get<bool>();
      Matcher matcher(compiled);
      EXPECT_EQ(matcher.accept_bytes(text) && matcher.can_end(), allowed) << "'" << text << "'";
      (allowed ? yes : no)++;
    }
  }
  EXPECT_GT(grammars, 40);
  EXPECT_GT(yes, 300);
  EXPECT_GT(no, 300);
}

}  // namespace
}  // namespace brass::grammar
