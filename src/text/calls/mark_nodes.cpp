#include "text/calls/mark_nodes.h"

#include <algorithm>
#include <array>

#include "text/calls/format.h"
#include "text/calls/marks.h"
#include "text/grammar/code_points.h"

namespace brass::calls {

using grammar::NodeId;
using grammar::RegexArena;
using grammar::RegexId;

namespace {

constexpr int kIndentation = 16;

// A blank, or one or two line ends and an indentation: a reply cannot be filled with nothing.
RegexId gap_regex(RegexArena& arena) {
  const RegexId line = arena.literal("\n");
  const RegexId indentation = arena.repeat(arena.set({{U'\t', U'\t'}, {U' ', U' '}}), 0, kIndentation);
  const RegexId lines = arena.concat(std::array{arena.repeat(line, 1, 2), indentation});
  return arena.any_of(std::array{arena.empty(), arena.literal(" "), lines});
}

}  // namespace

MarkNodes::MarkNodes(grammar::Grammar& grammar, const std::vector<std::string>& controls)
    : grammar_(grammar), controls_(controls) {
  RegexArena& arena = grammar.regexes();
  gap_ = grammar.terminal(gap_regex(arena));
  constexpr int kLongestWord = 3;
  word_ = grammar.terminal(arena.repeat(arena.set({{U'0', U'9'}}), 1, kLongestWord));
}

// Text without blanks and words, control pieces apart.
NodeId MarkNodes::written(std::string_view text, bool begins) {
  std::vector<NodeId> parts;
  std::string plain;
  const auto put_plain = [&] {
    if (!plain.empty()) parts.push_back(grammar_.text(plain));
    plain.clear();
  };
  while (!text.empty()) {
    const auto longest =
        std::max_element(controls_.begin(), controls_.end(), [&](const std::string& a, const std::string& b) {
          return text.starts_with(a) * a.size() < text.starts_with(b) * b.size();
        });
    if (longest == controls_.end() || longest->empty() || !text.starts_with(*longest)) {
      plain += text[0];
      text.remove_prefix(1);
      continue;
    }
    put_plain();
    const NodeId control = grammar_.control(*longest);
    parts.push_back(begins ? grammar_.choice({control, grammar_.text(*longest)}) : control);
    text.remove_prefix(longest->size());
  }
  put_plain();
  return grammar_.sequence(std::move(parts));
}

NodeId MarkNodes::beginning(std::string_view text) { return written(text, true); }

NodeId MarkNodes::mark(std::string_view text, NodeId word) {
  std::vector<NodeId> parts;
  size_t begin = 0;
  const auto put_written = [&](size_t end) {
    if (end > begin) parts.push_back(written(text.substr(begin, end - begin), false));
    begin = end + 1;
  };
  for (size_t at = 0; at < text.size(); at++) {
    const bool is_gap = is_blank(text[at]) && at > 0 && text[at - 1] == '>';
    if (!is_gap && text[at] != kAnyWord) continue;
    put_written(at);
    parts.push_back(is_gap ? gap_ : word >= 0 ? word : word_);
  }
  put_written(text.size());
  return grammar_.sequence(std::move(parts));
}

void MarkNodes::add(std::vector<NodeId>& parts, std::string_view text) {
  if (text.empty()) return;
  parts.push_back(gap_);
  parts.push_back(mark(text));
}

RegexId MarkNodes::texts_without(std::string_view mark) {
  RegexArena& arena = grammar_.regexes();
  std::vector<RegexId> not_these = {arena.concat(std::array{arena.all(), arena.literal(mark), arena.all()})};
  for (size_t at = 1; at < mark.size(); at++)
    if (mark.starts_with(mark.substr(at)))
      not_these.push_back(arena.concat(std::array{arena.all(), arena.literal(mark.substr(0, at))}));
  return arena.negate(arena.any_of(not_these));
}

RegexId MarkNodes::pattern(std::string_view mark) {
  RegexArena& arena = grammar_.regexes();
  const RegexId blanks = arena.repeat(arena.set({{U'\t', U'\n'}, {U'\r', U'\r'}, {U' ', U' '}}), 0, -1);
  const RegexId word = arena.repeat(arena.set({{U'0', U'9'}, {U'A', U'Z'}, {U'a', U'z'}}), 0, -1);
  const RegexId name =
      arena.repeat(arena.set(grammar::complement({{U'\n', U'\n'}, {U'<', U'<'}, {U'>', U'>'}})), 0, -1);
  std::vector<RegexId> parts;
  while (!mark.empty()) {
    if (is_blank(mark[0]) || mark[0] == kAnyWord || mark[0] == kOwnName) {
      parts.push_back(is_blank(mark[0]) ? blanks : mark[0] == kAnyWord ? word : name);
      mark.remove_prefix(1);
      continue;
    }
    const size_t end =
        std::min(mark.size(), mark.find_first_of(std::string(" \t\r\n") + kAnyWord + kOwnName));
    parts.push_back(arena.literal(mark.substr(0, end)));
    mark.remove_prefix(end);
  }
  return arena.concat(parts);
}

}  // namespace brass::calls
