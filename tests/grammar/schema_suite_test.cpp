// Verdicts of the JSON Schema Test Suite and of random schemas (tools/oracles/schema_suite.py, schema_fuzz.py; the suite is
// MIT, Copyright (c) 2012 Julian Berman).
#include <fstream>

#include "grammar/schema_judge.h"
#include "source_dir.h"

namespace brass::grammar {
namespace {

using Json = nlohmann::ordered_json;

struct Count {
  int schemas = 0, verdicts = 0;
};

Count run(const std::string& name) {
  std::ifstream file(source_dir() + "/tests/grammar/fixtures/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  Count count;
  for (std::string line; std::getline(file, line); count.schemas++) {
    const Result<Json> row = parse_schema(line);
    if (!row) {
      ADD_FAILURE() << row.error().message;
      continue;
    }
    SchemaOptions options = SchemaOptions::for_checking();
    if ((*row)["draft"] == "7") options.draft = SchemaDraft::k7;
    options.enforce_formats = (*row)["annotate"] == false;
    const auto grammar = grammar_from_schema((*row)["schema"], options);
    if (!grammar) {
      ADD_FAILURE() << (*row)["file"] << ": " << grammar.error().message;
      continue;
    }
    const auto ready = *grammar == nullptr ? nullptr : compile(*grammar, nullptr);
    for (const Json& test : (*row)["tests"]) {
      EXPECT_EQ(judge(ready, test[0].get<std::string>()), test[1].get<bool>())
          << (*row)["file"] << ": " << (*row)["schema"] << " and " << test[0];
      count.verdicts++;
    }
  }
  return count;
}

TEST(SchemaSuite, EveryInstanceOfEverySupportedSchema) {
  const Count count = run("schema_suite.jsonl");
  EXPECT_GT(count.schemas, 600);
  EXPECT_GT(count.verdicts, 2500);
}

TEST(SchemaSuite, RandomSchemas) {
  const Count count = run("schema_fuzz.jsonl");
  EXPECT_GT(count.schemas, 200);
  EXPECT_GT(count.verdicts, 2000);
}

}  // namespace
}  // namespace brass::grammar
