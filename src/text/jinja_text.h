// Text with provenance: bytes, and which of them came from input.
//
// Owns: Text (a byte string in UTF-8 whose every byte is either trusted, written by the template's author, or
// untrusted, taken from messages, tools and other input) and Segment, the form in which it leaves the engine.
// Must not know: values, templates.
// Invariants: `flips_` holds the byte offsets, strictly increasing and inside (0, size), at which trust
// changes, so a text of one origin costs no allocation; an empty text has no flips.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace brass::jinja {

// Bytes [begin, end) of a rendered text; `trusted` is false for what came from input.
struct Segment {
  size_t begin = 0;
  size_t end = 0;
  bool trusted = false;
  friend bool operator==(const Segment&, const Segment&) = default;
};

class Text {
 public:
  Text() = default;
  Text(std::string bytes, bool trusted) : bytes_(std::move(bytes)), first_(trusted), last_(trusted) {}

  const std::string& bytes() const { return bytes_; }
  std::string_view view() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  bool uniform() const { return flips_.empty(); }
  // Trust of the byte at `at`; of an empty text or at the end, that of the last byte.
  bool trusted_at(size_t at) const;
  // True if no byte came from input.
  bool trusted() const { return flips_.empty() && first_; }

  void append(std::string_view bytes, bool trusted);
  void append(const Text& other) { append(other, 0, other.size()); }
  void append(const Text& other, size_t from, size_t to);  // bytes [from, to) of other
  void reserve(size_t size) { bytes_.reserve(size); }

  Text slice(size_t from, size_t to) const;  // bytes [from, to)
  // Calls f(bytes, trusted) for each stretch of one origin in [from, to).
  template <class F>
  void each(size_t from, size_t to, F&& f) const {
    while (from < to) {
      const auto [end, trust] = stretch(from);
      const size_t stop = end < to ? end : to;
      f(std::string_view(bytes_).substr(from, stop - from), trust);
      from = stop;
    }
  }
  std::vector<Segment> segments() const;
  size_t footprint() const { return bytes_.capacity() + flips_.capacity() * sizeof(uint32_t); }
  std::string take() && { return std::move(bytes_); }

 private:
  struct Stretch {
    size_t end;
    bool trusted;
  };
  Stretch stretch(size_t from) const;  // where the stretch that holds byte `from` ends

  std::string bytes_;
  bool first_ = true;  // trust of the first byte
  bool last_ = true;   // trust of the last byte
  std::vector<uint32_t> flips_;
};

}  // namespace brass::jinja
