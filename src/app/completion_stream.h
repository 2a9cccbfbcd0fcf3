// A streamed chat completion (server-sent events, as OpenAI's API sends them), with the time at which its text came.
//
// Owns: cutting the stream into events, telling text from other chunks, what a client can know of the two phases.
// Must not know: sockets, clocks (times are given).
// Invariants: a chunk without visible or reasoning text is no token, whatever it carries; events may be cut anywhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace brass::app {

class CompletionStream {
 public:
  // Bytes that arrived at `seconds` after the request was sent.
  void push(std::string_view bytes, double seconds);
  // After the last byte: an error that the stream carried, or no text at all.
  Result<> finish() const;

  const std::vector<double>& text_times() const { return times_; }  // one a chunk with text
  std::optional<uint32_t> prompt_tokens() const { return prompt_tokens_; }
  std::optional<uint32_t> cached_tokens() const { return cached_tokens_; }
  // As the server counted them, or the chunks with text.
  uint32_t reply_tokens() const;
  bool counted_by_server() const { return completion_tokens_.has_value(); }
  double ttft() const { return times_.front(); }
  double decode() const { return times_.back() - times_.front(); }
  const std::string& text() const { return text_; }

 private:
  void event(std::string_view data, double seconds);

  std::string line_, data_;  // of the event that is coming
  std::string text_, error_;
  std::vector<double> times_;
  std::optional<uint32_t> prompt_tokens_, completion_tokens_, cached_tokens_;
};

}  // namespace brass::app
