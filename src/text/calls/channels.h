// Replies made of messages with channels (gpt-oss, "harmony").
//
// Owns: ChannelReader. Must not know: other formats.
// Invariants: those of parser.h. A header names its channel and its recipient in any order; without a header the
// text is content. Source: OpenAI, Harmony response format (openai/harmony, docs/format.md).
#pragma once

#include <string>
#include <string_view>

#include "text/calls/reader.h"

namespace brass::calls {

class ChannelReader {
 public:
  ChannelReader(Source& source, Outbox& outbox, CallReader& calls)
      : source_(source), outbox_(outbox), calls_(calls) {}

  Routine<bool> run();

 private:
  struct Header {
    std::string channel, recipient;
    bool plain = false;  // there is none
    bool reasoning() const { return channel == "analysis"; }
  };

  enum class Held { kMore, kText, kEnd };

  Routine<bool> header();
  Routine<bool> body(Header header);
  Routine<bool> call(const std::string& recipient, bool reasoning);
  Routine<bool> text(bool reasoning);
  static Held judge(std::string_view held, size_t* next);
  void say(std::string_view text, bool reasoning);

  Source& source_;
  Outbox& outbox_;
  CallReader& calls_;
  Header header_;
};

}  // namespace brass::calls
