// What the commands that use a chat template share: where it comes from, and its variables.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/session.h"
#include "base/vocab_spec.h"

namespace brass::app {

struct TemplateFlags {
  ModelFlags model;  // or a file NAME.jinja
  std::string template_name;
  std::vector<std::string> vars;
};

// MODEL, --store, --template, --var
void declare_template(Arguments& arguments, TemplateFlags& flags);

struct TemplateSource {
  std::string text;
  VocabSpec vocab;  // of a model file; empty for a bare template
};

Result<TemplateSource> read_template(const TemplateFlags& flags);
// --var k=v: JSON if it parses, else a string.
Result<nlohmann::ordered_json> template_vars(const TemplateFlags& flags);
Result<nlohmann::ordered_json> read_json_file(const std::string& path);
// An array of tools, or null: of a file that holds it, or a request with it.
Result<nlohmann::ordered_json> read_tools_file(const std::string& path);
// Takes bos_token and eos_token out of the variables and into the options.
void take_tokens(nlohmann::ordered_json& vars, ChatOptions& options);

}  // namespace brass::app
