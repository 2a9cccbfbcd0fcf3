// The flags about tools: what there is to call, and whether it must be.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "app/arguments.h"
#include "text/calls/call_grammar.h"
#include "text/calls/detect.h"
#include "text/chat_traits.h"

namespace brass::app {

struct ToolFlags {
  std::optional<std::string> tools;  // a file
  std::string choice = "auto";       // or "required", "none", the name of a tool
  bool one_call = false;

  bool any() const { return tools && choice != "none"; }
};

void declare_tools(Arguments& arguments, ToolFlags& flags);
Result<> check_tool_flags(const ToolFlags& flags);

// The tools as templates are given them: an array. Errors name the flag and the file.
Result<nlohmann::ordered_json> read_tools(const ToolFlags& flags);
// What a reply with calls may be, in the form that the model's template speaks.
Result<calls::CallGrammar> tool_grammar(const ToolFlags& flags, const calls::ReplyForm& form,
                                        const ChatTraits& traits, const calls::ToolSet& tools,
                                        const Tokenizer& tokenizer);

}  // namespace brass::app
