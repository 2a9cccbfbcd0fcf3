// Ids to text while they are made: never half a character.
//
// Owns: up to three bytes that wait for the rest of their character.
// Invariants: what push() and flush() return, put together, is decode() of all ids with ill-formed stretches
// as U+FFFD, one for each maximal subpart. No allocation per token once reserved for the longest piece.
#pragma once

#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace brass {

class StreamDecoder {
 public:
  struct Options {
    bool special = false;         // show control pieces
    bool continues_text = false;  // the ids follow text: a blank in front of the first word counts
  };
  explicit StreamDecoder(const Tokenizer& tokenizer) : StreamDecoder(tokenizer, Options{}) {}
  StreamDecoder(const Tokenizer& tokenizer, Options options);

  // The text that this id completes, valid until the next call; often empty inside a character.
  std::string_view push(int32_t id);
  // The text that will not be completed any more; afterwards the decoder is as new.
  std::string_view flush();

 private:
  void take(std::string_view bytes);

  const Tokenizer& tokenizer_;
  Options options_;
  bool drop_blank_;
  std::string waiting_, out_;
};

}  // namespace brass
