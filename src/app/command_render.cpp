// brass render: the prompt text that a chat template makes, byte for byte.
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/json_lines.h"
#include "app/session.h"
#include "gguf/vocab.h"
#include "text/jinja_json.h"
#include "text/json_guard.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  ModelFlags model;
  std::string messages, tools, context, template_name, jsonl;
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

// What is rendered: messages with tools, or all variables of a bare template.
struct Request {
  Json messages, context;  // one of them is null
  Json tools, vars = Json::object();
  bool generation_prompt = true, raw = false;
};

// A template that is used more than once. Normalization needs to know what it takes; a bare one does not.
class Renderer {
 public:
  Renderer(const Flags& flags, Source source)
      : name_(flags.model.model), source_(std::move(source)), options_(chat_options(source_.vocab)) {}

  Result<jinja::Rendered> render(const Request& request, std::vector<std::string>& warnings) {
    return within(name_,
                  request.context.is_null() ? render_messages(request, warnings) : render_context(request));
  }

 private:
  Result<jinja::Rendered> render_context(const Request& request);
  Result<jinja::Rendered> render_messages(const Request& request, std::vector<std::string>& warnings);

  std::string name_;
  Source source_;
  ChatOptions options_;
  std::unique_ptr<jinja::Template> bare_;
  std::unique_ptr<ChatTemplate> chat_;
};

Result<jinja::Rendered> Renderer::render_context(const Request& request) {
  if (!request.context.is_object()) return fail("the context is not a JSON object");
  Json context = request.context;
  context.update(request.vars);
  if (bare_ == nullptr) bare_ = TRY(jinja::Template::parse(source_.text));
  jinja::RenderOptions render;
  render.clock = options_.clock;
  return bare_->render(TRY(jinja::context_from_json(context)), render);
}

Result<jinja::Rendered> Renderer::render_messages(const Request& request,
                                                  std::vector<std::string>& warnings) {
  ChatOptions options = options_;
  Json vars = request.vars;
  for (const auto& [name, target] :
       {std::pair{"bos_token", &options.bos_token}, {"eos_token", &options.eos_token}}) {
    if (!vars.contains(name) || !vars[name].is_string()) continue;
    *target = vars[name].get<std::string>();
    vars.erase(name);
  }
  options.add_generation_prompt = request.generation_prompt;
  options.normalize = !request.raw;
  options.extra_vars = &vars;
  options.warnings = &warnings;
  if (chat_ == nullptr) chat_ = TRY(ChatTemplate::load(source_.text));
  return chat_->render(request.messages, request.tools, options);
}

Result<Request> request_of_flags(const Flags& flags) {
  Request request{
      .vars = TRY(read_vars(flags)), .generation_prompt = !flags.no_generation_prompt, .raw = flags.raw};
  if (!flags.tools.empty()) request.tools = TRY(read_json_file(flags.tools));
  if (!flags.context.empty()) request.context = TRY(read_json_file(flags.context));
  if (!flags.messages.empty()) request.messages = TRY(read_json_file(flags.messages));
  if (request.messages.is_object()) {  // a request: messages and tools together
    if (request.tools.is_null() && request.messages.contains("tools"))
      request.tools = request.messages["tools"];
    request.messages = Json(request.messages.value("messages", Json::array()));
  }
  return request;
}

Result<> set_flag(bool& flag, const std::string& name, const Json& value) {
  if (!value.is_boolean()) return fail("{} is not true or false", name);
  flag = value.get<bool>();
  return {};
}

// A line of --jsonl, over what the flags say.
Result<Request> request_of_line(const Json& line, Request request) {
  if (!line.is_object()) return fail("a line is a JSON object, not {}", line.type_name());
  for (const auto& [name, value] : line.items()) {
    if (name == "messages") {
      request.messages = value;
    } else if (name == "context") {
      request.context = value;
    } else if (name == "tools") {
      request.tools = value;
    } else if (name == "vars") {
      if (!value.is_object()) return fail("vars is not a JSON object");
      request.vars.update(value);
    } else if (name == "add_generation_prompt") {
      TRY(set_flag(request.generation_prompt, name, value));
    } else if (name == "raw") {
      TRY(set_flag(request.raw, name, value));
    } else {
      return fail_hint("there are messages or context, tools, vars, add_generation_prompt and raw",
                       "'{}' is no field of a request", name);
    }
  }
  if (request.messages.is_null() == request.context.is_null())
    return fail("a request has one of messages and context");
  return request;
}

Result<> render_lines(const Flags& flags, Renderer& renderer) {
  const Request defaults = TRY(request_of_flags(flags));
  return answer_lines(flags.jsonl, [&](const Json& line) -> Result<Json> {
    std::vector<std::string> warnings;
    const jinja::Rendered rendered = TRY(renderer.render(TRY(request_of_line(line, defaults)), warnings));
    Json answer = {{"text", rendered.text}};
    if (!warnings.empty()) answer["warnings"] = warnings;
    return answer;
  });
}

Result<> run_render(const Flags& flags) {
  const int given = !flags.messages.empty() + !flags.context.empty() + !flags.jsonl.empty();
  if (given != 1) return wrong_use("give one of --messages, --context and --jsonl");
  if (!flags.tools.empty() && !flags.context.empty()) return wrong_use("flag --tools: goes with --messages");
  Renderer renderer(flags, TRY(read_source(flags)));
  if (!flags.jsonl.empty()) return render_lines(flags, renderer);
  std::vector<std::string> warnings;
  const jinja::Rendered rendered = TRY(renderer.render(TRY(request_of_flags(flags)), warnings));
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
  arguments.option(
      "--jsonl", flags->jsonl,
      "a file ('-': standard input, read as it comes) with one request a line: an object with "
      "messages or context, tools, vars, add_generation_prompt, raw; {\"text\"} or {\"error\"} a "
      "line comes out");
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
