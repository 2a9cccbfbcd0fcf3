// The grammar of tool calls in a format: what a reply may be once a call begins.
//
// Owns: call_grammar(), from the description that drives the parser (format.h) and the tools' schemas. Must not know:
// templates, models, tokens (but which marks are control pieces of a vocabulary).
// Invariants: CallParser reads every text of the grammar as complete calls of these tools, with arguments that their
// schemas allow; what a schema or a format cannot say is refused by name, never skipped.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/calls/format.h"
#include "text/calls/tools.h"
#include "text/grammar/schema.h"

namespace brass {
class Tokenizer;
}

namespace brass::calls {

enum class ToolChoice : uint8_t {
  kAuto,      // text, calls, or text and then calls
  kRequired,  // calls
  kNamed,     // calls of one tool
};

struct CallGrammarOptions {
  ToolChoice choice = ToolChoice::kAuto;
  std::string name;                   // kNamed
  bool parallel = true;               // several calls in one reply
  bool nine_character_ids = false;    // as ChatTraits has it
  std::vector<std::string> controls;  // control pieces in the format's marks (control_pieces())
  grammar::SchemaOptions schema;      // its dialect is the format's
};

struct CallGrammar {
  std::shared_ptr<const grammar::Grammar> grammar;
  // The reply is free until one of these appears in it, with which the grammar's text begins. None: the grammar is of
  // the whole reply (behind reasoning).
  std::vector<std::string> triggers;
};

// Errors name the tool, the keyword and its place; a tool that is asked for and not there; a format without calls.
Result<CallGrammar> call_grammar(const CallFormat& format, const ToolSet& tools,
                                 const CallGrammarOptions& options);

// The control pieces of a vocabulary that the format's marks are written with, those that end a reply aside.
std::vector<std::string> control_pieces(const CallFormat& format, const Tokenizer& tokenizer);

}  // namespace brass::calls
