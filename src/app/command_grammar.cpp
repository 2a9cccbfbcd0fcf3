// brass grammar check: what a JSON Schema is as a grammar, and whether a text is in it.
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/json_lines.h"
#include "app/session.h"
#include "text/grammar/matcher.h"
#include "text/grammar/schema.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

struct GrammarCheckFlags {
  std::string action, schema, instance, jsonl, draft = "auto", formats = "enforce";
  bool json = false;
};

grammar::SchemaOptions options_of(const GrammarCheckFlags& flags) {
  grammar::SchemaOptions options = grammar::SchemaOptions::for_checking();
  options.enforce_formats = flags.formats == "enforce";
  if (flags.draft == "7") options.draft = grammar::SchemaDraft::k7;
  if (flags.draft == "2020-12") options.draft = grammar::SchemaDraft::k2020;
  return options;
}

// Where the text leaves the language: nothing if it does not.
Result<std::optional<size_t>> judge(const std::shared_ptr<grammar::CompiledGrammar>& compiled,
                                    std::string_view instance) {
  if (compiled == nullptr) return 0;  // no value fulfils the schema
  const std::string text = TRY(grammar::spell_out_numbers(instance));
  grammar::Matcher matcher(compiled);
  for (size_t i = 0; i < text.size(); i++) {
    if (matcher.accept_bytes(std::string_view(text).substr(i, 1))) continue;
    if (matcher.limited())
      return wrong_use("not judged: at byte {} it nests too deep, or reads in too many ways", i);
    return i;
  }
  return matcher.can_end() ? std::nullopt : std::optional<size_t>(text.size());
}

Result<std::shared_ptr<grammar::CompiledGrammar>> compiled(const Json& schema,
                                                           const GrammarCheckFlags& flags) {
  auto grammar = TRY(grammar::grammar_from_schema(schema, options_of(flags)));
  if (grammar == nullptr) return nullptr;
  return grammar::compile(std::move(grammar), nullptr);
}

// {"schema": …, "instances": ["text", …]} to {"valid": [true, …]}.
Result<Json> check_line(const std::string& line, const GrammarCheckFlags& flags) {
  const Json request = TRY(grammar::parse_schema(line));
  if (!request.is_object() || !request.contains("schema")) return fail("the line has no 'schema'");
  const auto ready = TRY(compiled(request["schema"], flags));
  Json valid = Json::array();
  const Json instances = request.value("instances", Json(Json::array()));
  if (!instances.is_array()) return fail("'instances': a list of texts");
  for (const Json& instance : instances) {
    if (!instance.is_string()) return fail("'instances': a list of texts");
    valid.push_back(!TRY(judge(ready, instance.get_ref<const std::string&>())));
  }
  return Json{{"valid", valid}};
}

Result<std::shared_ptr<grammar::CompiledGrammar>> compiled_text(const std::string& text,
                                                                const GrammarCheckFlags& flags) {
  const Result<Json> schema = grammar::parse_schema(text);
  if (!schema) return wrong_use("{}", schema.error().message);  // refused, as any other schema
  return compiled(*schema, flags);
}

Result<> check_files(const GrammarCheckFlags& flags) {
  const auto ready = compiled_text(TRY(read_text_file(flags.schema)), flags);
  if (!ready) {
    if (flags.json) fmt::print("{}\n", Json{{"supported", false}, {"error", ready.error().message}}.dump());
    return std::unexpected(Error{ready.error()}.within(flags.schema));
  }
  Json out{{"supported", true}};
  std::optional<size_t> wrong;
  if (!flags.instance.empty()) {
    wrong = TRY(within(flags.instance, judge(*ready, TRY(read_text_file(flags.instance)))));
    out["valid"] = !wrong;
    if (wrong) out["offset"] = *wrong;
  }
  if (flags.json)
    fmt::print("{}\n", out.dump());
  else if (!wrong)
    fmt::print("{}\n", flags.instance.empty() ? "supported" : "valid");
  if (wrong)
    return fail("{}: not valid: byte {} (numbers written without exponents) cannot follow", flags.instance,
                *wrong);
  return {};
}

Result<> run_grammar(const GrammarCheckFlags& flags) {
  if (flags.action != "check") return wrong_use("'{}': the action is 'check'", flags.action);
  if (!flags.jsonl.empty() && !(flags.schema.empty() && flags.instance.empty()))
    return wrong_use("give a SCHEMA or --jsonl");
  if (!flags.jsonl.empty())
    return answer_texts(flags.jsonl, [&](const std::string& line) { return check_line(line, flags); });
  if (flags.schema.empty()) return wrong_use("give a SCHEMA, or --jsonl");
  return check_files(flags);
}

}  // namespace

Body declare_grammar(Arguments& arguments) {
  auto flags = std::make_shared<GrammarCheckFlags>();
  arguments.operand("ACTION", flags->action, "check: is the schema supported, is the instance valid");
  arguments.operand("SCHEMA", flags->schema, "file with a JSON Schema", false);
  arguments.option("--instance", flags->instance, "file with a JSON text to judge ('-': standard input)");
  arguments.option("--jsonl", flags->jsonl,
                   "lines of {\"schema\", \"instances\": [texts]}; one line of verdicts each comes out");
  arguments.choice("--draft", flags->draft, {"auto", "7", "2020-12"},
                   "what keywords mean; auto: as $schema says");
  arguments.choice("--formats", flags->formats, {"enforce", "annotate"}, "what the keyword format does");
  arguments.flag("--json", flags->json, "machine-readable");
  return [flags] { return run_grammar(*flags); };
}

}  // namespace brass::app
