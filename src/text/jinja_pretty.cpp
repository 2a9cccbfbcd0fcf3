// pprint: Python's pretty-printed repr of a value, 80 columns wide (jinja_filters.h).
#include <algorithm>

#include "text/jinja_filters.h"
#include "text/jinja_ops.h"
#include "text/jinja_repr.h"
#include "text/jinja_strings.h"

namespace brass::jinja {
namespace {

constexpr size_t kWidth = 80;

size_t columns(const Text& text) { return count_code_points(text.view()); }

class Pretty {
 public:
  explicit Pretty(Runtime& rt) : rt_(rt) {}

  // `indent`: columns that stand before it; `allowance`: what must still fit behind it; `level`: 1 outermost.
  Result<> print(Text& out, const Value& value, size_t indent, size_t allowance, int level) {
    TRY(rt_.check_stack());
    Text flat = TRY(on_one_line(value));
    TRY(rt_.step(1 + flat.size() / 16));
    TRY(rt_.room(out.size() + flat.size()));
    if (columns(flat) + indent + allowance <= kWidth) {
      out.append(flat);
      return {};
    }
    const bool own = value.raw() == nullptr || value.raw()->heap() != nullptr;
    if (value.is(Kind::dict)) return dict(out, value, indent, allowance, level, own);
    if (value.is_sequence() && !value.items().group())
      return items(out, value, indent, allowance, level, own);
    if (value.is_string() && !value.str().markup())
      return string(out, value.str().text(), indent, allowance, level);
    out.append(flat);
    return {};
  }

 private:
  // The repr, with the keys of dicts in order.
  Result<Text> on_one_line(const Value& value) {
    TRY(rt_.check_stack());
    TRY(rt_.step());
    Text out;
    const bool own = value.raw() == nullptr || value.raw()->heap() != nullptr;
    if (value.is(Kind::dict)) {
      out.append("{", own);
      bool first = true;
      for (const auto& [key, item] : TRY(sorted(value))) {
        if (!first) out.append(", ", own);
        first = false;
        out.append(TRY(on_one_line(key)));
        out.append(": ", own);
        out.append(TRY(on_one_line(item)));
      }
      out.append("}", own);
    } else if (value.is_sequence() && !value.items().group()) {
      const bool list = value.is(Kind::list);
      out.append(list ? "[" : "(", own);
      for (size_t i = 0; i < value.items().size(); i++) {
        if (i > 0) out.append(", ", own);
        out.append(TRY(on_one_line(value.items()[i])));
      }
      out.append(list ? "]" : value.items().size() == 1 ? ",)" : ")", own);
    } else {
      TRY(append_repr(rt_, out, value));
    }
    TRY(rt_.room(out.size()));
    return out;
  }

  Result<std::vector<Dict::Entry>> sorted(const Value& dict) {
    std::vector<Dict::Entry> entries = dict.mapping().entries();
    TRY(rt_.step(entries.size()));
    const auto before = [&](const Dict::Entry& a, const Dict::Entry& b) {
      if (const auto is = less(rt_, a.first, b.first)) return *is;
      return type_name(a.first) < type_name(b.first);  // what cannot be compared: by type
    };
    std::stable_sort(entries.begin(), entries.end(), before);
    return entries;
  }

  Result<> dict(Text& out, const Value& value, size_t indent, size_t allowance, int level, bool own) {
    const std::vector<Dict::Entry> entries = TRY(sorted(value));
    out.append("{", own);
    for (size_t i = 0; i < entries.size(); i++) {
      if (i > 0) out.append(",\n" + std::string(indent + 1, ' '), own);
      const Text key = TRY(on_one_line(entries[i].first));
      out.append(key);
      out.append(": ", own);
      const size_t behind = i + 1 == entries.size() ? allowance + 1 : 1;
      TRY(print(out, entries[i].second, indent + 1 + columns(key) + 2, behind, level + 1));
    }
    out.append("}", own);
    return {};
  }

  Result<> items(Text& out, const Value& value, size_t indent, size_t allowance, int level, bool own) {
    const bool list = value.is(Kind::list);
    const size_t count = value.items().size();
    const std::string_view end = list ? "]" : count == 1 ? ",)" : ")";
    out.append(list ? "[" : "(", own);
    for (size_t i = 0; i < count; i++) {
      if (i > 0) out.append(",\n" + std::string(indent + 1, ' '), own);
      TRY(print(out, value.items()[i], indent + 1, i + 1 == count ? allowance + end.size() : 1, level + 1));
    }
    out.append(end, own);
    return {};
  }

  Result<Text> repr(const Text& text) {
    Text out;
    TRY(append_repr(rt_, out, rt_.string(text)));
    return out;
  }

  // A long string becomes several literals, one a line of it, longer ones cut between words.
  Result<> string(Text& out, const Text& text, size_t indent, size_t allowance, int level) {
    if (level == 1) indent++, allowance++;
    const std::vector<Text> lines = split_lines(text, true);
    std::vector<Text> chunks;
    const auto fits = [&](const Text& literal, bool last) {
      return columns(literal) + indent + (last ? allowance : 0) <= kWidth;
    };
    for (size_t i = 0; i < lines.size(); i++) {
      const bool last = i + 1 == lines.size();
      Text whole = TRY(repr(lines[i]));
      if (fits(whole, last)) {
        chunks.push_back(std::move(whole));
        continue;
      }
      const std::vector<Text> parts = words(lines[i]);
      Text current;
      for (size_t k = 0; k < parts.size(); k++) {
        Text candidate = current;
        candidate.append(parts[k]);
        TRY(rt_.step(1 + candidate.size() / 16));
        if (fits(TRY(repr(candidate)), last && k + 1 == parts.size())) {
          current = std::move(candidate);
          continue;
        }
        if (!current.empty()) chunks.push_back(TRY(repr(current)));
        current = parts[k];
      }
      if (!current.empty()) chunks.push_back(TRY(repr(current)));
    }
    const bool brackets = level == 1 && chunks.size() > 1;
    if (brackets) out.append("(", true);
    for (size_t i = 0; i < chunks.size(); i++) {
      if (i > 0) out.append("\n" + std::string(indent, ' '), true);
      out.append(chunks[i]);
    }
    if (brackets) out.append(")", true);
    return {};
  }

  // Cuts behind each run of blanks.
  static std::vector<Text> words(const Text& line) {
    std::vector<Text> out;
    size_t start = 0;
    bool blank = false;
    each_character(line.view(), [&](char32_t c, size_t at, size_t) {
      const bool is = is_space(c);
      if (blank && !is) out.push_back(line.slice(start, at)), start = at;
      blank = is;
    });
    if (start < line.size()) out.push_back(line.slice(start, line.size()));
    return out;
  }

  Runtime& rt_;
};

Result<Value> pprint(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "pprint", {"value"}, 1));
  Text out;
  TRY(Pretty(rt).print(out, *bound[0], 0, 0, 1));
  return rt.string(std::move(out));
}

// Known, so that a template that never comes to it renders.
Result<Value> random(Runtime&, Args&) {
  return fail_hint("use first, last or an index", "filter 'random' is refused: no two runs would be alike");
}

constexpr Builtin kFilters[] = {{"pprint", pprint}, {"random", random}};
static_assert(in_order(kFilters));

}  // namespace

std::span<const Builtin> pretty_filters() { return kFilters; }

}  // namespace brass::jinja
