#include "app/chat_template_flags.h"

#include <nlohmann/json.hpp>

#include "gguf/vocab.h"
#include "text/json_guard.h"

namespace brass::app {

using Json = nlohmann::ordered_json;

void declare_template(Arguments& arguments, TemplateFlags& flags) {
  declare_model(arguments, flags.model, "a GGUF file, a template FILE.jinja, or the name of a stored model");
  arguments.option("--template", flags.template_name, "one of the model's named templates");
  arguments.option("--var", flags.vars,
                   "NAME=VALUE: one more variable; JSON if it parses, else a string (repeatable)");
}

Result<TemplateSource> read_template(const TemplateFlags& flags) {
  TemplateSource source;
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

Result<Json> template_vars(const TemplateFlags& flags) {
  Json vars = Json::object();
  for (const std::string& text : flags.vars) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return wrong_use("flag --var: '{}' is not NAME=VALUE", text);
    const std::string value = text.substr(equals + 1);
    const Result<Json> parsed = parse_json_exact(value);
    vars[text.substr(0, equals)] = parsed ? *parsed : Json(value);
  }
  return vars;
}

Result<Json> read_json_file(const std::string& path) {
  return within(path, parse_json_exact(TRY(read_text_file(path))));
}

Result<Json> read_tools_file(const std::string& path) {
  const Json read = TRY(read_json_file(path));
  if (!read.is_object()) {
    if (read.is_array() || read.is_null()) return read;
    return fail("{}: no array of tools, but {}", path, read.type_name());
  }
  if (!read.contains("tools")) return fail("{}: neither an array of tools nor an object with 'tools'", path);
  const Json& list = read["tools"];
  if (!list.is_array() && !list.is_null()) return fail("{}: its 'tools' are no array", path);
  return Json(list);
}

void take_tokens(Json& vars, ChatOptions& options) {
  for (const auto& [name, target] :
       {std::pair{"bos_token", &options.bos_token}, {"eos_token", &options.eos_token}}) {
    if (!vars.contains(name) || !vars[name].is_string()) continue;
    *target = vars[name].get<std::string>();
    vars.erase(name);
  }
}

}  // namespace brass::app
