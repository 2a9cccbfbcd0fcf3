#include "text/calls/reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/calls/marks.h"

namespace brass::calls {

namespace {

constexpr size_t kMaxName = 512;

bool ends_name(int c) {
  constexpr std::string_view kEnds = "<>[]{}()\"'`,=;|";
  static_assert(Source::kEnd < ' ');
  return c <= ' ' || kEnds.find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace

// An id that an earlier call of the reply has names that one: results could not be told apart.
void CallReader::open(std::string id, std::string name) {
  sent_ = 0;
  const auto has_it = [&](const ParsedCall& call) { return call.id == id; };
  const bool taken = std::ranges::any_of(outbox_.message().calls, has_it);
  outbox_.begin_call(id.empty() || taken ? make_id() : std::move(id), std::move(name));
}

void CallReader::flush() {
  if (!outbox_.in_call()) return;
  outbox_.arguments(std::string_view(arguments_).substr(sent_));
  sent_ = arguments_.size();
}

void CallReader::close() {
  if (arguments_.empty()) arguments_ = "{}";
  flush();
  outbox_.end_call();
  outbox_.begin_part(false);
  arguments_.clear();
  source_.mark();
}

std::string CallReader::make_id() {
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string id = "call_";
  for (int i = 0; i < 24; i++) id += kLetters[ids_.below(kLetters.size())];
  return id;
}

Routine<bool> CallReader::expect(std::string_view mark) {
  if (mark.empty()) co_return true;
  co_await values_.blanks();
  for (const char wanted : mark) {
    if (is_blank(wanted)) {
      co_await values_.blanks();
      continue;
    }
    int c = co_await source_.peek();
    if (wanted == kAnyWord) {
      while (is_letter_or_digit(c)) {
        source_.take();
        c = co_await source_.peek();
      }
      continue;
    }
    if (c != static_cast<unsigned char>(wanted)) co_return false;
    source_.take();
  }
  co_return true;
}

// Which of the marks comes, after blanks, the longest of those that do; -1: none.
Routine<int> CallReader::expect_any(const std::vector<std::string>& marks) {
  co_await values_.blanks();
  std::string text;
  int found = -1;
  size_t length = 0;
  std::vector<bool> seen(marks.size());
  for (;;) {
    bool open = false;
    for (size_t i = 0; i < marks.size(); i++) {
      if (marks[i].empty() || seen[i]) continue;
      const Fit now = fit(text, marks[i]);
      open = open || now == Fit::kMaybe;
      if (now != Fit::kYes) continue;
      seen[i] = true;
      if (text.size() == length) continue;  // as long as another
      found = static_cast<int>(i);
      length = text.size();
    }
    if (!open) break;
    const int c = co_await source_.peek();
    if (c == Source::kEnd) break;
    source_.take();
    text += static_cast<char>(c);
  }
  if (found >= 0) source_.unread(std::string_view(text).substr(length));
  co_return found;
}

Routine<std::string> CallReader::name_run() {
  std::string name;
  for (;;) {
    const int c = co_await source_.peek();
    if (ends_name(c) || name.size() >= kMaxName) co_return name;
    source_.take();
    name += static_cast<char>(c);
  }
}

Routine<std::string> CallReader::text_before(char end) {
  std::string text;
  for (;;) {
    const int c = co_await source_.peek();
    if (c == Source::kEnd || static_cast<char>(c) == end || text.size() >= kMaxName) co_return text;
    source_.take();
    text += static_cast<char>(c);
  }
}

Routine<bool> CallReader::section() {
  const std::vector<std::string> marks = {format_.call_begin, format_.section_end};
  co_await values_.blanks();
  const int first = co_await source_.peek();
  if (first == '[') {
    const bool good = co_await list();
    if (!good) co_return false;
    co_return co_await expect(format_.section_end);
  }
  for (bool any = false;; any = true) {
    if (!format_.call_begin.empty()) {
      const int mark = co_await expect_any(marks);
      if (mark == 1) co_return any;
      if (mark < 0) co_return false;
    } else {
      co_await values_.blanks();
      const int c = co_await source_.peek();
      if (any && !format_.section_end.empty() && c == static_cast<unsigned char>(format_.section_end[0]))
        co_return co_await expect(format_.section_end);
    }
    const bool good = co_await unit(true);
    if (!good) co_return false;
    if (format_.section_end.empty() && format_.call_begin.empty()) co_return true;
  }
}

Routine<bool> CallReader::call() { co_return co_await unit(false); }

Routine<bool> CallReader::call_without_mark() { co_return co_await header_call(false, false); }

// One call behind its mark, or a list of calls, and the mark behind it.
Routine<bool> CallReader::unit(bool in_section) {
  arguments_.clear();
  co_await values_.blanks();
  const int c = co_await source_.peek();
  if (c == '[') {
    const bool good = co_await list();
    if (!good) co_return false;
    co_return co_await expect(format_.call_end);
  }
  bool good = false;
  if (c == '{') {
    good = co_await object_call();
  } else if (format_.shape == Shape::kHeader) {
    co_return co_await header_call(in_section, true);
  } else if (format_.shape == Shape::kPython || !format_.name_suffix.empty()) {
    good = co_await python_call();
  }
  if (good) good = co_await expect(format_.call_end);
  if (good) close();
  co_return good;
}

// [a, b]: each is complete at its own end.
Routine<bool> CallReader::list() {
  source_.take();
  for (;;) {
    arguments_.clear();
    co_await values_.blanks();
    int c = co_await source_.peek();
    bool good = false;
    if (c == '{') good = co_await object_call();
    if (c != '{' && format_.shape == Shape::kPython) good = co_await python_call();
    if (!good) co_return false;
    close();
    co_await values_.blanks();
    c = co_await source_.peek();
    if (c != ',' && c != ']') co_return false;
    source_.take();
    if (c == ']') co_return true;
  }
}

Routine<bool> CallReader::bare() {
  arguments_.clear();
  bare_ = true;
  const int c = co_await source_.peek();
  bool good = false;
  if (c == '[') {
    good = co_await list();
  } else {
    good = co_await object_call();
    if (good) close();
  }
  bare_ = false;
  co_return good;
}

Routine<bool> CallReader::named(bool* content) {
  std::string name = co_await name_run();
  if (name.empty()) co_return false;
  const int c = co_await source_.peek();
  if (!format_.content_name.empty() && name == format_.content_name) {
    if (c != '\n') co_return false;
    source_.take();
    *content = true;
    co_return true;
  }
  if (!tools_.empty() && !tools_.has(name)) co_return false;
  co_return co_await body(name);
}

Routine<bool> CallReader::body(const std::string& name) {
  arguments_.clear();
  co_await values_.blanks();
  const int c = co_await source_.peek();
  if (c != '{' || name.empty()) co_return false;
  open("", name);
  const bool good = co_await values_.value(arguments_);
  if (good) close();
  co_return good;
}

// name(key=value, …)
Routine<bool> CallReader::python_call() {
  Head head;
  head.name = co_await name_run();
  split_name(head);
  if (head.name.empty() || (bare_ && !tools_.empty() && !tools_.has(head.name))) co_return false;
  const int c = co_await source_.peek();
  if (c != '(') co_return false;
  source_.take();
  open("", head.name);
  co_return co_await values_.python_arguments(arguments_, tools_.parameters(head.name));
}

void CallReader::split_name(Head& head) const {
  std::string& name = head.name;
  if (format_.numbered) {
    const size_t colon = name.rfind(':');
    const bool digits = colon != std::string::npos && colon + 1 < name.size() &&
                        name.find_first_not_of("0123456789", colon + 1) == std::string::npos;
    if (digits) {
      head.id = name;
      name.resize(colon);
    }
  }
  if (name.size() > format_.name_prefix.size() && name.starts_with(format_.name_prefix))
    name.erase(0, format_.name_prefix.size());
  if (!format_.name_suffix.empty() && name.ends_with(format_.name_suffix))
    name.resize(name.size() - format_.name_suffix.size());
}

}  // namespace brass::calls
