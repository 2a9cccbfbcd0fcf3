// One conversation with a model: messages in, replies out, over one cached sequence.
//
// Owns: engine, tokenizer, template, the messages so far. Must not know: terminals.
// Invariants: the messages hold what was said; an answer that failed leaves them as they were.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/run_flags.h"
#include "text/calls/parser.h"
#include "text/calls/reasoning_first.h"
#include "text/chat.h"

namespace brass::app {

class ChatSession {
 public:
  static Result<std::unique_ptr<ChatSession>> open(const RunFlags& flags);
  ~ChatSession();

  // The reply to one more user message (raw: to the text itself). `show` gets each piece; false stops the
  // reply. The generation is the session's, valid until the next call.
  Result<const Generation*> answer(const std::string& prompt,
                                   const std::function<bool(std::string_view)>& show);
  void clear();  // forgets the conversation, not the system message
  RunFlags& flags() { return flags_; }
  const Engine& engine() const { return *engine_; }
  const Generation* last() const { return generation_.get(); }
  // With tools: what the last reply says.
  const calls::ParsedMessage* parsed() const { return parsed_ ? &*parsed_ : nullptr; }

 private:
  explicit ChatSession(const RunFlags& flags);
  struct Prompt {
    std::vector<int32_t> ids;
    std::string written;  // what the template itself wrote
  };
  Result<Prompt> make_prompt(const std::string& prompt);
  Result<> prepare_constraint(std::shared_ptr<const grammar::Grammar> grammar);
  grammar::ConstraintOptions constraint(const std::string& written) const;
  Result<> run_reply(bool in_reasoning, const std::function<bool(std::string_view)>& show);

  struct Messages;  // keeps the JSON library out of this header: messages and tools
  RunFlags flags_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ChatTemplate> template_;
  std::shared_ptr<grammar::CompiledGrammar> grammar_;  // of every reply; may be none
  std::vector<std::string> triggers_;                  // with which a grammar of calls begins
  std::optional<calls::ReplyForm> form_;               // with a grammar or tools, where there is a template
  std::optional<calls::ParsedMessage> parsed_;
  std::unique_ptr<Messages> messages_;
  std::unique_ptr<Generation> generation_;
  std::set<std::string> warned_;  // warnings are said once
  SequenceId sequence_ = -1;
};

// "prompt 35 tokens, 812.3 tok/s (0.043 s, 0 cached) · reply 12 tokens, 98.1 tok/s · first text after 0.05 s
// · stop"
std::string describe_timings(const Generation& generation);

// The conversation on a terminal, until its end (Ctrl-D, /exit).
Result<> talk(ChatSession& session, const RunFlags& flags);

}  // namespace brass::app
