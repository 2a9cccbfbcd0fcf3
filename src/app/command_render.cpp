// brass render: the prompt text that a chat template makes, byte for byte.
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/chat_template_flags.h"
#include "app/commands.h"
#include "app/json_lines.h"
#include "text/jinja_json.h"
#include "text/json_guard.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

struct RenderFlags {
  TemplateFlags source;
  std::string messages, tools, context, jsonl;
  bool no_generation_prompt = false, raw = false;
};

// What is rendered: messages with tools, or all variables of a bare template.
struct Request {
  Json messages, context;  // one of them is null
  Json tools, vars = Json::object();
  bool generation_prompt = true, raw = false;
};

// A template that is used more than once. Normalization needs to know what it takes; a bare one does not.
class Renderer {
 public:
  Renderer(const RenderFlags& flags, TemplateSource source)
      : name_(flags.source.model.model), source_(std::move(source)), options_(chat_options(source_.vocab)) {}

  Result<jinja::Rendered> render(const Request& request, std::vector<std::string>& warnings) {
    return within(name_,
                  request.context.is_null() ? render_messages(request, warnings) : render_context(request));
  }

 private:
  Result<jinja::Rendered> render_context(const Request& request);
  Result<jinja::Rendered> render_messages(const Request& request, std::vector<std::string>& warnings);

  std::string name_;
  TemplateSource source_;
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
  take_tokens(vars, options);
  options.add_generation_prompt = request.generation_prompt;
  options.normalize = !request.raw;
  options.extra_vars = &vars;
  options.warnings = &warnings;
  if (chat_ == nullptr) chat_ = TRY(ChatTemplate::load(source_.text));
  return chat_->render(request.messages, request.tools, options);
}

Result<Request> request_of_flags(const RenderFlags& flags) {
  Request request{.vars = TRY(template_vars(flags.source)),
                  .generation_prompt = !flags.no_generation_prompt,
                  .raw = flags.raw};
  if (!flags.tools.empty()) request.tools = TRY(read_tools_file(flags.tools));
  if (!flags.context.empty()) request.context = TRY(read_json_file(flags.context));
  if (!flags.messages.empty()) request.messages = TRY(read_json_file(flags.messages));
  if (!flags.messages.empty() && !request.messages.is_array() && !request.messages.contains("messages"))
    return fail("{}: neither an array of messages nor an object with 'messages'", flags.messages);
  if (request.messages.is_object()) {  // a request: messages and tools together
    if (request.tools.is_null() && request.messages.contains("tools"))
      request.tools = request.messages["tools"];
    request.messages = Json(request.messages["messages"]);
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

Result<> render_lines(const RenderFlags& flags, Renderer& renderer) {
  const Request defaults = TRY(request_of_flags(flags));
  return answer_lines(flags.jsonl, [&](const Json& line) -> Result<Json> {
    std::vector<std::string> warnings;
    const jinja::Rendered rendered = TRY(renderer.render(TRY(request_of_line(line, defaults)), warnings));
    Json answer = {{"text", rendered.text}};
    if (!warnings.empty()) answer["warnings"] = warnings;
    return answer;
  });
}

Result<> run_render(const RenderFlags& flags) {
  const int given = !flags.messages.empty() + !flags.context.empty() + !flags.jsonl.empty();
  if (given != 1) return wrong_use("give one of --messages, --context and --jsonl");
  if (!flags.tools.empty() && !flags.context.empty()) return wrong_use("flag --tools: goes with --messages");
  Renderer renderer(flags, TRY(read_template(flags.source)));
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
  auto flags = std::make_shared<RenderFlags>();
  declare_template(arguments, flags->source);
  arguments.option("--messages", flags->messages,
                   "JSON file: an array of messages (or a request with messages and tools)");
  arguments.option(
      "--jsonl", flags->jsonl,
      "a file ('-': standard input, read as it comes) with one request a line: an object with "
      "messages or context, tools, vars, add_generation_prompt, raw; {\"text\"} or {\"error\"} a "
      "line comes out");
  arguments.option("--tools", flags->tools, "JSON file: an array of tools (or a request with tools)");
  arguments.option("--context", flags->context, "JSON file: all variables of a bare template");
  arguments.flag("--no-generation-prompt", flags->no_generation_prompt, "ends behind the last message");
  arguments.flag("--raw", flags->raw, "message shapes as given, without normalization");
  return [flags] { return run_render(*flags); };
}

}  // namespace brass::app
