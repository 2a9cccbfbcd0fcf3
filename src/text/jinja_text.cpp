#include "text/jinja_text.h"

#include <algorithm>

namespace brass::jinja {

bool Text::trusted_at(size_t at) const {
  if (flips_.empty()) return first_;
  const auto passed = std::upper_bound(flips_.begin(), flips_.end(), at) - flips_.begin();
  return first_ != (passed % 2 == 1);
}

void Text::append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    first_ = trusted;
  } else if (last_ != trusted) {
    flips_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  last_ = trusted;
  bytes_.append(bytes);
}

void Text::append(const Text& other, size_t from, size_t to) {
  other.each(from, to, [&](std::string_view bytes, bool trusted) { append(bytes, trusted); });
}

Text Text::slice(size_t from, size_t to) const {
  Text out;
  if (from < to) {
    out.append(*this, from, to);
  } else {
    out.first_ = out.last_ = trusted_at(from);
  }
  return out;
}

Text::Stretch Text::stretch(size_t from) const {
  if (flips_.empty()) return {bytes_.size(), first_};
  const auto next = std::upper_bound(flips_.begin(), flips_.end(), from);
  const auto passed = next - flips_.begin();
  return {next == flips_.end() ? bytes_.size() : *next, first_ != (passed % 2 == 1)};
}

std::vector<Segment> Text::segments() const {
  std::vector<Segment> out;
  size_t at = 0;
  each(0, size(), [&](std::string_view bytes, bool trusted) {
    out.push_back({at, at + bytes.size(), trusted});
    at += bytes.size();
  });
  return out;
}

}  // namespace brass::jinja
