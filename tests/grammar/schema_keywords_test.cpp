// Keywords one by one, beyond the test suite: spellings, schemas as they are published, what is refused, how long it takes.
#include <chrono>

#include "grammar/schema_judge.h"
#include "sanitized.h"

namespace brass::grammar {
namespace {

// What a model writes: a key that the schema names is certain from its first letter that no other has.
TEST(SchemaKeywords, NamedKeysAreForced) {
  const auto schema =
      parse_schema(R"({"type": "object", "properties": {"name": {"const": 1}, "né\"t": {"const": 2}},
                                      "required": ["name", "né\"t"], "additionalProperties": false})");
  ASSERT_TRUE(schema.has_value());
  const auto grammar = grammar_from_schema(*schema);
  ASSERT_TRUE(grammar.has_value() && *grammar);
  Matcher m(compile(*grammar, nullptr));
  ASSERT_TRUE(m.accept_bytes("{\"na"));
  EXPECT_EQ(m.forced(), "me\"");
  ASSERT_TRUE(m.accept_bytes("me\":1,"));
  ASSERT_TRUE(m.accept_bytes("\""));
  EXPECT_EQ(m.forced(), "né\\\"t\"");
  EXPECT_FALSE(m.accept_bytes("\\u006eé"));
}

TEST(SchemaKeywords, NumbersAreEqualByValue) {
  expect_verdicts(R"({"const": 1})", {"1", "1.0", "10e-1", "0.1E1", " 1 "},
                  {"1.1", "\"1\"", "01", "true", "+1"});
  expect_verdicts(R"({"type": "integer"})", {"3", "3.0", "1e2", "2.50e1", "-0"},
                  {"3.5", "1e-2", "1.e2", "0x1"});
  expect_verdicts(R"({"enum": [1e300, {"a": [2.0]}]})", {"1e300", R"({"a": [2]})"}, {"1e299", R"({"a": 2})"});
}

TEST(SchemaKeywords, StringsInEverySpelling) {
  expect_verdicts(R"({"const": "é/\"😀"})", {R"("é/\"😀")", R"("\u00e9\/\u0022\uD83D\ude00")"},
                  {R"("é/😀")", "\"é\n\""});
  expect_verdicts(R"({"maxLength": 2})", {R"("\u00e9\uD83D\ude00")", "\"日本\""}, {"\"abc\""});
  expect_verdicts(R"({"properties": {"a": {"type": "null"}}, "required": ["a"]})", {R"({"\u0061": null})"},
                  {R"({"\u0061": 1})", R"({"a": null, "\u0061": null})"});
}

TEST(SchemaKeywords, SchemasAsTheyArePublished) {
  // pydantic
  expect_verdicts(R"({"$defs": {"Color": {"enum": ["red", "blue"], "title": "Color", "type": "string"},
      "Node": {"properties": {"name": {"title": "Name", "type": "string"}, "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "default": null},
      "color": {"$ref": "#/$defs/Color", "default": "red"}}, "required": ["name"], "title": "Node", "type": "object"}}, "$ref": "#/$defs/Node"})",
                  {R"({"name": "x"})",
                   R"({"next": {"name": "y", "next": null}, "name": "x", "color": "blue", "more": 1})"},
                  {R"({"name": "x", "color": "green"})", R"({"name": "x", "next": {}})", "null"});
  // zod
  expect_verdicts(
      R"({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"kind": {"type": "string", "const": "a"},
      "n": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991}}, "required": ["kind", "n"], "additionalProperties": false})",
      {R"({"n": 9007199254740991, "kind": "a"})"},
      {R"({"kind": "a", "n": 9007199254740992})", R"({"kind": "a", "n": 0})"});
  // a tagged union
  expect_verdicts(
      R"({"oneOf": [{"type": "object", "properties": {"t": {"const": "a"}, "x": {"type": "integer"}}, "required": ["t", "x"]},
      {"type": "object", "properties": {"t": {"const": "b"}, "y": {}}, "required": ["t", "y"]}]})",
      {R"({"t": "a", "x": 1})", R"({"y": [], "t": "b"})"},
      {R"({"t": "a", "y": 1})", R"({"t": "c", "x": 1})", "3"});
}

// Texts are told apart by what they say, numbers by their values.
TEST(SchemaKeywords, ItemsThatAreAllDifferent) {
  expect_verdicts(R"({"type": "array", "items": {"type": "string"}, "uniqueItems": true})",
                  {"[]", R"([""])", R"(["a", "ab", "b", "", "aé", "a🙂"])", R"(["\u0061b", "\n", "n"])"},
                  {R"(["a", "a"])", R"(["ab", "x", "\u0061b"])", R"(["", ""])", R"(["é", "x", "\u00e9"])",
                   R"(["🙂", "\ud83d\ude42"])", R"(["\n", "\u000a"])", R"(["a", 1])", R"(["a",])"});
  expect_verdicts(
      R"({"type": "array", "items": {"type": "string", "pattern": "^(a|b+)$"}, "uniqueItems": true, "minItems": 2})",
      {R"(["a", "b"])", R"(["bbb", "a", "b", "bb"])", R"(["\u0062b", "b"])"},
      {R"(["a"])", R"(["a", "a"])", R"(["b", "bb", "\u0062"])", R"(["b", "bb", "b"])", "[]"});
  expect_verdicts(
      R"({"type": "array", "items": {"type": ["number", "string", "null", "boolean"]}, "uniqueItems": true})",
      {R"([1, "1", 1.5, null, true, false, "true", -1, 10, 100, 0])", "[1.0, 1.5]", "[1e2, 10]", "[-0.0, 10]",
       "[0.25, 0.5, 2.05, 20.5, 2.5, -2.5]"},
      {"[1, 1.0]", "[100, 1e2]", "[0, -0]", "[-0.0, 0.0]", "[null, null]", "[1.5, 15e-1]", "[1, 11, 2, 11]"});
  expect_verdicts(
      R"({"items": {"type": "integer", "minimum": 1, "maximum": 5}, "uniqueItems": true, "maxItems": 4})",
      {"[1, 5, 3, 2]", "[]", "3", R"({"a": [1]})"}, {"[1, 2, 3, 4, 5]", "[1, 2, 1.0]", "[6]", "[1,1]"});
  expect_verdicts(
      R"({"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 2}, "uniqueItems": true,
      "minItems": 3})",
      {}, {"[1, 2]", "[1, 2, 1]", "[1, 2, 3]", "[]"});
  std::string letters;
  for (int i = 0; i < 80; i++) letters += fmt::format("{}\"v{}\"", i == 0 ? "" : ",", i);
  expect_verdicts(R"({"type": "array", "items": {"enum": [)" + letters + R"(, null]}, "uniqueItems": true})",
                  {"[" + letters + ", null]", R"(["v1", "v10", null, "v79"])"},
                  {"[" + letters + R"(, "v3"])", R"(["v80"])", R"(["v1", "v10", "v1"])", "[null, null]"});
  expect_verdicts(
      R"({"properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/n"}, "uniqueItems": true},
      "b": {"type": "array", "items": {"type": "array", "items": {"$ref": "#/$defs/n"}, "uniqueItems": true}}},
      "$defs": {"n": {"type": "string"}}})",
      {R"({"a": ["x"], "b": [["x"], ["x", "y"], []]})"}, {R"({"b": [["x"], ["x", "x"]]})"});
}

// Schemas that no value fulfils, where that shows only in the grammar.
TEST(SchemaKeywords, WhatNothingFulfils) {
  for (
      const char* schema :
      {R"({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": true, "minItems": 3})",
       R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]}}})",
       R"({"type": "array", "items": {"type": "string", "pattern": "^[ab]$"}, "uniqueItems": true, "minItems": 3})"}) {
    expect_verdicts(schema, {}, {"[]", "[1, 2]", "{}", R"({"n": {}})", R"(["a", "b"])"});
    const auto written = compiled(schema, {});
    ASSERT_FALSE(written) << schema;
    EXPECT_EQ(written.error().message, "#: no value fulfils the schema");
  }
}

// What is told apart is bounded: behind it, a text is not judged.
TEST(SchemaKeywords, ManyItemsThatAreAllDifferent) {
  const auto ready = compiled(R"({"type": "array", "items": {"type": "string"}, "uniqueItems": true})");
  ASSERT_TRUE(ready);
  std::string text = "[\"0\"";
  for (int i = 1; i < 900; i++) text += fmt::format(",\"{}\"", i);
  EXPECT_TRUE(judge(*ready, text + "]"));
  EXPECT_FALSE(judge(*ready, text + ",\"450\"]"));
  for (int i = 900; i < 1100; i++) text += fmt::format(",\"{}\"", i);
  Matcher matcher(*ready);
  EXPECT_FALSE(matcher.accept_bytes(text + "]"));
  EXPECT_TRUE(matcher.limited());
}

TEST(SchemaKeywords, WhatCannotBeEnforcedIsRefusedByName) {
  expect_refused(
      R"({"properties": {"a": {"type": "array", "uniqueItems": true}, "b": {"items": {"anyOf": [{}]}}}})",
      {"uniqueItems", "#/properties/a:"});
  expect_refused(R"({"prefixItems": [{"type": "string"}], "uniqueItems": true, "items": {"type": "string"}})",
                 {"uniqueItems", "#:"});
  expect_refused(R"({"properties": {"a": {"uniqueItems": true}}})", {"uniqueItems", "#/properties/a"});
  expect_refused(R"({"$ref": "https://example.com/s.json"})", {"$ref", "https://example.com/s.json"});
  expect_refused(R"({"multipleOf": 0.123456789})", {"multipleOf"});
  expect_refused(R"({"pattern": "(a)\\1"})", {"pattern"});
  expect_refused(R"({"type": "strng"})", {"type", "strng"});
  expect_refused(R"({"minLength": -1})", {"minLength"});
  expect_refused(R"({"format": "idn-email"})", {"format", "idn-email"});
  expect_refused(R"({"$schema": "https://example.com/own"})", {"$schema"});
  expect_refused(R"({"allOf": [{"$ref": "#"}]})", {"$ref"});
  expect_refused(R"({"$recursiveRef": "#"})", {"$recursiveRef"});
  expect_refused(R"({"items": 3})", {"items"});
}

TEST(SchemaKeywords, NoValueIsAnErrorOnlyForGeneration) {
  expect_verdicts(R"({"type": "string", "enum": [1]})", {}, {"1", "\"a\"", "null"});
  expect_verdicts("false", {}, {"1", "{}", ""});
  EXPECT_FALSE(compiled("false", SchemaOptions{}));
}

TEST(SchemaKeywords, AnnotationsSayNothing) {
  expect_verdicts(
      R"({"title": "t", "description": 3, "default": {}, "examples": [1], "deprecated": true, "readOnly": true,
      "$comment": "c", "x-own": {"type": "string"}, "contentEncoding": "base64", "format": "color"})",
      {"1", "\"a\"", "{}"}, {"", "nul"});
}

TEST(SchemaKeywords, FormatsAreEnforced) {
  expect_verdicts(R"({"type": "string", "format": "date-time"})",
                  {R"("2024-02-29T23:59:60Z")", R"("2023-01-31t00:00:00.5+01:30")"},
                  {R"("2023-02-29T00:00:00Z")", R"("2024-01-01 00:00:00Z")", R"("2024-01-01T22:59:60Z")"});
  expect_verdicts(R"({"format": "ipv6"})",
                  {R"("::1")", R"("1:2:3:4:5:6:7:8")", R"("::ffff:1.2.3.4")", R"("1::8")", "5"},
                  {R"("1:2:3:4:5:6:7")", R"(":::1")", R"("1::2::3")", R"("12345::")", R"("::1.2.3.256")"});
  expect_verdicts(R"({"format": "uuid"})", {R"("2eb8aa08-aa98-11ea-b4aa-73b441d16380")"},
                  {R"("2eb8aa08-aa98-11ea-b4aa")"});
}

// Generation spells as programs do: nothing that a model could go on with for ever.
TEST(SchemaKeywords, GenerationIsTerse) {
  const SchemaOptions options;
  const auto writes = [&](const char* schema, std::string_view text) {
    Matcher matcher(*compiled(schema, options));  // the text as it is
    return matcher.accept_bytes(text) && matcher.can_end();
  };
  for (const char* text : {"1", "-20"}) EXPECT_TRUE(writes(R"({"type": "integer"})", text)) << text;
  for (const char* text : {"1.0", " 1", "01"}) EXPECT_FALSE(writes(R"({"type": "integer"})", text)) << text;
  constexpr const char* kNumber = R"({"type": "number", "minimum": 0})";
  for (const char* text : {"1", "1.0", "0.25"}) EXPECT_TRUE(writes(kNumber, text)) << text;
  for (const char* text : {"1.00", "0.250"}) EXPECT_FALSE(writes(kNumber, text)) << text;
  expect_verdicts(R"({"type": "array", "items": {"type": "null"}})",
                  {"[null,null]", "[null, null]", "[\n  null\n]"}, {"[  null]", "[\n\n null]"}, options);
  SchemaOptions compact = options;
  compact.space = JsonSpace::kCompact;
  expect_verdicts(R"({"type": "object"})", {R"({"a":[1,{"b":2}]})"}, {R"({"a": 1})", R"({ })"}, compact);
  SchemaOptions ordered = options;
  ordered.ordered = true;
  expect_verdicts(
      R"({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "c"], "additionalProperties": false})",
      {R"({"a": 1, "c": 2})", R"({"a": 1, "b": 1, "c": 2})"}, {R"({"c": 2, "a": 1})", R"({"a": 1})"},
      ordered);
}

TEST(SchemaKeywords, PartsOfLargerGrammars) {
  auto grammar = std::make_shared<Grammar>();
  const NodeId any = *json_value_node(*grammar), object = *json_object_node(*grammar);
  const NodeId number =
      *schema_node(*grammar, nlohmann::ordered_json::parse(R"({"type": "integer", "minimum": 3})"));
  const NodeId bar = grammar->text("|");
  ASSERT_TRUE(grammar->freeze(grammar->sequence({number, bar, object, bar, any})));
  const auto ready = compile(grammar, nullptr);
  EXPECT_TRUE(judge(ready, R"(3|{"a": [null]}|"x")"));
  EXPECT_FALSE(judge(ready, R"(2|{"a": [null]}|"x")"));
  EXPECT_FALSE(judge(ready, R"(3|[1]|"x")"));
}

std::string repeated(const std::string& piece, int count) {
  std::string out;
  for (int i = 0; i < count; i++) out += piece;
  return out;
}

// Accepted or refused: the time is bounded.
TEST(SchemaKeywords, HostileSchemasAreQuick) {
  std::string numbers = "0", strings = "\"s\"", objects, ranges, nots, nested = "{}", tangled = "{}";
  for (int i = 1; i < 100000; i++)
    numbers += "," + std::to_string(i * 7919), strings += ",\"s" + std::to_string(i) + "\"";
  for (int i = 0; i < 10000; i++) {
    const std::string n = std::to_string(i), comma = i > 0 ? "," : "";
    objects += comma + R"({"type":"object","properties":{"k":{"const":"v)" + n + R"("}},"required":["k"]})";
    ranges +=
        comma + R"({"minimum":)" + std::to_string(2 * i) + R"(,"maximum":)" + std::to_string(2 * i) + ".5}";
    nots += comma + R"({"not":{"required":["p)" + n + R"("]}})";
  }
  for (int i = 0; i < 40; i++)
    tangled = R"({"anyOf":[)" + tangled + R"(,{"not":)" + tangled.substr(0, 2000) + "}]}";
  for (int i = 0; i < 60; i++) nested = R"({"properties":{"a":)" + nested + R"(},"not":{"required":["b"]}})";
  const std::vector<std::string> schemas = {
      "{\"enum\":[" + numbers + "]}",
      "{\"enum\":[" + strings + "]}",
      "{\"anyOf\":[" + objects + "]}",
      "{\"oneOf\":[" + objects + "]}",
      "{\"anyOf\":[" + ranges + "]}",
      "{\"oneOf\":[" + ranges + "]}",
      "{\"allOf\":[" + nots + "]}",
      "{\"anyOf\":[" + nots + "]}",
      nested,
      R"({"minItems": 5, "maxItems": 3})",
      R"({"minItems": 1000000000, "items": {"type": "null"}})",
      R"({"minLength": 1000000000})",
      R"({"pattern": "^(a+)+$"})",
      R"({"pattern": "^a{5,2}$"})",
      R"({"pattern": "^(a|b)*a(a|b){40}$", "not": {"pattern": "(b|a)*b(a|b){40}$"}})",
      R"({"$ref": "#"})",
      R"({"properties": {"a": {"$ref": "#"}}, "required": ["a"]})",
      R"({"not": {"$ref": "#"}})",
      R"({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"})",
      repeated("{\"not\":", 100000) + "{}" + repeated("}", 100000),
      repeated("[", 100000)};
  for (const std::string& schema : schemas) {
    const auto before = std::chrono::steady_clock::now();
    const auto ready = compiled(schema);
    if (ready) judge(*ready, R"({"k": "v77", "a": [1, 2, 3]})");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    if (kSanitized) continue;  // times say nothing
    EXPECT_LT(took.count(), 20.0) << schema.substr(0, 120);
  }
}

// Nesting without end: a verdict, or word that there is none.
TEST(SchemaKeywords, DeepInstancesAreJudgedOrSaidNotToBe) {
  constexpr const char* kSchemas[] = {
      "{}", "{\"items\": {\"$ref\": \"#\"}, \"additionalProperties\": {\"$ref\": \"#\"}}",
      ("{\"anyOf\": [{\"type\": \"array\", \"items\": {\"$ref\": \"#\"}}, {\"additionalProperties\": "
       "{\"$ref\": \"#\"}}]}")};
  for (const char* schema : kSchemas) {
    for (const auto& [open, close] : {std::pair<std::string, std::string>{"[", "]"}, {"{\"a\":", "}"}}) {
      for (const int depth : {200, 5000, 100'000}) {
        std::string text, end;
        for (int i = 0; i < depth; i++) text += open;
        text += "1";
        for (int i = 0; i < depth; i++) end += close;
        const auto ready = compiled(schema);
        ASSERT_TRUE(ready) << ready.error().message;
        Matcher matcher(*ready);
        const bool valid = matcher.accept_bytes(text + end) && matcher.can_end();
        EXPECT_TRUE(valid || matcher.limited()) << schema << ": " << open << " " << depth;
        EXPECT_TRUE(valid || depth > 200) << schema << ": " << open;
        Matcher other(*compiled(schema));
        EXPECT_FALSE(other.accept_bytes(text.substr(0, open.size() * 200) + ",") || other.limited());
      }
    }
  }
}

}  // namespace
}  // namespace brass::grammar
