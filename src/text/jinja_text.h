// Text with provenance: bytes, and which of them came from input.
//
// Owns: Text (a byte string in UTF-8 whose every byte has an Origin: the template's author, or messages, tools
// and other input) and Segment, the form in which it leaves the engine. Must not know: values, templates.
// Invariants: `turns_` holds the byte offsets, strictly increasing and inside (0, size), at which the origin
// changes, so a text of one origin costs no allocation; an empty text has no turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace brass::jinja {

// Where a byte comes from. Input may be numbered, so that it can be found again in what a template writes;
// whatever makes new text of it may forget the number, but never that it is input.
struct Origin {
  uint32_t id = 0;  // 0: the template's own; 1: input; above: input with a number
  bool trusted() const { return id == 0; }
  static Origin of(bool trusted) { return {trusted ? 0u : 1u}; }
  friend bool operator==(Origin, Origin) = default;
};
constexpr uint32_t kFirstNumbered = 2;

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
  Text(std::string bytes, Origin origin) : bytes_(std::move(bytes)), first_(origin) {}
  Text(std::string bytes, bool trusted) : Text(std::move(bytes), Origin::of(trusted)) {}

  const std::string& bytes() const { return bytes_; }
  std::string_view view() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  // Of the byte at `at`; of an empty text or at the end, that of the last byte.
  Origin origin_at(size_t at) const;
  bool trusted_at(size_t at) const { return origin_at(at).trusted(); }
  // True if no byte came from input.
  bool trusted() const { return turns_.empty() && first_.trusted(); }

  void append(std::string_view bytes, Origin origin);
  void append(std::string_view bytes, bool trusted) { append(bytes, Origin::of(trusted)); }
  void append(const Text& other) { append(other, 0, other.size()); }
  void append(const Text& other, size_t from, size_t to);  // bytes [from, to) of other
  void reserve(size_t size) { bytes_.reserve(size); }

  Text slice(size_t from, size_t to) const;  // bytes [from, to)
  // Calls f(bytes, origin) for each stretch of one origin in [from, to).
  template <class F>
  void each(size_t from, size_t to, F&& f) const {
    while (from < to) {
      const auto [end, origin] = stretch(from);
      const size_t stop = end < to ? end : to;
      f(std::string_view(bytes_).substr(from, stop - from), origin);
      from = stop;
    }
  }
  std::vector<Segment> segments() const;
  size_t footprint() const { return bytes_.capacity() + turns_.capacity() * sizeof(Turn); }
  std::string take() && { return std::move(bytes_); }

 private:
  struct Turn {
    uint32_t at;
    Origin origin;  // from there on
  };
  struct Stretch {
    size_t end;
    Origin origin;
  };
  Origin last() const { return turns_.empty() ? first_ : turns_.back().origin; }
  size_t turns_until(size_t at) const;  // how many lie at or before the byte
  Stretch stretch(size_t from) const;   // where the stretch that holds byte `from` ends

  std::string bytes_;
  Origin first_;  // of the first byte
  std::vector<Turn> turns_;
};

}  // namespace brass::jinja
