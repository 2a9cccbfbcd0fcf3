#include "text/calls/derive.h"

#include <algorithm>
#include <utility>

#include "text/calls/marks.h"
#include "text/calls/value.h"

namespace brass::calls {

namespace {

constexpr size_t kNone = std::string::npos;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80);
}

// Whether a mark may begin or end at `at`: not inside a word, a <tag> or a [TAG].
bool is_boundary(std::string_view text, size_t at) {
  if (at == 0 || at >= text.size()) return true;
  if (is_word(text[at - 1]) && is_word(text[at])) return false;
  for (const auto& [open, close] : {std::pair{'<', '>'}, {'[', ']'}}) {
    const size_t begin = text.rfind(open, at - 1);
    if (begin == kNone) continue;
    const size_t end = text.find(close, begin);
    if (open == '[' && (begin + 1 >= text.size() || !is_word(text[begin + 1]))) continue;
    if (end != kNone && end >= at && text.find(open, begin + 1) >= end) return false;
  }
  return true;
}

std::string_view common_suffix(std::string_view a, std::string_view b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[a.size() - 1 - n] == b[b.size() - 1 - n]) n++;
  while (n > 0 && (!is_boundary(a, a.size() - n) || !is_boundary(b, b.size() - n))) n--;
  return a.substr(a.size() - n);
}

std::string_view common_prefix(std::string_view a, std::string_view b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) n++;
  while (n > 0 && (!is_boundary(a, n) || !is_boundary(b, n))) n--;
  return a.substr(0, n);
}

std::string mark(std::string_view text) { return std::string(trimmed(text)); }

// The part of a turn that is one call, from its name or object to the end of its arguments.
struct Core {
  size_t begin = kNone, end = kNone;
  bool found() const { return begin != kNone && end != kNone; }
};

class Deriver {
 public:
  explicit Deriver(const MarkedTurns& turns) : turns_(turns) {}

  std::optional<CallFormat> run() {
    const std::string_view one = turns_.one;
    const size_t name = one.find(turns_.first.name), value = one.find(turns_.first.value);
    const size_t key = one.find(turns_.first.key);
    if (name == kNone || value == kNone || key == kNone || key > value) return std::nullopt;
    format_.family = "from the template";
    const bool good = name < key && !in_object(one, name, value) ? header(name, key, value) : object(one);
    if (!good) return std::nullopt;
    if (!surroundings()) return std::nullopt;
    const bool marked =
        !format_.section_begin.empty() || !format_.call_begin.empty() || format_.shape == Shape::kHeader;
    format_.bare = !marked && (format_.shape == Shape::kObject ? !format_.name_is_key : format_.list);
    return format_;
  }

 private:
  // The outermost object that holds both places, as a value of its own.
  static Core object_around(std::string_view text, size_t a, size_t b) {
    for (size_t at = text.find('{'); at != kNone && at <= std::min(a, b); at = text.find('{', at + 1)) {
      const auto length = value_length(text.substr(at));
      if (length && at + *length > std::max(a, b)) return {at, at + *length};
    }
    return {};
  }
  static bool in_object(std::string_view text, size_t name, size_t value) {
    return object_around(text, name, value).found();
  }

  bool object(std::string_view text) {
    const size_t name = text.find(turns_.first.name), value = text.find(turns_.first.value);
    core_ = object_around(text, name, value);
    if (!core_.found()) return false;
    format_.shape = Shape::kObject;
    const std::string_view body = text.substr(core_.begin, core_.end - core_.begin);
    const size_t key = text.find(turns_.first.key);
    const std::string name_key = key_before(text, name),
                      arguments_key = key_before(text, text.rfind('{', key));
    format_.name_is_key = name_key.empty();
    if (!format_.name_is_key) format_.name_key = name_key;
    if (!format_.name_is_key && !arguments_key.empty()) format_.arguments_key = arguments_key;
    const size_t id = turns_.first.id.empty() ? kNone : body.find(turns_.first.id);
    if (id != kNone) {
      format_.id_key = key_before(body, id);
      format_.id_last = id + core_.begin > key;
    }
    return true;
  }

  // The key of the member whose value begins at `at` (a quote before it aside).
  static std::string key_before(std::string_view text, size_t at) {
    if (at == kNone || at == 0) return {};
    size_t end = text.find_last_not_of(" \t\r\n\"", at - 1);
    if (end == kNone || text[end] != ':') return {};
    end = text.rfind('"', end);
    if (end == kNone || end == 0) return {};
    const size_t begin = text.rfind('"', end - 1);
    return begin == kNone ? std::string() : std::string(text.substr(begin + 1, end - begin - 1));
  }

  bool header(size_t name, size_t key, size_t value) {
    const std::string_view one = turns_.one;
    core_.begin = name;
    const std::string_view between =
        one.substr(key + turns_.first.key.size(), value - key - turns_.first.key.size());
    const size_t value_end = value + turns_.first.value.size();
    const size_t open = one.rfind('{', key);
    // Some templates leave the quotes out.
    const bool called = one.substr(name + turns_.first.name.size()).starts_with('(');
    if (called && between.starts_with('=') && between.size() <= 2) return python(name, value_end);
    if (open != kNone && open > name && plain_object(open, value_end)) {
      format_.shape = Shape::kHeader;
      format_.name_end =
          mark(one.substr(name + turns_.first.name.size(), open - name - turns_.first.name.size()));
      return names_around(name);
    }
    if (open != kNone && open > name && between.starts_with(':') && between.size() > 2) {
      format_.quote = mark(between.substr(1));
      if (!plain_object(open, value_end)) return false;
      format_.shape = Shape::kHeader;
      format_.name_end =
          mark(one.substr(name + turns_.first.name.size(), open - name - turns_.first.name.size()));
      return names_around(name);
    }
    return parameters(name, key, value);
  }

  bool plain_object(size_t open, size_t value_end) {
    const auto length = value_length(std::string_view(turns_.one).substr(open), {format_.quote});
    if (!length || open + *length < value_end) return false;
    core_.end = open + *length;
    return true;
  }

  bool python(size_t name, size_t value_end) {
    format_.shape = Shape::kPython;
    core_.begin = name;
    core_.end = turns_.one.find(')', value_end);
    if (core_.end != kNone) core_.end++;
    return core_.found();
  }

  // The name as it is written may have more around it; an id may stand before it.
  bool names_around(size_t name) {
    const std::string_view before = std::string_view(turns_.one).substr(0, name);
    const size_t id = turns_.first.id.empty() ? kNone : before.rfind(turns_.first.id);
    if (id != kNone) {
      format_.id_first = true;
      format_.name_begin = mark(before.substr(id + turns_.first.id.size()));
      core_.begin = id;
      return true;
    }
    take_number();
    const size_t after = format_.name_end.find(turns_.first.id);
    if (!turns_.first.id.empty() && after != kNone) {
      format_.id_begin = mark(std::string_view(format_.name_end).substr(0, after));
      format_.name_end = mark(std::string_view(format_.name_end).substr(after + turns_.first.id.size()));
    }
    return true;
  }

  // NAME:0, counting calls: that is the call's id.
  void take_number() {
    std::string& end = format_.name_end;
    const size_t digits = end.find_first_not_of("0123456789", 1);
    if (end.size() < 2 || end[0] != ':' || digits == 1) return;
    format_.numbered = true;
    end.erase(0, std::min(digits, end.size()));
  }

  bool parameters(size_t name, size_t key, size_t value) {
    const std::string_view one = turns_.one, pair = turns_.pair;
    format_.shape = Shape::kHeader;
    format_.coding = Coding::kParameters;
    const size_t name_end = name + turns_.first.name.size(), value_end = value + turns_.first.value.size();
    const size_t first_value = pair.find(turns_.first.value), second_key = pair.find(turns_.second.key);
    if (first_value == kNone || second_key == kNone || second_key < first_value) return false;
    const size_t first_end = first_value + turns_.first.value.size();
    const std::string_view between_parameters = pair.substr(first_end, second_key - first_end);
    const std::string_view before_key = one.substr(name_end, key - name_end);
    const std::string_view begin = common_suffix(before_key, between_parameters);
    const std::string_view name_to_value =
        one.substr(key + turns_.first.key.size(), value - key - turns_.first.key.size());
    format_.parameter.begin = mark(begin);
    format_.parameter.name_end = mark(name_to_value);
    format_.parameter.end = mark(between_parameters.substr(0, between_parameters.size() - begin.size()));
    format_.parameter.own_lines = name_to_value.ends_with('\n') && between_parameters.starts_with('\n');
    format_.name_end = mark(before_key.substr(0, before_key.size() - begin.size()));
    if (format_.parameter.begin.empty() || format_.parameter.name_end.empty() ||
        format_.parameter.end.empty())
      return false;
    const size_t end = one.find(format_.parameter.end, value_end);
    if (end == kNone) return false;
    core_.end = end + format_.parameter.end.size();
    name_tags();
    typed_marks();
    return names_around(name);
  }

  // What stands in front of a value may say whether it is a string.
  void typed_marks() {
    ParameterMarks& marks = format_.parameter;
    const std::string before_list = behind_key(turns_.list, "[\"" + turns_.second.value),
                      before_number = behind_key(turns_.number, kMarkedNumber);
    if (!marks.item.empty() || before_list.empty() || before_number.empty() || before_list == marks.name_end)
      return;
    marks.string_name_end = std::exchange(marks.name_end, {});
    marks.value_name_end = with_any_word(before_list, before_number);
  }

  std::string behind_key(std::string_view turn, std::string_view value) const {
    const size_t key = turn.find(turns_.first.key), at = turn.find(value);
    if (key == kNone || at == kNone || at < key + turns_.first.key.size()) return {};
    // A template that cannot write the value is given the call in other words.
    if (!turn.substr(0, key).ends_with(format_.parameter.begin)) return {};
    return mark(turn.substr(key + turns_.first.key.size(), at - key - turns_.first.key.size()));
  }

  // The two, with kAnyWord for the word in which they differ.
  static std::string with_any_word(std::string_view a, std::string_view b) {
    if (a == b) return std::string(a);
    const size_t shorter = std::min(a.size(), b.size());
    size_t same = 0, end = 0;
    while (same < shorter && a[same] == b[same]) same++;
    while (end < shorter - same && a[a.size() - 1 - end] == b[b.size() - 1 - end]) end++;
    while (same > 0 && is_word(a[same - 1])) same--;
    while (end > 0 && is_word(a[a.size() - end])) end--;
    return std::string(a.substr(0, same)) + kAnyWord + std::string(a.substr(a.size() - end));
  }

  // The name of a parameter may stand in the mark behind its value; then lists may be written in such marks, too.
  void name_tags() {
    ParameterMarks& marks = format_.parameter;
    const std::string& key = turns_.first.key;
    const size_t own = marks.end.find(key);
    if (own == kNone) return;
    marks.end.replace(own, key.size(), 1, kOwnName);
    const std::string_view list = turns_.list;
    const std::string before = key + marks.name_end + marks.begin;
    const size_t at = list.find(before), value = list.find(turns_.second.value);
    if (at == kNone || value == kNone || at + before.size() + marks.name_end.size() >= value) return;
    const std::string_view item = list.substr(at + before.size(), value - at - before.size());
    if (item.ends_with(marks.name_end)) marks.item = item.substr(0, item.size() - marks.name_end.size());
  }

  // What stands around each call and around all of them.
  bool surroundings() {
    const std::string_view one = turns_.one, two = turns_.two;
    std::string_view before = one.substr(0, core_.begin), after = one.substr(core_.end);
    after.remove_suffix(common_suffix(after, turns_.end).size());
    if (two.empty()) {
      set_before(before, "");
      set_after(after, "");
      return true;
    }
    const size_t core = core_.end - core_.begin;
    const size_t first_end = two.find(one.substr(core_.begin, core));
    if (first_end == kNone) return false;
    // The second call's core is as long as its parts' lengths say: marked names differ in letters only.
    const size_t second = second_core(two);
    if (second == kNone || second < first_end + core) return false;
    const std::string_view middle = two.substr(first_end + core, second - first_end - core);
    const std::string_view call_begin = common_suffix(before, middle);
    const std::string_view call_end =
        common_prefix(after, middle.substr(0, middle.size() - call_begin.size()));
    format_.separator =
        std::string(middle.substr(call_end.size(), middle.size() - call_begin.size() - call_end.size()));
    set_before(before.substr(0, before.size() - call_begin.size()), call_begin);
    set_after(after.substr(call_end.size()), call_end);
    return true;
  }

  size_t second_core(std::string_view two) const {
    const size_t name = two.find(turns_.second.name);
    if (name == kNone) return kNone;
    if (format_.shape != Shape::kObject) {
      if (!format_.id_first) return name;
      return two.rfind(turns_.second.id, name);
    }
    return object_around(two, name, two.find(turns_.second.value)).begin;
  }

  void set_before(std::string_view section, std::string_view call) {
    std::string outer = mark(section), inner = mark(call);
    if (!outer.empty() && outer.back() == '[' && trimmed(format_.separator) == ",") {
      format_.list = true;
      outer = mark(std::string_view(outer).substr(0, outer.size() - 1));
    }
    split_inner(inner);
    format_.section_begin = std::move(outer);
  }

  // A tag that is not closed before the name belongs to the name.
  void split_inner(const std::string& inner) {
    const size_t open = inner.rfind('<');
    const bool cut = open != kNone && open > 0 && inner.find('>', open) == kNone;
    // Unless what is before it is no mark by itself.
    const bool apart = cut && std::string_view("<[({").find(inner[open - 1]) == kNone;
    if (format_.shape == Shape::kHeader && apart) {
      format_.call_begin = mark(std::string_view(inner).substr(0, open));
      format_.name_begin = inner.substr(open);
    } else {
      format_.call_begin = inner;
    }
    // A numbered name with its namespace is the id.
    std::string& begin = format_.call_begin;
    if (format_.numbered && begin.ends_with('.')) {
      const size_t word = begin.find_last_not_of("abcdefghijklmnopqrstuvwxyz_", begin.size() - 2) + 1;
      format_.name_prefix = begin.substr(word);
      begin.resize(word);
    }
  }

  void set_after(std::string_view section, std::string_view call) {
    std::string outer = mark(section);
    if (format_.list && outer.starts_with(']')) outer = mark(std::string_view(outer).substr(1));
    format_.section_end = std::move(outer);
    format_.call_end = mark(call);
    if (turns_.two.empty()) {
      format_.call_end = std::exchange(format_.section_end, {});
      format_.call_begin = std::exchange(format_.section_begin, {});
      split_inner(std::string(format_.call_begin));
    }
  }

  const MarkedTurns& turns_;
  CallFormat format_;
  Core core_;
};

}  // namespace

std::optional<CallFormat> derive_format(const MarkedTurns& turns) { return Deriver(turns).run(); }

}  // namespace brass::calls
