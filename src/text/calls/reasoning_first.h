// Where in a reply what constrains it begins: behind reasoning, whose marks the template's format knows.
//
// Owns: reasoning_first(). Must not know: grammars, tokens.
#pragma once

#include <string_view>

#include "text/calls/detect.h"
#include "text/grammar/constraint.h"

namespace brass::calls {

enum class Constrained : uint8_t {
  kContent,  // the text to the user
  kCalls,    // tool calls
};

// The reasoning of a constraint, without its grammar. `prompt`: what the template itself wrote of it, without the texts
// of messages. A prompt that has closed its reasoning leaves no room for more; a format without marks, none at all.
grammar::ConstraintOptions reasoning_first(const ReplyForm& form, std::string_view prompt, Constrained what);

}  // namespace brass::calls
