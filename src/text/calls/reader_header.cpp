// Calls whose name comes before their arguments.
#include <algorithm>

#include "text/calls/marks.h"
#include "text/calls/reader.h"

namespace brass::calls {

namespace {

constexpr size_t kMaxHeld = 256;  // an end and the blanks around it that are longer are none

}  // namespace

Routine<bool> CallReader::header_call(bool in_section, bool marked) {
  arguments_.clear();
  Head start;
  if (format_.id_first) {
    const bool begun = co_await expect(format_.id_begin);
    if (!begun) co_return false;
    co_await values_.blanks();
    start.id = co_await name_run();
  }
  if (marked) {
    const bool begun = co_await expect(format_.name_begin);
    if (!begun) co_return false;
  }
  const bool headed = co_await head(start);
  if (!headed) co_return false;
  bool good = false;
  if (format_.coding == Coding::kParameters) {
    open(start.id, start.name);
    good = co_await parameters(start.name, in_section, marked);
  } else {
    co_await values_.blanks();
    const int c = co_await source_.peek();
    if (c != '{') co_return false;
    open(start.id, start.name);
    good = co_await values_.value(arguments_);
    if (good) good = co_await expect(format_.arguments_end);
    if (good && marked) good = co_await expect(format_.call_end);
  }
  if (good) close();
  co_return good;
}

// NAME [id_begin ID] name_end
Routine<bool> CallReader::head(Head& out) {
  co_await values_.blanks();
  out.name = co_await name_run();
  if (out.name.empty()) co_return false;
  split_name(out);
  const int c = co_await source_.peek();
  if (format_.coding == Coding::kValue && c == '{') co_return true;  // models leave name_end out
  if (format_.id_begin.empty() || format_.id_first) co_return co_await expect(format_.name_end);
  const std::vector<std::string> marks = {format_.name_end, format_.id_begin};
  const int mark = co_await expect_any(marks);
  if (mark != 1) co_return mark == 0;
  out.id = co_await name_run();
  co_return co_await expect(format_.name_end);
}

// Where the name is a tag of its own, what begins with a stroke is the end of one.
bool CallReader::names_parameter(std::string_view written) const {
  return format_.parameter.end.find(kOwnName) == std::string::npos || !trimmed(written).starts_with('/');
}

// Whether the text begins with a parameter's name between its marks.
Fit CallReader::fits_parameter(std::string_view text) const {
  const ParameterMarks& marks = format_.parameter;
  const Fit begin = fit(text, marks.begin);
  if (begin != Fit::kYes) return begin;
  // Marks of parameters have blanks inside at most where a tag has them: one.
  text.remove_prefix(std::min(marks.begin.size(), text.size()));
  const std::string& name_end = marks.name_end.empty() ? marks.string_name_end : marks.name_end;
  const size_t end = text.find(name_end[0]);
  const std::string_view name = text.substr(0, end);
  if (name.find_first_of("<>\n") != std::string_view::npos || !names_parameter(name)) return Fit::kNo;
  if (end == std::string_view::npos) return Fit::kMaybe;
  if (trimmed(name).empty()) return Fit::kNo;
  return std::max(fit(text.substr(end), name_end),
                  fit(text.substr(end), marks.value_name_end.empty() ? name_end : marks.value_name_end));
}

Routine<bool> CallReader::parameters(const std::string& tool, bool in_section, bool marked) {
  const std::vector<std::string> after = behind_last_value(format_, in_section, marked);
  const bool has_end = !format_.arguments_end.empty();
  const std::string end = has_end ? format_.arguments_end : format_.call_end;
  const std::vector<std::string> next = {format_.parameter.begin, end};
  arguments_.assign(1, '{');
  for (bool first = true;; first = false) {
    const int mark = co_await expect_any(next);
    if (mark < 0) co_return false;
    if (mark == 1) break;
    if (!first) arguments_ += ", ";
    const bool read = co_await parameter(tool, after);
    if (!read) co_return false;
  }
  arguments_ += '}';
  if (has_end && marked) co_return co_await expect(format_.call_end);
  co_return true;
}

// Behind the mark of a parameter: its name and value.
Routine<bool> CallReader::parameter(const std::string& tool, const std::vector<std::string>& after) {
  const ParameterMarks& marks = format_.parameter;
  const std::vector<std::string> ends = {marks.name_end, marks.string_name_end, marks.value_name_end};
  const char stop = marks.name_end.empty() ? marks.string_name_end[0] : marks.name_end[0];
  const std::string written = co_await text_before(stop);
  const std::string name(trimmed(written));
  const int kind = co_await expect_any(ends);
  if (name.empty() || kind < 0 || !names_parameter(name)) co_return false;
  if (marks.own_lines) {
    const int c = co_await source_.peek();
    if (c == '\n') source_.take();
  }
  const bool fenced = marks.cdata && co_await skip_exactly("<![CDATA[");
  const std::string own_end = with_name(marks.end, name);
  const std::string end = fenced ? "]]>" + own_end : own_end;
  arguments_ += quoted_json(name);
  arguments_ += ": ";
  const ValueSchema schema = tools_.value(tool, name);
  const bool is_string = kind == 1 || (kind == 0 && schema.types().only_string());
  if (is_string) {
    arguments_ += '"';
    const bool read = co_await raw_text(arguments_, true, end, after);
    arguments_ += '"';
    co_return read;
  }
  if (!marks.item.empty()) co_return co_await tagged_value(arguments_, schema, end, after, 0);
  std::string text;
  const bool read = co_await raw_text(text, false, end, after);
  if (!read) co_return false;
  const std::optional<std::string> json = kind == 2 ? to_json(text) : std::nullopt;
  arguments_ += json ? *json : schema.read(text);
  co_return true;
}

// Reads `text` where it is what comes; else nothing.
Routine<bool> CallReader::skip_exactly(std::string_view text) {
  std::string held;
  for (const char wanted : text) {
    if (co_await source_.peek() != static_cast<unsigned char>(wanted)) {
      source_.unread(held);
      co_return false;
    }
    source_.take();
    held += wanted;
  }
  co_return true;
}

// A value up to its end, which only counts if what follows it is what must.
Routine<bool> CallReader::raw_text(std::string& out, bool escape, const std::string& end,
                                   const std::vector<std::string>& after) {
  std::string held;
  for (;;) {
    const int c = co_await source_.peek();
    if (c == Source::kEnd) co_return false;
    source_.take();
    held += static_cast<char>(c);
    while (!held.empty()) {
      const size_t line = format_.parameter.own_lines && held[0] == '\n' ? 1 : 0;
      const std::string_view rest = std::string_view(held).substr(line);
      Fit best = held.size() > kMaxHeld ? Fit::kNo : fit(rest, end);
      if (best == Fit::kYes) {
        const std::string_view behind = rest.substr(end.size());
        best = fits_parameter(trimmed(behind));
        for (const std::string& mark : after) best = std::max(best, fit(trimmed(behind), mark));
        if (best == Fit::kYes) {
          source_.unread(behind);
          co_return true;
        }
      }
      if (best == Fit::kMaybe) break;
      if (escape) {
        put_escaped(out, held[0]);
      } else {
        out += held[0];
      }
      held.erase(0, 1);
    }
  }
}

}  // namespace brass::calls
