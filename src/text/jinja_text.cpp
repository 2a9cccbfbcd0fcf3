#include "text/jinja_text.h"

#include <algorithm>

namespace brass::jinja {

size_t Text::turns_until(size_t at) const {
  const auto next = std::upper_bound(turns_.begin(), turns_.end(), at,
                                     [](size_t wanted, const Turn& turn) { return wanted < turn.at; });
  return static_cast<size_t>(next - turns_.begin());
}

Origin Text::origin_at(size_t at) const {
  const size_t passed = turns_until(at);
  return passed == 0 ? first_ : turns_[passed - 1].origin;
}

void Text::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    first_ = origin;
  } else if (last() != origin) {
    turns_.push_back({static_cast<uint32_t>(bytes_.size()), origin});
  }
  bytes_.append(bytes);
}

void Text::append(const Text& other, size_t from, size_t to) {
  other.each(from, to, [&](std::string_view bytes, Origin origin) { append(bytes, origin); });
}

Text Text::slice(size_t from, size_t to) const {
  Text out;
  if (from < to) {
    out.append(*this, from, to);
  } else {
    out.first_ = origin_at(from);
  }
  return out;
}

Text::Stretch Text::stretch(size_t from) const {
  const size_t passed = turns_until(from);
  return {passed == turns_.size() ? bytes_.size() : turns_[passed].at,
          passed == 0 ? first_ : turns_[passed - 1].origin};
}

std::vector<Segment> Text::segments() const {
  std::vector<Segment> out;
  size_t at = 0;
  each(0, size(), [&](std::string_view bytes, Origin origin) {
    const size_t end = at + bytes.size();
    if (!out.empty() && out.back().trusted == origin.trusted()) {
      out.back().end = end;
    } else {
      out.push_back({at, end, origin.trusted()});
    }
    at = end;
  });
  return out;
}

}  // namespace brass::jinja
