// brass render: the prompt text that a chat template makes, byte for byte.
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/session.h"
#include "gguf/vocab.h"
#include "text/jinja_json.h"
#include "text/json_guard.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  ModelFlags model;
  std::string messages, tools, context, template_name;
  std::vector<std::string> vars;
  bool no_generation_prompt = false, raw = false;
};

struct Source {
  std::string text;
  VocabSpec vocab;  // of a model file; empty for a bare template
};

Result<Source> read_source(const Flags& flags) {
  Source source;
  if (flags.model.model.ends_with(".jinja") || flags.model.model.ends_with(".jinja2")) {
    source.text = TRY(read_text_file(flags.model.model));
    return source;
  }
  const std::string path = TRY(find_model(flags.model));
  source.vocab = TRY(gguf::read_vocab(TRY(gguf::File::open(path))));
  source.text = source.vocab.chat_template;
  if (!flags.template_name.empty()) {
    source.text.clear();
    for (const auto& [name, text] : source.vocab.named_templates)
      if (name == flags.template_name) source.text = text;
  }
  if (source.text.empty())
    return fail(
        "{}: the file has no {}", path,
        flags.template_name.empty() ? "chat template" : "chat template named '" + flags.template_name + "'");
  return source;
}

Result<Json> read_json_file(const std::string& path) {
  return within(path, parse_json(TRY(read_text_file(path))));
}

// --var k=v: JSON if it parses, else a string.
Result<Json> read_vars(const Flags& flags) {
  Json vars = Json::object();
  for (const std::string& text : flags.vars) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return wrong_use("flag --var: '{}' is not NAME=VALUE", text);
    const std::string value = text.substr(equals + 1);
    const Result<Json> parsed = parse_json(value);
    vars[text.substr(0, equals)] = parsed ? *parsed : Json(value);
  }
  return vars;
}

Result<jinja::Rendered> render_context(const Flags& flags, const Source& source, const Json& vars,
                                       const ChatOptions& options) {
  Json context = TRY(read_json_file(flags.context));
  if (!context.is_object()) return fail("{}: is not a JSON object", flags.context);
  context.update(vars);
  const auto parsed = TRY(jinja::Template::parse(source.text));
  jinja::RenderOptions render;
  render.clock = options.clock;
  return parsed->render(TRY(jinja::context_from_json(context)), render);
}

Result<jinja::Rendered> render_messages(const Flags& flags, const Source& source, Json vars,
                                        ChatOptions options, std::vector<std::string>& warnings) {
  Json messages = TRY(read_json_file(flags.messages));
  Json tools = flags.tools.empty() ? Json(nullptr) : TRY(read_json_file(flags.tools));
  if (messages.is_object()) {  // a request: messages and tools together
    if (tools.is_null() && messages.contains("tools")) tools = messages["tools"];
    messages = messages.value("messages", Json::array());
  }
  for (const auto& [name, target] :
       {std::pair{"bos_token", &options.bos_token}, {"eos_token", &options.eos_token}}) {
    if (!vars.contains(name) || !vars[name].is_string()) continue;
    *target = vars[name].get<std::string>();
    vars.erase(name);
  }
  options.add_generation_prompt = !flags.no_generation_prompt;
  options.normalize = !flags.raw;
  options.extra_vars = &vars;
  options.warnings = &warnings;
  return TRY(ChatTemplate::load(source.text))->render(messages, tools, options);
}

Result<> run_render(const Flags& flags) {
  if (flags.messages.empty() == flags.context.empty())
    return wrong_use("give one of --messages and --context");
  if (!flags.tools.empty() && flags.messages.empty()) return wrong_use("flag --tools: goes with --messages");
  const Source source = TRY(read_source(flags));
  const Json vars = TRY(read_vars(flags));
  const ChatOptions options = chat_options(source.vocab);
  std::vector<std::string> warnings;
  const jinja::Rendered rendered = TRY(within(
      flags.model.model, flags.context.empty() ? render_messages(flags, source, vars, options, warnings)
                                               : render_context(flags, source, vars, options)));
  for (const std::string& warning : warnings) fmt::print(stderr, "brass: warning: {}\n", warning);
  std::cout.write(rendered.text.data(), static_cast<std::streamsize>(rendered.text.size()));
  std::cout.flush();
  return {};
}

}  // namespace

Body declare_render(Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  declare_model(arguments, flags->model);
  arguments.option("--messages", flags->messages,
                   "JSON file: an array of messages (or a request with messages and tools)");
  arguments.option("--tools", flags->tools, "JSON file: an array of tools");
  arguments.option("--context", flags->context, "JSON file: all variables of a bare template");
  arguments.option("--template", flags->template_name, "one of the model's named templates");
  arguments.option("--var", flags->vars,
                   "NAME=VALUE: one more variable; JSON if it parses, else a string (repeatable)");
  arguments.flag("--no-generation-prompt", flags->no_generation_prompt, "ends behind the last message");
  arguments.flag("--raw", flags->raw, "message shapes as given, without normalization");
  return [flags] { return run_render(*flags); };
}

}  // namespace brass::app
