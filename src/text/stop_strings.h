// Stop strings in a stream of text.
//
// Owns: finding the first stop string, and holding back text that may turn out to begin one.
// Must not know: tokens, UTF-8 (it works over bytes), why generation ends otherwise.
// Invariants: what comes out does not depend on how the stream was cut into pieces; every byte is either
// emitted once or belongs to the stop string (or follows it); the work is linear in the text for each stop
// string, and the number and length of those is bounded by validate_stops().
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace brass {

inline constexpr size_t kMaxStops = 64;
inline constexpr size_t kMaxStopBytes = 1024;  // of one stop string

// Refuses an empty stop string, and too many or too long ones; the error names the field "stop" and the
// index.
Result<> validate_stops(const std::vector<std::string>& stops);

class StopFilter {
 public:
  // `stops` have passed validate_stops().
  explicit StopFilter(std::vector<std::string> stops);

  // Appends to the stream. Returns the text that may be shown now, valid until the next call: neither a stop
  // string, nor what follows one, nor an end that may begin one. Of several stop strings the one that is
  // complete first counts; of those that are complete at the same byte, the longest. After a match nothing
  // more comes out.
  std::string_view push(std::string_view text);

  // The index of the stop string that was found.
  std::optional<size_t> matched() const { return matched_; }

  // The end of the stream for another reason (a token limit, the end token): returns what was held back,
  // valid until the next call; empty after a match.
  std::string_view flush();

  // As constructed.
  void reset();

 private:
  struct Stop {
    std::string text;
    std::vector<size_t> border;  // [i]: length of the longest proper prefix of text[0..i] that is its suffix
    size_t progress = 0;         // length of the longest prefix of text that the stream ends in
  };
  void advance(char byte);

  std::vector<Stop> stops_;
  std::optional<size_t> matched_;
  std::string buffer_;  // what was returned by the last call, then what is held back
  size_t shown_ = 0;    // bytes of buffer_ that were returned
};

}  // namespace brass
