#include "text/grammar/token_trie.h"

#include <algorithm>
#include <unordered_map>

#include "text/grammar/spelling.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar {

namespace {

constexpr size_t kLongestToken = 255;  // longer ones are never allowed: no vocabulary means them for text

using Entry = std::pair<std::string_view, int32_t>;  // bytes, token

// What stands at a node when its token is read as UTF-8.
struct Decoded {
  bool bad = false;
  uint8_t to_come = 0;  // bytes of the character that is begun
  char32_t code = 0;
};

Decoded decode_byte(const Decoded& before, uint8_t byte) {
  Decoded out;
  if (before.bad || (before.to_come > 0) != ((byte & 0xC0) == 0x80)) return out.bad = true, out;
  if (before.to_come == 0) {
    const SpelledStep step = spell(Spelling::kPlain, 0, byte);
    if (step.what == Spelled::kDead) return out.bad = true, out;
    out.to_come = byte < 0x80 ? 0 : byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    out.code = byte < 0x80 ? byte : byte & (0x3Fu >> out.to_come);
    return out;
  }
  out.to_come = before.to_come - 1;
  out.code = before.code << 6 | (byte & 0x3Fu);
  return out;
}

// Whether bytes so far can become a character that is neither overlong nor a surrogate nor above the last.
bool well_formed(const Decoded& at, size_t begun) {
  const size_t bytes = begun + at.to_come;
  const char32_t least = bytes == 1 ? 0 : bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
  const char32_t low = at.code << (6 * at.to_come), high = ((at.code + 1) << (6 * at.to_come)) - 1;
  return high >= least && low <= 0x10FFFF && (low < 0xD800 || high > 0xDFFF);
}

// What nodes say of the characters below them.
void find_classes(TokenTree& tree) {
  const auto hash = [](const CharClass& chars) {
    const uint64_t h =
        (chars.ascii[0] * 0x9E3779B97F4A7C15u) ^ (chars.ascii[1] * 0xC2B2AE3D27D4EB4Fu) ^ chars.groups;
    return static_cast<size_t>(h ^ h >> 29);
  };
  std::unordered_map<CharClass, int32_t, decltype(hash)> rows(1024, hash);
  const auto row = [&](const CharClass& chars) {
    const auto [found, fresh] = rows.try_emplace(chars, static_cast<int32_t>(tree.classes.size()));
    if (fresh) tree.classes.push_back(chars);
    return found->second;
  };
  struct Known {
    CharClass chars;
    Decoded at;
    uint8_t begun = 0;  // bytes of the character that this node is in
    uint8_t longest = 0;
    bool bad = false;
  };
  const size_t count = tree.nodes.size() - 1;
  std::vector<Known> known(count);
  std::vector<size_t> parents(count, 0), way(257, 0);
  for (size_t i = 1; i < count; ++i) {
    const TrieNode& node = tree.nodes[i];
    way[node.depth] = i;
    const size_t parent = parents[i] = way[node.depth - 1u];
    Known& own = known[i];
    own.at = decode_byte(known[parent].at, node.byte);
    own.begun = static_cast<uint8_t>(known[parent].at.to_come > 0 ? known[parent].begun + 1 : 1);
    const bool cut = own.at.to_come > 0 && node.own > node.tokens;
    own.at.bad |= !well_formed(own.at, own.begun);
    own.bad = own.at.bad;
    if (own.bad) continue;
    if (cut) own.chars.groups |= kCut, own.longest = 1;
    if (own.at.to_come > 0) continue;
    own.longest = 1;
    if (own.at.code < 0x80) {
      own.chars.put(static_cast<uint8_t>(own.at.code));
    } else {
      own.chars.groups |= group_of(own.at.code);
    }
  }
  for (size_t i = count; i-- > 1;) {
    Known &own = known[i], &parent = known[parents[i]];
    TrieNode& node = tree.nodes[i];
    node.decodes = own.begun == 1 && !own.bad;
    node.chars = row(own.chars);
    node.longest = own.longest;
    parent.chars.add(own.chars);
    parent.bad |= own.bad;
    // A character counts at its last byte, or where it is cut.
    const bool ends_character = parent.at.to_come == 0 && parents[i] != 0;
    parent.longest = static_cast<uint8_t>(std::max<int>(parent.longest, own.longest + ends_character));
  }
}

TokenTree build_tree(std::vector<Entry> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& l, const Entry& r) { return l.first < r.first; });
  TokenTree tree;
  std::vector<int32_t> open = {0};  // the way to the last token
  tree.nodes.emplace_back();
  std::string_view last;
  const auto close = [&](size_t depth) {
    for (; open.size() > depth + 1; open.pop_back()) {
      tree.nodes[static_cast<size_t>(open.back())].end = static_cast<int32_t>(tree.nodes.size());
    }
  };
  for (const auto& [piece, id] : entries) {
    const auto place = static_cast<int32_t>(tree.ids.size());
    const auto shared = static_cast<size_t>(std::ranges::mismatch(last, piece).in1 - last.begin());
    close(shared);
    for (size_t depth = shared; depth < piece.size(); ++depth) {
      open.push_back(static_cast<int32_t>(tree.nodes.size()));
      tree.nodes.push_back({.byte = static_cast<uint8_t>(piece[depth]),
                            .depth = static_cast<uint8_t>(depth + 1),
                            .tokens = place,
                            .own = place});
    }
    tree.ids.push_back(id);
    tree.nodes[static_cast<size_t>(open.back())].own = place + 1;
    last = piece;
  }
  close(0);
  const auto all = static_cast<int32_t>(tree.ids.size());
  const auto end = static_cast<int32_t>(tree.nodes.size());
  tree.nodes[0].end = end;
  tree.nodes.push_back({.end = end, .tokens = all, .own = all});
  find_classes(tree);
  return tree;
}

// How much of the front of `piece` is characters of `chars`; a character that the end cuts off counts.
struct Leading {
  size_t bytes = 0, characters = 0;
};
Leading leading(std::string_view piece, const CharClass& chars) {
  Leading out;
  while (out.bytes < piece.size()) {
    const tokens::Utf8Step step = tokens::utf8_step(piece, out.bytes);
    if (step.state == tokens::Utf8State::kInvalid) break;
    const bool cut = step.state == tokens::Utf8State::kCut;
    if (!cut && step.code < 0x80 ? !chars.has(static_cast<uint8_t>(step.code))
                                 : (chars.groups & (cut ? kCut : group_of(step.code))) == 0)
      break;
    out.bytes += step.length;
    ++out.characters;
  }
  return out;
}

TrieSlice make_slice(const TokenTrie::Impl& trie, const CharClass& chars) {
  TrieSlice slice{.chars = chars};
  const size_t words = (static_cast<size_t>(trie.size) + 63) / 64;
  slice.inside.assign(words, 0);
  slice.by_count.assign(TrieSlice::kCounted + 1, std::vector<uint64_t>(words, 0));
  std::vector<Entry> longer, others, rest;
  for (const int32_t id : trie.tree.ids) {
    const std::string_view piece = trie.pieces[static_cast<size_t>(id)];
    const Leading inside = leading(piece, chars);
    if (inside.bytes < piece.size()) {
      others.emplace_back(piece, id);
      rest.emplace_back(piece.substr(inside.bytes), id);
      continue;
    }
    const auto set = [&](std::vector<uint64_t>& bits) {
      bits[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
    };
    set(slice.inside);
    for (size_t k = inside.characters; k <= TrieSlice::kCounted; ++k) set(slice.by_count[k]);
    if (inside.characters > TrieSlice::kCounted) longer.emplace_back(piece, id);
  }
  slice.longer = build_tree(std::move(longer));
  slice.others = build_tree(std::move(others));
  slice.rest = build_tree(std::move(rest));
  return slice;
}

TokenGroup make_group(const std::vector<Entry>& entries, int32_t size, bool (*belongs)(std::string_view)) {
  TokenGroup out{.mask = std::vector<uint64_t>((static_cast<size_t>(size) + 63) / 64), .tree = {}};
  std::vector<Entry> chosen;
  for (const Entry& entry : entries) {
    if (!belongs(entry.first)) continue;
    const auto id = static_cast<size_t>(entry.second);
    out.mask[id / 64] |= uint64_t{1} << (id % 64);
    chosen.push_back(entry);
  }
  out.tree = build_tree(std::move(chosen));
  return out;
}

// The quote behind a key, a value, and the quote in front of the next.
bool may_hold_two_keys(std::string_view piece) {
  size_t at = 0;
  for (const char next : {'"', ':', ',', '"'}) {
    at = piece.find(next, at);
    if (at == std::string_view::npos) return false;
  }
  return true;
}

// The same where keys stand between other marks, or are numbers with one character between them.
bool may_hold_two_parts(std::string_view piece) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto ends_key = [&](char c) {
    return c >= 0 && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !digit(c) && c != '_';
  };
  const auto first = std::find_if(piece.begin(), piece.end(), ends_key);
  const auto second = first == piece.end() ? first : std::find_if(first + 1, piece.end(), ends_key);
  const auto numbers =
      std::adjacent_find(piece.begin(), piece.end(), [&](char a, char b) { return ends_key(a) && digit(b); });
  return second != piece.end() || numbers != piece.end();
}

// The classes that strings and free text are made of.
std::vector<CharClass> common_classes() {
  CharClass text{.ascii = {~uint64_t{0}, ~uint64_t{0}}, .groups = kAllGroups};  // anything
  CharClass json = text;                                                        // inside a JSON string
  json.ascii[0] &= ~uint64_t{0xFFFFFFFF} & ~(uint64_t{1} << '"');
  json.ascii[1] &= ~(uint64_t{1} << ('\\' - 64));
  CharClass line = text;  // anything but a line feed
  line.ascii[0] &= ~(uint64_t{1} << '\n');
  CharClass dot = line, json_dot = json;  // a pattern's '.'
  dot.ascii[0] &= ~(uint64_t{1} << '\r');
  dot.groups &= ~kLineEnds, json_dot.groups &= ~kLineEnds;
  CharClass letters{.ascii = {0, 0x07FFFFFE07FFFFFE}, .groups = kLetters};  // \p{L}
  return {json, text, line, dot, json_dot, letters};
}

}  // namespace

TokenTrie::TokenTrie(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TokenTrie::~TokenTrie() = default;

std::shared_ptr<const TokenTrie> TokenTrie::create(const Tokenizer& tokenizer) {
  auto impl = std::make_unique<Impl>();
  impl->size = tokenizer.size();
  size_t total = 0;
  for (int32_t id = 0; id < impl->size; ++id) total += tokenizer.piece(id).size() + 1;
  impl->bytes.reserve(total);  // pieces point into it
  impl->pieces.resize(static_cast<size_t>(impl->size));
  std::vector<Entry> entries;
  for (int32_t id = 0; id < impl->size; ++id) {
    const std::string_view piece = tokenizer.piece(id);
    const bool control = tokenizer.is_control(id);
    if (tokenizer.is_eog(id) || piece.empty() || piece.size() + control > kLongestToken) continue;
    if (!control && piece.find(kControlByte) != std::string_view::npos) continue;  // in no text
    const size_t begin = impl->bytes.size();
    if (control) impl->bytes += kControlByte;
    impl->bytes.append(piece);
    const auto kept = std::string_view(impl->bytes).substr(begin);
    impl->pieces[static_cast<size_t>(id)] = kept;
    entries.emplace_back(kept, id);
    if (!control) impl->longest = std::max(impl->longest, static_cast<int32_t>(piece.size()));
  }
  impl->end_ids.assign(tokenizer.eog_ids().begin(), tokenizer.eog_ids().end());
  impl->unusual = make_group(entries, impl->size,
                             [](std::string_view piece) { return piece.size() > TokenTrie::Impl::kUsual; });
  impl->two_keys = make_group(entries, impl->size, may_hold_two_keys);
  impl->two_parts = make_group(entries, impl->size, may_hold_two_parts);
  impl->tree = build_tree(std::move(entries));
  for (const CharClass& chars : common_classes()) impl->slices.push_back(make_slice(*impl, chars));
  return std::make_shared<TokenTrie>(std::move(impl));
}

}  // namespace brass::grammar
