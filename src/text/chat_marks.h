// What a template shows of a conversation.
//
// Owns: rendering messages as a template's variables; numbering the texts of a conversation and seeing whether
// all of them come out whole; replacing every text by a mark of its own and seeing which marks come out. Must
// not know: how shapes are mended.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "text/chat.h"
#include "text/jinja_json.h"

namespace brass {

// Texts of a conversation: contents and string arguments that are not blank.
struct NumberedTexts {
  jinja::Numbers numbers;     // by their places in the messages
  std::vector<size_t> sizes;  // bytes of each, without blanks at its ends
  std::vector<size_t> shown;  // bytes of each in the rendered text; render_messages() fills them in
  // Whether all came out whole. If not, templates may still show them in other words (marks tell).
  bool all_shown() const;
};
NumberedTexts number_texts(const nlohmann::ordered_json& messages);

// Renders with the variables that a chat template gets: messages, tools and documents (none when absent),
// add_generation_prompt, bos_token, eos_token, then options.extra_vars.
Result<jinja::Rendered> render_messages(const jinja::Template& source, const nlohmann::ordered_json& messages,
                                        const nlohmann::ordered_json& tools, const ChatOptions& options,
                                        NumberedTexts* texts = nullptr);

struct Mark {
  std::string text;  // what stands for the text
  size_t message;    // whose it is, and what: "content" or "tool call"
  const char* part;
};

// Replaces the texts in `messages` by marks.
std::vector<Mark> put_marks(nlohmann::ordered_json& messages);
// The marks that a rendered text lacks.
std::vector<Mark> missing_marks(const std::vector<Mark>& marks, std::string_view rendered);

}  // namespace brass
