// Chat templates: from messages to a prompt.
//
// Owns: ChatTemplate (a parsed template and what a probe at load found out about it), normalization of
// messages to shapes that the template takes, the variables that a template sees. Must not know: HTTP,
// tokenizers, models. Invariants: with normalization on, no text of a message is lost and no error remains
// that another shape of the same messages would avoid; what cannot be helped is said in a warning by name.
// Text from messages, tools and variables is untrusted in the result; bos_token, eos_token and the template's
// own text are trusted.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/chat_traits.h"
#include "text/jinja.h"

namespace brass {

struct ChatOptions {
  bool add_generation_prompt = true;
  bool normalize = true;
  std::string bos_token, eos_token;
  const nlohmann::ordered_json* extra_vars = nullptr;  // object: more variables, over the standard ones
  std::optional<int64_t> clock;                        // as in jinja::RenderOptions
  std::vector<std::string>* warnings = nullptr;        // where given, gets what could not be helped
};

class ChatTemplate {
 public:
  // Parses and probes. Fails only where the template does not parse.
  static Result<std::unique_ptr<ChatTemplate>> load(std::string_view source);

  // `messages`: array of OpenAI's chat messages. `tools`: array of tools, or null.
  Result<jinja::Rendered> render(const nlohmann::ordered_json& messages, const nlohmann::ordered_json& tools,
                                 const ChatOptions& options) const;
  const ChatTraits& traits() const { return traits_; }
  const jinja::Template& source() const { return *template_; }

 private:
  explicit ChatTemplate(std::unique_ptr<jinja::Template> parsed) : template_(std::move(parsed)) {}
  std::unique_ptr<jinja::Template> template_;
  ChatTraits traits_;
};

// The same for a template that is used once: probes each time.
Result<jinja::Rendered> render_chat(const jinja::Template& source, const nlohmann::ordered_json& messages,
                                    const nlohmann::ordered_json& tools, const ChatOptions& options);

}  // namespace brass
