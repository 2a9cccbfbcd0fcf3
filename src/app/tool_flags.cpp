#include "app/tool_flags.h"

#include <nlohmann/json.hpp>

#include "app/session.h"
#include "text/json_guard.h"

namespace brass::app {

using Json = nlohmann::ordered_json;

void declare_tools(Arguments& arguments, ToolFlags& flags) {
  arguments.option("--tools", flags.tools, "JSON file of tools that the model may call (OpenAI's form)");
  arguments.option("--tool-choice", flags.choice,
                   "auto: may be called; required: one must be; none; or the name of the one that must be");
  arguments.flag("--one-call", flags.one_call, "at most one call in a reply");
}

Result<> check_tool_flags(const ToolFlags& flags) {
  if (!flags.tools && (flags.choice != "auto" || flags.one_call))
    return wrong_use("flag {}: there are no --tools", flags.one_call ? "--one-call" : "--tool-choice");
  return {};
}

Result<Json> read_tools(const ToolFlags& flags) {
  const std::string where = fmt::format("flag --tools: {}", *flags.tools);
  const std::string text = TRY(within("flag --tools", read_text_file(*flags.tools)));
  const Json read = TRY(within(where, parse_json_exact(text)));
  const Json& list = read.is_object() && read.contains("tools") ? read["tools"] : read;
  if (!list.is_array()) return wrong_use("{}: no array of tools", where);
  const calls::ToolSet set(list);
  if (set.all().size() != list.size())
    return wrong_use("{}: {} tools, but {} different names of functions", where, list.size(),
                     set.all().size());
  return list;
}

Result<calls::CallGrammar> tool_grammar(const ToolFlags& flags, const calls::ReplyForm& form,
                                        const ChatTraits& traits, const calls::ToolSet& tools,
                                        const Tokenizer& tokenizer) {
  using calls::ToolChoice;
  calls::CallGrammarOptions options;
  options.choice = flags.choice == "auto"       ? ToolChoice::kAuto
                   : flags.choice == "required" ? ToolChoice::kRequired
                                                : ToolChoice::kNamed;
  options.name = flags.choice;
  options.parallel = !flags.one_call;
  options.nine_character_ids = traits.nine_character_ids;
  options.controls = calls::control_pieces(form.format, tokenizer);
  return within(options.choice == ToolChoice::kNamed ? "flag --tool-choice" : "flag --tools",
                calls::call_grammar(form.format, tools, options));
}

}  // namespace brass::app
