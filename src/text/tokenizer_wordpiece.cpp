#include "text/tokenizer_wordpiece.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "text/tokenizer_bert_classes.h"
#include "text/tokenizer_utf8.h"

namespace brass::tokens {

namespace {

constexpr size_t kLongestWord = 100;  // characters

enum class Kind : uint8_t { kLetter, kBlank, kMark, kRemoved };

constexpr bool is_ascii_mark(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

bool is_blank(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

// The kind of a character when words are found.
Kind kind_of(char32_t c) {
  if (is_blank(c)) return Kind::kBlank;
  const bool mark = c < 0x80 ? is_ascii_mark(c) : bert_class(c) == BertClass::kMark;
  return mark ? Kind::kMark : Kind::kLetter;
}

// Ideographs are words of their own. The gap below U+2B920 is in the original.
bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// What cleaning makes of an ASCII character.
constexpr std::array<Kind, 128> kAsciiKinds = [] {
  std::array<Kind, 128> kinds{};
  for (char32_t c = 0; c < 128; ++c) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    kinds[c] = blank                  ? Kind::kBlank
               : is_ascii_mark(c)     ? Kind::kMark
               : c < ' ' || c == 0x7F ? Kind::kRemoved
                                      : Kind::kLetter;
  }
  return kinds;
}();

}  // namespace

// Collects words from characters and looks their pieces up.
class WordPiece::Reader {
 public:
  Reader(const WordPiece& model, std::vector<int32_t>& ids) : model_(model), ids_(ids) {}

  // A character as it is.
  void put(char32_t c) {
    const Kind kind = kind_of(c);
    if (kind == Kind::kLetter) return append(c);
    end_word();
    if (kind == Kind::kBlank) return;
    append(c);
    end_word();
  }

  void put_clean_ascii(char c) {
    const Kind kind = kAsciiKinds[static_cast<uint8_t>(c)];
    if (kind == Kind::kRemoved) return;
    put_waiting();
    if (kind != Kind::kLetter) end_word();
    if (kind == Kind::kBlank) return;
    word_.push_back(model_.options_.lowercase && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c);
    ++length_;
    if (kind == Kind::kMark) end_word();
  }

  void put_clean(char32_t c) {  // beyond ASCII
    if (bert_class(c) == BertClass::kRemoved) return;
    if (is_blank(c)) return put_starter(' ');
    if (!is_ideograph(c)) return put_without_accents(c);
    put_starter(' ');
    put_without_accents(c);
    put_starter(' ');
  }

  void finish() {
    put_waiting();
    end_word();
  }

 private:
  // Canonical decomposition without nonspacing marks. Other marks wait to be put in canonical order.
  void put_without_accents(char32_t c) {
    if (!model_.options_.strip_accents) return put_lower(c);
    utf8proc_int32_t parts[32];  // the longest canonical decomposition has four
    int boundary = 0;
    const auto count = utf8proc_decompose_char(
        static_cast<utf8proc_int32_t>(c), parts, std::size(parts),
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundary);
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      const int order = utf8proc_get_property(parts[i])->combining_class;
      const auto part = static_cast<char32_t>(parts[i]);
      const bool accent = part >= 0x80 && bert_class(part) == BertClass::kAccent;
      if (order == 0) put_waiting();
      if (accent) continue;
      if (order == 0) {
        put_lower(part);
      } else {
        waiting_.push_back(static_cast<uint64_t>(order) << 56 | static_cast<uint64_t>(waiting_.size()) << 21 |
                           part);
      }
    }
  }

  void put_waiting() {
    if (waiting_.empty()) return;
    std::sort(waiting_.begin(), waiting_.end());
    for (const uint64_t mark : waiting_) put_lower(static_cast<char32_t>(mark & 0x1FFFFF));
    waiting_.clear();
  }

  void put_starter(char32_t c) {
    put_waiting();
    put(c);
  }

  void put_lower(char32_t c) {
    if (!model_.options_.lowercase) return put(c);
    if (c == 0x130) {  // the one letter whose lower case is two characters
      put('i');
      return put(0x307);
    }
    put(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }

  void append(char32_t c) {
    append_utf8(word_, c);
    ++length_;
  }

  void end_word() {
    if (length_ == 0) return;
    if (length_ > kLongestWord || !model_.cut(word_, ids_)) ids_.push_back(model_.options_.unknown);
    word_.clear();
    length_ = 0;
  }

  const WordPiece& model_;
  std::vector<int32_t>& ids_;
  std::string word_;
  size_t length_ = 0;              // of the word, in characters
  std::vector<uint64_t> waiting_;  // combining class, place, mark
};

void WordPiece::encode(std::string_view text, bool clean, std::vector<int32_t>& ids) const {
  Reader reader(*this, ids);
  for (size_t at = 0; at < text.size();) {
    if (clean && static_cast<uint8_t>(text[at]) < 0x80) {
      reader.put_clean_ascii(text[at++]);
      continue;
    }
    const Utf8Step step = utf8_step(text, at);
    clean ? reader.put_clean(step.code) : reader.put(step.code);
    at += step.length;
  }
  reader.finish();
}

// Appends the pieces of a word, or nothing and returns false.
bool WordPiece::cut(std::string_view word, std::vector<int32_t>& ids) const {
  const size_t kept = ids.size();
  for (size_t at = 0; at < word.size();) {
    const PieceTrie& trie = at == 0 ? starts_ : rests_;
    uint32_t node = PieceTrie::kRoot;
    int32_t best = -1;
    size_t end = at;
    for (size_t i = at; i < word.size() && trie.step(node, word[i]); ++i) {
      if (trie.id(node) >= 0) best = trie.id(node), end = i + 1;
    }
    if (best < 0) {
      ids.resize(kept);
      return false;
    }
    ids.push_back(best);
    at = end;
  }
  return true;
}

}  // namespace brass::tokens
