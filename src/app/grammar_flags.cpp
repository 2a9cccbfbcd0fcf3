#include "app/grammar_flags.h"

#include <nlohmann/json.hpp>

#include "app/session.h"
#include "text/grammar/choices.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/lark.h"
#include "text/grammar/schema.h"

namespace brass::app {
namespace {

using GrammarResult = Result<std::shared_ptr<const grammar::Grammar>>;

// What was asked for is at fault, not what it was asked of.
GrammarResult blame(std::string_view what, GrammarResult result) {
  if (result) return result;
  Error error = std::move(result.error()).within(what);
  error.wrong_use = true;
  return std::unexpected(std::move(error));
}

bool is_lark(const GrammarFlags& flags) {
  return flags.syntax.empty() ? flags.grammar->ends_with(".lark") : flags.syntax == "lark";
}

}  // namespace

void declare_grammar(Arguments& arguments, GrammarFlags& flags) {
  arguments.option("--grammar", flags.grammar,
                   "file of a grammar of the reply, in GBNF or (FILE.lark) in Lark");
  arguments.choice("--grammar-syntax", flags.syntax, {"gbnf", "lark"},
                   "of --grammar, whatever the file's name is");
  arguments.option("--json-schema", flags.json_schema,
                   "file of a JSON Schema: the reply is JSON that it allows");
  arguments.option("--regex", flags.regex, "regular expression (ECMA-262) that the whole reply matches");
  arguments.option("--choices", flags.choices, "texts of which the reply is one: a,b,c ('\\,' is a comma)");
  arguments.option("--grammar-after", flags.after,
                   "text (as </think>) that ends what is free in front of the grammar");
  arguments.option("--grammar-trigger", flags.triggers,
                   "text in a free reply with which the grammar begins (repeatable)");
}

Result<> check_grammar_flags(const GrammarFlags& flags) {
  const int given =
      (flags.grammar ? 1 : 0) + (flags.json_schema ? 1 : 0) + (flags.regex ? 1 : 0) + (flags.choices ? 1 : 0);
  if (given > 1) return wrong_use("flags --grammar, --json-schema, --regex, --choices: give one of them");
  if (given == 0 && (!flags.after.empty() || !flags.triggers.empty()))
    return wrong_use("flag {}: there is no grammar to begin",
                     flags.after.empty() ? "--grammar-trigger" : "--grammar-after");
  if (!flags.syntax.empty() && !flags.grammar)
    return wrong_use("flag --grammar-syntax: there is no --grammar");
  if (!flags.after.empty() && !flags.triggers.empty())
    return wrong_use("flag --grammar-trigger: the grammar begins --grammar-after a text");
  return {};
}

GrammarResult read_grammar(const GrammarFlags& flags) {
  if (flags.grammar) {
    std::string text = TRY(within("flag --grammar", read_text_file(*flags.grammar)));
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // the mark that some editors put before UTF-8
    return blame(fmt::format("flag --grammar: {}", *flags.grammar),
                 is_lark(flags) ? grammar::grammar_from_lark(text) : grammar::grammar_from_gbnf(text));
  }
  if (flags.json_schema) {
    const std::string text = TRY(within("flag --json-schema", read_text_file(*flags.json_schema)));
    const auto read = [&]() -> GrammarResult {
      return grammar::grammar_from_schema(TRY(grammar::parse_schema(text)));
    };
    return blame(fmt::format("flag --json-schema: {}", *flags.json_schema), read());
  }
  if (flags.regex) return blame("flag --regex", grammar::grammar_from_regex(*flags.regex));
  if (flags.choices)
    return blame("flag --choices", grammar::grammar_from_choices(split_choices(*flags.choices)));
  return nullptr;
}

bool says_where(const GrammarFlags& flags) { return !flags.after.empty() || !flags.triggers.empty(); }

grammar::ConstraintOptions constraint_options(const GrammarFlags& flags) {
  grammar::ConstraintOptions options;
  options.in_reasoning = !flags.after.empty();
  options.reasoning_end = flags.after;
  options.triggers = flags.triggers;
  return options;
}

std::vector<std::string> split_choices(const std::string& text) {
  std::vector<std::string> choices(1);
  for (size_t i = 0; i < text.size(); i++) {
    const bool escaped =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ',' || text[i + 1] == '\\');
    if (escaped)
      choices.back() += text[++i];
    else if (text[i] == ',')
      choices.emplace_back();
    else
      choices.back() += text[i];
  }
  return choices;
}

}  // namespace brass::app
