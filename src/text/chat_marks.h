// Marked conversations: trying a shape without its text.
//
// Owns: rendering messages as a template's variables; replacing every text of a conversation by a mark of its
// own and seeing which marks come out. Must not know: how shapes are mended.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "text/chat.h"

namespace brass {

// Renders with the variables that a chat template gets: messages, tools and documents (none when absent),
// add_generation_prompt, bos_token, eos_token, then options.extra_vars.
Result<jinja::Rendered> render_messages(const jinja::Template& source, const nlohmann::ordered_json& messages,
                                        const nlohmann::ordered_json& tools, const ChatOptions& options);

struct Mark {
  std::string text;  // what stands for the text
  size_t message;    // whose it is, and what: "content" or "tool call"
  const char* part;
};

// Replaces content and string arguments in `messages`, where they are not blank, by marks.
std::vector<Mark> put_marks(nlohmann::ordered_json& messages);
// The marks that a rendered text lacks.
std::vector<Mark> missing_marks(const std::vector<Mark>& marks, std::string_view rendered);

}  // namespace brass
