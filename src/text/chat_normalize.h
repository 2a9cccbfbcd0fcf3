// Brings messages into shapes that a template takes.
//
// Owns: Repair (which mendings to make), normalize().
// Must not know: templates; what one takes is in ChatTraits.
// Invariants: no text is dropped: what has no place of its own moves to a neighbour. Input that is no list of
// messages is an error that names the message and field.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/chat_traits.h"

namespace brass {

// What is done beyond the traits where they did not suffice; each step includes those before it.
enum class Repair { none, plain_contents, complete_tools, merge_all, calls_as_text, users_only };

// Messages as the template wants them. `notes` gets what had to be left out, by name.
Result<nlohmann::ordered_json> normalize(const nlohmann::ordered_json& messages, ChatTraits traits,
                                         Repair repair, std::vector<std::string>& notes);
// From complete_tools on: definitions with empty descriptions and parameters where they lack them, a list where
// there is none.
nlohmann::ordered_json normalize_tools(const nlohmann::ordered_json& tools, Repair repair);

// Schemas of parameters as they are where nothing may be null.
nlohmann::ordered_json without_null_types(nlohmann::ordered_json tools);

}  // namespace brass
