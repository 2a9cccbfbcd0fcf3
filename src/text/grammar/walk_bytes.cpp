// What the walk over the vocabulary wants to know of a set: which bytes it can read at all, where it stays itself.
#include <algorithm>

#include "text/grammar/char_groups.h"
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
      for (const char c : {'"', '\'', '\\', '/', 'b', 'f', 'n', 'r', 't', 'u'})
        put(out, static_cast<uint8_t>(c));
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
      const auto spelling = static_cast<Spelling>(item.node);
      const bool json = spelling != Spelling::kPlain;
      for (const RegexArena::Edge& edge : grammar_.regexes.edges(static_cast<RegexId>(item.x)))
        put_range(out, edge.low, edge.high, json);
      if (json) out[0] &= ~(uint64_t{1} << spelling::quote_of(spelling)), put(out, '\\');
      break;
    }
    case FrameKind::kKey: {
      if (item.z != 0) return partial_bytes(item.z);
      for (const auto& [point, child] : object_of(item).tree[item.y].next)
        put_range(out, point, point, false);
      put(out, '"'), put(out, '\\');
      break;
    }
    case FrameKind::kTracked:
      return {kRawJson[0], kRawJson[1], ~uint64_t{0}, ~uint64_t{0}};
    case FrameKind::kPartKey:
      return {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};
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

// Where one terminal alone reads `byte`, it goes the same way with every other ASCII character of that edge.
void Walk::spread(SetId set, uint8_t byte, SetId target) {
  const std::vector<Item> all(items(set).begin(), items(set).end());
  const auto reads = [&](const Item& item) { return has(first_bytes(item), byte); };
  const auto reader = std::find_if(all.begin(), all.end(), reads);
  if (reader == all.end() || reader->kind != FrameKind::kTerminal || reader->y != 0) return;
  if (static_cast<Spelling>(reader->node) != Spelling::kPlain && byte == '\\') return;
  CharClass same;
  for (const RegexArena::Edge& edge : grammar_.regexes.edges(static_cast<RegexId>(reader->x))) {
    if (edge.low <= byte && byte <= edge.high) same = raw_class(*reader, {&edge, 1});
  }
  for (auto other = all.begin(); other != all.end(); ++other) {
    if (other == reader) continue;
    const Bytes first = first_bytes(*other);
    if (has(first, byte)) return;
    same.ascii[0] &= ~first[0], same.ascii[1] &= ~first[1];
  }
  int32_t* next = sets_[static_cast<size_t>(set)].next.get();
  for (int c = 0; c < 128; ++c) {
    if (same.has(static_cast<uint8_t>(c))) next[c] = target;
  }
}

namespace {

bool covers(std::span<const RegexArena::Edge> edges, const CodePoints& points) {
  size_t at = 0;
  for (auto [low, high] : points) {
    while (low <= high) {
      while (at < edges.size() && edges[at].high < low) ++at;
      if (at == edges.size() || edges[at].low > low) return false;
      low = edges[at].high + 1;
    }
  }
  return true;
}

}  // namespace

// The characters of these edges, as far as they stand for themselves in the text.
CharClass Walk::raw_class(const Item& item, std::span<const RegexArena::Edge> edges) {
  CharClass out;
  for (const RegexArena::Edge& edge : edges) {
    out.ascii[0] |= bits_between(edge.low, edge.high, 0);
    out.ascii[1] |= bits_between(edge.low, edge.high, 64);
  }
  static const CodePoints kAllOthers = {{0x80, 0xD7FF}, {0xE000, kLastPoint}};
  if (covers(edges, kAllOthers)) {
    out.groups = kAllGroups;
  } else if (!edges.empty() && edges.back().high >= 0x80) {
    for (const CharGroup group : {kLineEnds, kSpaces, kLetters, kRest}) {
      if (covers(edges, group_points(group))) out.groups |= group;
    }
    // Whatever a cut character may become, some of it is a letter or the rest, but for no block of either.
    if ((out.groups & kLetters) != 0 && (out.groups & kRest) != 0) out.groups |= kCut;
  }
  if (const auto spelling = static_cast<Spelling>(item.node); spelling != Spelling::kPlain) {
    out.ascii[0] &= kRawJson[0] & ~(uint64_t{1} << spelling::quote_of(spelling));
    out.ascii[1] &= ~(uint64_t{1} << ('\\' - 64));
  }
  return out;
}

bool Walk::meets(const Item& item, const CharClass& chars) {
  const Bytes first = first_bytes(item);
  return (first[0] & chars.ascii[0]) != 0 || (first[1] & chars.ascii[1]) != 0 ||
         (chars.groups != 0 && (first[2] | first[3]) != 0);
}

// Characters that leave a terminal as it is, or that its leading count takes.
Walk::Loop Walk::terminal_loop(const Item& item) {
  Loop out;
  if (item.y != 0) return out;
  const auto self = static_cast<RegexId>(item.x);
  const RegexArena::Front front = grammar_.regexes.front(self);
  std::vector<RegexArena::Edge> edges;
  if (front.most > 0) {
    out.most = front.most;
    const auto [known, fresh] = classes_.try_emplace(front.set * 4 + item.node);
    if (fresh) {
      for (const auto& [low, high] : *front.points) edges.push_back({low, high, self});
      known->second = raw_class(item, edges);
    }
    out.chars = known->second;
  } else {
    for (const RegexArena::Edge& edge : grammar_.regexes.edges(self)) {
      if (edge.target == self) edges.push_back(edge);
    }
    out.most = INT32_MAX;
    out.chars = raw_class(item, edges);
  }
  if (out.chars.empty()) return out;
  if (out.most == INT32_MAX) {
    std::vector<RegexArena::Edge> back;  // of x*y, only those that do not begin y, too
    for (const RegexArena::Edge& edge : grammar_.regexes.edges(self)) {
      if (edge.target == self) back.push_back(edge);
    }
    out.exact = out.chars.within(raw_class(item, back));
    return out;
  }
  // Behind the count: where nothing there begins with these characters, no more of them than that can be read.
  Items rest;
  if (!grammar_.regexes.edges(front.rest).empty()) {
    rest.push_back(item);
    rest.back().x = static_cast<uint32_t>(front.rest);
  }
  if (grammar_.regexes.matches_empty(front.rest)) append(after(item.below), rest);
  out.closed =
      std::none_of(rest.begin(), rest.end(), [&](const Item& next) { return meets(next, out.chars); });
  return out;
}

// The characters of a key without a name leave it as a terminal would be left.
Walk::Loop Walk::item_loop(const Item& item) {
  if (item.kind == FrameKind::kTerminal) return terminal_loop(item);
  const bool member = item.kind == FrameKind::kTracked, part = item.kind == FrameKind::kPartKey;
  if ((!member && !part) || tracked_[item.y].key != kNameless) return {};
  const Tracked& key = tracked_[item.y];
  const Spelling spelling = member ? Spelling::kJsonString
                                   : grammar_.orders[static_cast<size_t>(taken_[item.x].order)]
                                         .parts[static_cast<size_t>(key.pattern)]
                                         .again->spelling;
  if (spelling == Spelling::kPlain) return {};  // what is behind may begin with a character of the key
  return terminal_loop({FrameKind::kTerminal, static_cast<int32_t>(spelling),
                        static_cast<uint32_t>(key.regex), key.spelling, 0, kDead});
}

Walk::Loop Walk::find_loop(SetId set) {
  Loop out;
  size_t looping = 0;
  const std::vector<Item> all(items(set).begin(), items(set).end());
  for (size_t i = 0; i < all.size(); ++i) {
    const Loop found = item_loop(all[i]);
    // One that holds the others is worth most; a union would not do, for each goes its own way.
    const bool better = !found.chars.empty() && out.chars.within(found.chars) && found.most >= out.most;
    if (better) out = found, looping = i;
  }
  if (out.chars.empty()) return out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i == looping || !meets(all[i], out.chars)) continue;
    out.closed = out.exact = false;
    return out;
  }
  if (!out.exact) return out;
  out.exact = false;
  // Alone, it goes the same way with each of its characters: one tells.
  for (int byte = 0; byte < 128; ++byte) {
    if (!out.chars.has(static_cast<uint8_t>(byte))) continue;
    out.exact = step(set, static_cast<uint8_t>(byte)) == set;
    break;
  }
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
  const uint64_t key = static_cast<uint64_t>(set) << 32 | static_cast<uint32_t>(length);
  if (const auto found = relaxed_.find(key); found != relaxed_.end()) return found->second;
  Items all(items(set).begin(), items(set).end());
  bool changed = false;
  for (Item& item : all) {
    if (item.kind != FrameKind::kTerminal || item.y != 0) continue;
    const auto regex = static_cast<uint32_t>(grammar_.regexes.relaxed(static_cast<RegexId>(item.x), length));
    changed |= regex != item.x;
    item.x = regex;
  }
  const SetId found = changed && !grammar_.regexes.exhausted() ? intern(all) : set;
  return relaxed_[key] = found;
}

}  // namespace brass::grammar
