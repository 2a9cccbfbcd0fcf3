// What the walk over the vocabulary wants to know of a set: which bytes it can read at all, where it stays itself.
#include <algorithm>

#include "text/grammar/walk.h"

namespace brass::grammar {

namespace {

using Bytes = std::array<uint64_t, 4>;

void put(Bytes& bytes, uint8_t byte) { bytes[byte / 64] |= uint64_t{1} << (byte % 64); }
bool has(const Bytes& bytes, uint8_t byte) { return (bytes[byte / 64] >> (byte % 64) & 1) != 0; }

// [low, high] as bits of 64 from `base` on.
uint64_t bits_between(char32_t low, char32_t high, char32_t base) {
  if (high < base || low > base + 63) return 0;
  const char32_t from = low < base ? 0 : low - base, to = high > base + 63 ? 63 : high - base;
  return (~uint64_t{0} << from) & (~uint64_t{0} >> (63 - to));
}

constexpr Bytes kContinuations = {0, 0, ~uint64_t{0}, 0};
constexpr Bytes kRawJson = {0xFFFFFFFF00000000, ~uint64_t{0}, 0, 0};

Bytes partial_bytes(uint32_t state) {
  using namespace spelling;
  Bytes out = {0, 0, 0, 0};
  switch (mode_of(state)) {
    case kUtf8:
      return kContinuations;
    case kEscape:
      for (const char c : {'"', '\\', '/', 'b', 'f', 'n', 'r', 't', 'u'}) put(out, static_cast<uint8_t>(c));
      return out;
    case spelling::kHigh:
      put(out, '\\');
      return out;
    case kHighEscape:
      put(out, 'u');
      return out;
    case kUnit:
    case kLow:
      for (int byte = 0; byte < 128; ++byte) {
        if (hex(static_cast<uint8_t>(byte)) >= 0) put(out, static_cast<uint8_t>(byte));
      }
      return out;
  }
  return out;
}

// A code point's range, as it may begin in a text of this spelling.
void put_range(Bytes& bytes, char32_t low, char32_t high, bool json) {
  const uint64_t first = bits_between(low, high, 0), second = bits_between(low, high, 64);
  bytes[0] |= json ? first & kRawJson[0] : first;
  bytes[1] |= second;
  if (high >= 0x80) bytes[3] |= ~uint64_t{3};
}

}  // namespace

Walk::Bytes Walk::first_bytes(const Item& item) {
  Bytes out = {0, 0, 0, 0};
  switch (item.kind) {
    case FrameKind::kText:
      put(out, static_cast<uint8_t>(grammar_.at(item.node).text[item.x]));
      break;
    case FrameKind::kObject:
      for (const char c : {'{', '}', ',', ':', '"'}) put(out, static_cast<uint8_t>(c));
      break;
    case FrameKind::kTerminal: {
      if (item.y != 0) return partial_bytes(item.y);
      const bool json = static_cast<Spelling>(item.node) == Spelling::kJsonString;
      for (const RegexArena::Edge& edge : grammar_.regexes.edges(static_cast<RegexId>(item.x)))
        put_range(out, edge.low, edge.high, json);
      if (json) out[0] &= ~(uint64_t{1} << '"'), put(out, '\\');
      break;
    }
    case FrameKind::kKey: {
      if (item.z != 0) return partial_bytes(item.z);
      for (const auto& [point, child] : object_of(item).tree[item.y].next) put_range(out, point, point, true);
      put(out, '"'), put(out, '\\');
      break;
    }
    case FrameKind::kTracked:
      return {kRawJson[0], kRawJson[1], ~uint64_t{0}, ~uint64_t{0}};
    default:
      break;
  }
  return out;
}

void Walk::open_table(SetId set) {
  Bytes possible = {0, 0, 0, 0};
  for (size_t i = 0; i < items(set).size(); ++i) {
    const Bytes more = first_bytes(items(set)[i]);
    for (size_t word = 0; word < 4; ++word) possible[word] |= more[word];
  }
  auto next = std::make_unique_for_overwrite<int32_t[]>(256);
  for (int byte = 0; byte < 256; ++byte)
    next[static_cast<size_t>(byte)] = has(possible, static_cast<uint8_t>(byte)) ? -1 : kDead;
  sets_[static_cast<size_t>(set)].next = std::move(next);
  ++step_tables_;
}

// The characters that leave a terminal as it is.
CharClass Walk::terminal_loop(const Item& item) {
  CharClass out;
  if (item.y != 0) return out;
  const bool json = static_cast<Spelling>(item.node) == Spelling::kJsonString;
  char32_t covered = 0x80;  // all from 0x80 to here loop
  for (const RegexArena::Edge& edge : grammar_.regexes.edges(static_cast<RegexId>(item.x))) {
    if (edge.target != static_cast<RegexId>(item.x)) continue;
    out.ascii[0] |= bits_between(edge.low, edge.high, 0);
    out.ascii[1] |= bits_between(edge.low, edge.high, 64);
    if (edge.low <= covered && edge.high >= covered) covered = edge.high + 1;
    if (covered == 0xD800) covered = 0xE000;
  }
  out.others = covered > 0x10FFFF;
  if (json) {
    out.ascii[0] &= kRawJson[0] & ~(uint64_t{1} << '"');
    out.ascii[1] &= ~(uint64_t{1} << ('\\' - 64));
  }
  return out;
}

Walk::Loop Walk::find_loop(SetId set) {
  Loop out;
  size_t looping = 0;
  const std::vector<Item> all(items(set).begin(), items(set).end());
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].kind != FrameKind::kTerminal) continue;
    const CharClass chars = terminal_loop(all[i]);
    // One that holds the others is worth most; a union would not do, for each goes its own way.
    if (!chars.empty() && out.chars.within(chars)) out.chars = chars, looping = i;
  }
  if (out.chars.empty()) return out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i == looping) continue;
    const Bytes first = first_bytes(all[i]);
    const bool meets = (first[0] & out.chars.ascii[0]) != 0 || (first[1] & out.chars.ascii[1]) != 0 ||
                       (out.chars.others && (first[2] | first[3]) != 0);
    if (meets) return out;
  }
  // Alone, it goes the same way with each of its characters: one tells.
  for (int byte = 0; byte < 128; ++byte) {
    if (!out.chars.has(static_cast<uint8_t>(byte))) continue;
    out.exact = step(set, static_cast<uint8_t>(byte)) == set;
    return out;
  }
  out.exact = step(step(set, 0xC3), 0xA9) == set;
  return out;
}

const Walk::Loop& Walk::loop(SetId set) {
  if (sets_[static_cast<size_t>(set)].loop < 0) {
    const Loop found = find_loop(set);
    sets_[static_cast<size_t>(set)].loop = static_cast<int32_t>(loops_.size());
    loops_.push_back(found);
  }
  return loops_[static_cast<size_t>(sets_[static_cast<size_t>(set)].loop)];
}

SetId Walk::relaxed(SetId set, int length) {
  if (relaxed_length_ != length) relaxed_.clear(), relaxed_length_ = length;
  if (const auto found = relaxed_.find(set); found != relaxed_.end()) return found->second;
  Items all(items(set).begin(), items(set).end());
  bool changed = false;
  for (Item& item : all) {
    if (item.kind != FrameKind::kTerminal || item.y != 0) continue;
    const auto regex = static_cast<uint32_t>(grammar_.regexes.relaxed(static_cast<RegexId>(item.x), length));
    changed |= regex != item.x;
    item.x = regex;
  }
  const SetId found = changed && !grammar_.regexes.exhausted() ? intern(all) : set;
  return relaxed_[set] = found;
}

}  // namespace brass::grammar
