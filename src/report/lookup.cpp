#include "report/lookup.h"

#include <algorithm>

#include "base/check.h"

namespace brass::report {
namespace {

// Where the text that stood behind the last `match` tokens of `text` begins; text.size() where they are new.
size_t behind_match(std::span<const int32_t> text, uint32_t match) {
  if (text.size() <= match) return text.size();
  const auto words = text.last(match);
  for (size_t at = text.size() - match; at-- > 0;)
    if (std::ranges::equal(text.subspan(at, match), words)) return at + match;
  return text.size();
}

}  // namespace

LookupReplay replay_lookup(std::span<const int32_t> text, size_t prompt, uint32_t match, uint32_t draft) {
  ENSURE(match > 0 && draft > 0 && prompt <= text.size(), "{} and {} tokens", match, draft);
  LookupReplay replay;
  for (size_t known = prompt + 1; known < text.size();) {
    const size_t from = behind_match(text.first(known), match);
    const size_t proposed = std::min<size_t>(draft, known - from);
    size_t right = 0;
    while (right < proposed && known + right < text.size() && text[from + right] == text[known + right])
      right++;
    (proposed > 0 ? replay.drafting : replay.plain)++;
    replay.drafted += static_cast<uint32_t>(proposed);
    replay.accepted += static_cast<uint32_t>(right);
    const size_t gained = std::min(right + 1, text.size() - known);
    replay.tokens += static_cast<uint32_t>(gained);
    known += gained;
  }
  return replay;
}

}  // namespace brass::report
