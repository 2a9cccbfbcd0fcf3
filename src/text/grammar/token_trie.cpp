#include "text/grammar/token_trie.h"

#include <algorithm>
#include <map>

#include "text/tokenizer_utf8.h"

namespace brass::grammar {

namespace {

constexpr size_t kLongestToken = 255;  // longer ones are never allowed: no vocabulary means them for text

using Entry = std::pair<std::string_view, int32_t>;  // bytes, token

// What nodes say of the characters below them: from the leaves up.
void find_classes(TokenTree& tree) {
  std::map<std::pair<std::array<uint64_t, 2>, bool>, int32_t> rows;
  const auto row = [&](const CharClass& chars) {
    const auto [found, fresh] =
        rows.try_emplace({chars.ascii, chars.others}, static_cast<int32_t>(tree.classes.size()));
    if (fresh) tree.classes.push_back(chars);
    return found->second;
  };
  struct Below {
    CharClass chars;
    bool good[4] = {true, true, true,
                    true};        // all below is UTF-8 if so many bytes of a character are still to come
    uint8_t low = 255, high = 0;  // the bytes directly below
  };
  // Bytes of a character to come behind this one, or -1: overlong forms, surrogates and what is above U+10FFFF show in
  // the second byte.
  const auto to_come_after = [](uint8_t byte, const Below& own) {
    if (byte < 0x80) return 0;
    if (byte < 0xC2 || byte > 0xF4) return -1;
    if ((byte == 0xE0 && own.low < 0xA0) || (byte == 0xF0 && own.low < 0x90)) return -1;
    if ((byte == 0xED && own.high > 0x9F) || (byte == 0xF4 && own.high > 0x8F)) return -1;
    return byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  };
  std::vector<Below> below(257);  // by depth
  const auto last = static_cast<int32_t>(tree.nodes.size()) - 1;
  for (int32_t at = last; at-- > 0;) {
    TrieNode& node = tree.nodes[static_cast<size_t>(at)];
    if (at == 0) break;
    Below& own = below[node.depth];
    const int to_come = to_come_after(node.byte, own);
    node.decodes = to_come >= 0 && own.good[to_come];
    CharClass chars = own.chars;
    if (node.byte < 0x80) {
      chars.put(node.byte);
    } else {
      chars.others = true;
    }
    node.chars = row(chars);
    Below& parent = below[node.depth - 1u];
    parent.chars.ascii[0] |= chars.ascii[0], parent.chars.ascii[1] |= chars.ascii[1];
    parent.chars.others |= chars.others;
    parent.good[0] &= node.decodes;
    for (int left = 1; left < 4; ++left)
      parent.good[left] &= (node.byte & 0xC0) == 0x80 && own.good[left - 1];
    parent.low = std::min(parent.low, node.byte), parent.high = std::max(parent.high, node.byte);
    own = {};
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

// The bytes of `piece` that are characters of `chars`; a character that the end cuts off counts.
size_t leading(std::string_view piece, const CharClass& chars) {
  size_t at = 0;
  while (at < piece.size()) {
    const tokens::Utf8Step step = tokens::utf8_step(piece, at);
    if (step.state == tokens::Utf8State::kInvalid) break;
    if (step.state == tokens::Utf8State::kCut) return chars.others ? piece.size() : at;
    if (step.code < 0x80 ? !chars.has(static_cast<uint8_t>(step.code)) : !chars.others) break;
    at += step.length;
  }
  return at;
}

TrieSlice make_slice(const TokenTrie::Impl& trie, const CharClass& chars) {
  TrieSlice slice{.chars = chars};
  slice.inside.assign((static_cast<size_t>(trie.size) + 63) / 64, 0);
  std::vector<Entry> rest;
  for (const int32_t id : trie.tree.ids) {
    const std::string_view piece = trie.pieces[static_cast<size_t>(id)];
    const size_t inside = leading(piece, chars);
    if (inside == piece.size()) {
      slice.inside[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
    } else {
      rest.emplace_back(piece.substr(inside), id);
    }
  }
  slice.rest = build_tree(std::move(rest));
  return slice;
}

// The classes that strings and free text are made of.
std::vector<CharClass> common_classes() {
  CharClass text{.ascii = {~uint64_t{0}, ~uint64_t{0}}, .others = true};  // anything
  CharClass json = text;                                                  // inside a JSON string
  json.ascii[0] &= ~uint64_t{0xFFFFFFFF} & ~(uint64_t{1} << '"');
  json.ascii[1] &= ~(uint64_t{1} << ('\\' - 64));
  CharClass line = text;  // anything but the end of a line
  line.ascii[0] &= ~(uint64_t{1} << '\n');
  return {json, text, line};
}

}  // namespace

TokenTrie::TokenTrie(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TokenTrie::~TokenTrie() = default;

std::shared_ptr<const TokenTrie> TokenTrie::create(const Tokenizer& tokenizer) {
  auto impl = std::make_unique<Impl>();
  impl->size = tokenizer.size();
  size_t total = 0;
  for (int32_t id = 0; id < impl->size; ++id) total += tokenizer.piece(id).size();
  impl->bytes.reserve(total);  // pieces point into it
  impl->pieces.resize(static_cast<size_t>(impl->size));
  std::vector<Entry> entries;
  for (int32_t id = 0; id < impl->size; ++id) {
    const std::string_view piece = tokenizer.piece(id);
    if (tokenizer.is_control(id) || tokenizer.is_eog(id) || piece.empty() || piece.size() > kLongestToken)
      continue;
    const std::string_view kept = {impl->bytes.data() + impl->bytes.size(), piece.size()};
    impl->bytes.append(piece);
    impl->pieces[static_cast<size_t>(id)] = kept;
    entries.emplace_back(kept, id);
    impl->longest = std::max(impl->longest, static_cast<int32_t>(piece.size()));
  }
  impl->end_ids.assign(tokenizer.eog_ids().begin(), tokenizer.eog_ids().end());
  impl->tree = build_tree(std::move(entries));
  for (const CharClass& chars : common_classes()) impl->slices.push_back(make_slice(*impl, chars));
  return std::make_shared<TokenTrie>(std::move(impl));
}

}  // namespace brass::grammar
