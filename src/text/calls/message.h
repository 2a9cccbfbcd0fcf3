// What a reply says, as it is found out: changes for a stream, and the message that they add up to.
//
// Owns: Delta, ParsedMessage, Outbox (which collects both).
// Must not know: formats, how text is read.
// Invariants: deltas follow OpenAI's rules: each call has an index of its own, id and name in its first delta, and the
// fragments of its arguments add up to one JSON text; only kCallEnd says that a call is complete. A call that began and
// then turned out to be none gets kCallDropped, and its text follows as content or reasoning. No delta ends inside a
// character. The message has complete calls only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace brass::calls {

struct Delta {
  enum class Kind { kContent, kReasoning, kCallBegin, kArguments, kCallEnd, kCallDropped };
  Kind kind = Kind::kContent;
  int index = -1;        // of the call
  std::string text;      // content, reasoning or a fragment of arguments
  std::string id, name;  // kCallBegin
};

struct ParsedCall {
  std::string id, name, arguments;  // arguments: JSON text
};

struct ParsedMessage {
  std::string content, reasoning;
  std::vector<ParsedCall> calls;
};

class Outbox {
 public:
  // Text to the user, or reasoning. Blanks at the end wait for what follows.
  void say(char c, bool reasoning);
  // The blanks that wait belong to what follows, not to the text: a call or a fence.
  void drop_blanks() { content_.waiting.clear(), reasoning_.waiting.clear(); }
  // Line breaks with which the text to come begins belong to what was before it.
  void begin_part(bool reasoning);
  bool content_is_blank() const { return content_.part_is_blank; }

  // The blanks that wait are before a call. What is dropped of one that is none is said again, behind them.
  void begin_call(std::string id, std::string name);
  void arguments(std::string_view fragment);
  void end_call();
  void drop_call();  // does nothing where none has begun
  bool in_call() const { return in_call_; }
  size_t complete_calls() const { return message_.calls.size(); }

  void finish();
  // `last`: nothing comes any more, so the text is given as it is.
  std::vector<Delta> take(bool last);
  const ParsedMessage& message() const { return message_; }

 private:
  struct Text {
    std::string waiting, before_call;
    bool part_is_blank = true;  // nothing but blanks since the part began
    bool after_mark = false;    // the part begins behind a fence or a call
  };

  void append(Delta::Kind kind, int index, std::string_view text);

  ParsedMessage message_;
  ParsedCall call_;
  bool in_call_ = false;
  int next_index_ = 0;
  Text content_, reasoning_;
  std::vector<Delta> deltas_;
};

}  // namespace brass::calls
