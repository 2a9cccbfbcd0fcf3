// Which format a chat template's model speaks.
//
// Owns: find_format(): from the renders of marked conversations, checked by reading them back; from the table
// (format.h) where a template shows no calls. Must not know: models, requests.
// Invariants: a format that was found by rendering reads back what the template wrote (Python's calls without the quotes and
// commas that a template leaves out aside); a template that no format fits gets what its conversations are given
// (chat_normalize.h). Costs some tens of small renders: once a template.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "text/calls/format.h"
#include "text/chat.h"

namespace brass::calls {

enum class Found {
  kTable,     // a row of the table, and the template's renders read back by it
  kTemplate,  // made from the template's renders
  kNamed,     // a row of the table that the template's text speaks of, unchecked: it shows no calls
  kDefault,   // nothing: what templates without calls are given
};

struct ReplyForm {
  CallFormat format;
  Found found = Found::kDefault;
  bool in_reasoning = false;  // the generation prompt ends inside reasoning
};

// `options`: tokens and variables as they will be when replies are asked for.
ReplyForm find_format(const ChatTemplate& source, const ChatOptions& options);

// Where a prompt that ends in `prompt` leaves the reply: inside reasoning or not. `prompt` without messages' texts.
bool ends_in_reasoning(const Fence& fence, std::string_view prompt);

// What the template writes for an assistant's message at the end of a conversation, behind the part that is the same
// in the generation prompt; nothing where it does not render.
std::optional<std::string> render_turn(const ChatTemplate& source, const nlohmann::ordered_json& before,
                                       const nlohmann::ordered_json& message,
                                       const nlohmann::ordered_json& tools, const ChatOptions& options);

}  // namespace brass::calls
