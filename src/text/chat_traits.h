// What a chat template takes, found out by trying.
//
// Owns: ChatTraits and probe().
// Must not know: the messages of a request.
// Invariants: a trait is true if a small conversation of that shape renders without an error and with all of
// its marked texts in the result.
#pragma once

#include "text/jinja.h"

namespace brass {

struct ChatTraits {
  bool strings = true;      // content as a string; else it must be a list of parts
  bool user_parts = false;  // content as a list of parts, by role
  bool system_parts = false;
  bool assistant_parts = false;
  bool tool_parts = false;
  bool system = false;        // a system message at the start
  bool later_system = false;  // a system message among the others, in its place
  bool user_after_user = false;
  bool assistant_after_assistant = false;
  bool assistant_first = false;
  bool other_roles = false;         // a role that nobody knows
  bool tools = false;               // definitions of tools
  bool tool_calls = false;          // calls in assistant messages
  bool tool_results = false;        // messages of role tool
  bool arguments_as_text = false;   // arguments of calls as a JSON string; else as an object
  bool null_with_calls = false;     // content must be null, not "", beside calls
  bool content_with_calls = false;  // content beside calls is shown
  bool parallel_calls = false;      // several calls in one message
  bool nine_character_ids = false;  // ids of calls must have exactly nine letters or digits (Mistral)
  bool ids_name_functions =
      false;  // only the id tells which function a call is of: "functions.NAME:0" (Kimi K2)
};

ChatTraits probe(const jinja::Template& source);

}  // namespace brass
