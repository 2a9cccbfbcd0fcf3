#include "text/stop_strings.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace brass {

Result<> validate_stops(const std::vector<std::string>& stops) {
  if (stops.size() > kMaxStops)
    return wrong_use("stop: {} stop strings, at most {} are searched for", stops.size(), kMaxStops);
  for (size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty()) return wrong_use("stop: stop string {} is empty and would stop at once", i);
    if (stops[i].size() > kMaxStopBytes)
      return wrong_use("stop: stop string {} has {} bytes, at most {} are searched for", i, stops[i].size(),
                       kMaxStopBytes);
  }
  return {};
}

StopFilter::StopFilter(std::vector<std::string> stops) {
  const auto valid = validate_stops(stops);
  ENSURE(valid.has_value(), "{}", valid.error().message);
  for (std::string& text : stops) {
    std::vector<size_t> border(text.size(), 0);
    for (size_t i = 1, length = 0; i < text.size(); ++i) {
      while (length > 0 && text[i] != text[length]) length = border[length - 1];
      if (text[i] == text[length]) ++length;
      border[i] = length;
    }
    stops_.push_back({std::move(text), std::move(border)});
  }
  buffer_.reserve(2 * kMaxStopBytes);  // so that the usual push, the text of one token, does not allocate
}

// Knuth, Morris, Pratt 1977, one pattern at a time.
void StopFilter::advance(char byte) {
  for (Stop& stop : stops_) {
    while (stop.progress > 0 && byte != stop.text[stop.progress])
      stop.progress = stop.border[stop.progress - 1];
    if (byte == stop.text[stop.progress]) ++stop.progress;
  }
}

std::string_view StopFilter::push(std::string_view text) {
  buffer_.erase(0, shown_);
  shown_ = 0;
  if (matched_) return {};
  for (const char byte : text) {
    buffer_.push_back(byte);
    advance(byte);
    size_t longest = 0;
    for (size_t i = 0; i < stops_.size(); ++i) {
      const Stop& stop = stops_[i];
      if (stop.progress != stop.text.size() || stop.progress <= longest) continue;
      longest = stop.progress;
      matched_ = i;
    }
    if (!matched_) continue;
    buffer_.resize(buffer_.size() - longest);
    shown_ = buffer_.size();
    return buffer_;
  }
  size_t held = 0;
  for (const Stop& stop : stops_) held = std::max(held, stop.progress);
  shown_ = buffer_.size() - held;
  return std::string_view(buffer_).substr(0, shown_);
}

std::string_view StopFilter::flush() {
  buffer_.erase(0, shown_);
  shown_ = buffer_.size();
  for (Stop& stop : stops_) stop.progress = 0;
  return buffer_;
}

void StopFilter::reset() {
  for (Stop& stop : stops_) stop.progress = 0;
  matched_.reset();
  buffer_.clear();
  shown_ = 0;
}

}  // namespace brass
