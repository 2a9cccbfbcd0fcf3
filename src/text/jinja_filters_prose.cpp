// Filters that read text as words: wordwrap, urlize (jinja_filters.h).
#include <algorithm>
#include <set>

#include "text/jinja_filters.h"
#include "text/jinja_ops.h"
#include "text/jinja_pattern.h"
#include "text/jinja_repr.h"
#include "text/jinja_strings.h"

namespace brass::jinja {
namespace {

// wordwrap: Python's textwrap, with blanks dropped at the ends of lines and no other change to them.

struct Chunk {  // of a line: bytes [begin, end)
  size_t begin, end, length;
};

class Wrap {
 public:
  Wrap(Runtime& rt, const Text& line, Int width, bool break_words, bool break_hyphens)
      : rt_(rt), line_(line), width_(width), break_words_(break_words), break_hyphens_(break_hyphens) {}

  Result<std::vector<Text>> run() {
    std::vector<Chunk> chunks = TRY(split());
    std::reverse(chunks.begin(), chunks.end());  // the next one is at the back
    std::vector<Text> out;
    while (!chunks.empty()) {
      TRY(rt_.step());
      if (blank(chunks.back()) && !out.empty()) chunks.pop_back();
      std::vector<Chunk> now;
      Int length = 0;
      const auto take = [&] {
        length += static_cast<Int>(chunks.back().length);
        now.push_back(chunks.back());
        chunks.pop_back();
      };
      while (!chunks.empty() && length + static_cast<Int>(chunks.back().length) <= width_) take();
      if (!chunks.empty() && static_cast<Int>(chunks.back().length) > width_) {
        if (break_words_) {
          now.push_back(cut(chunks.back(), width_ < 1 ? 1 : width_ - length));
        } else if (now.empty()) {
          take();
        }
      }
      if (!now.empty() && blank(now.back())) now.pop_back();
      if (!now.empty()) out.push_back(line_.slice(now.front().begin, now.back().end));
    }
    return out;
  }

 private:
  std::string_view bytes(const Chunk& c) const { return line_.view().substr(c.begin, c.end - c.begin); }
  bool blank(const Chunk& c) const {
    return strip(Text(std::string(bytes(c)), true), Side::both, {}).empty();
  }

  // Takes the first `room` characters off a word that is too long, fewer where a hyphen offers itself.
  Chunk cut(Chunk& word, Int room) const {
    const std::string_view text = bytes(word);
    auto count = static_cast<size_t>(std::max<Int>(room, 0));
    if (break_hyphens_ && word.length > count) {
      const size_t hyphen = text.substr(0, code_point_offset(text, count)).rfind('-');
      if (hyphen != std::string_view::npos && text.find_first_not_of('-') < hyphen)
        count = count_code_points(text.substr(0, hyphen)) + 1;
    }
    count = std::min(count, word.length);
    const size_t end = word.begin + code_point_offset(text, count);
    const Chunk head{word.begin, end, count};
    word = {end, word.end, word.length - count};
    return head;
  }

  // Words, runs of blanks, and the parts of words that have hyphens or dashes inside.
  Result<std::vector<Chunk>> split() const {
    static const Pattern kBlanks("[\\t\\n\\x0b\\x0c\\r\\x20]+");
    // A run of blanks; dashes between words; else a word up to its end, to a dash, or past a hyphen between
    // letters.
    static const Pattern kParts(
        "[\\t\\n\\x0b\\x0c\\r\\x20]+"
        "| (?<=[\\w!\"'&.,?]) -{2,} (?=\\w)"
        "| [^\\t\\n\\x0b\\x0c\\r\\x20]+? (?: -(?:(?<=[^\\d\\W]{2}-)|(?<=[^\\d\\W]-[^\\d\\W]-))"
        "(?=[^\\d\\W]-?[^\\d\\W]) | (?=[\\t\\n\\x0b\\x0c\\r\\x20]|\\z) | (?<=[\\w!\"'&.,?])(?=-{2,}\\w) )");
    const Pattern& pattern = break_hyphens_ ? kParts : kBlanks;
    std::vector<Chunk> out;
    const auto add = [&](size_t begin, size_t end) {
      if (begin < end)
        out.push_back({begin, end, count_code_points(line_.view().substr(begin, end - begin))});
    };
    size_t at = 0;
    while (at < line_.size()) {
      TRY(rt_.step());
      const auto found = TRY(pattern.find(line_.view(), at));
      if (!found) break;
      add(at, found->first);
      add(found->first, found->second);
      at = found->second;
    }
    add(at, line_.size());
    return out;
  }

  Runtime& rt_;
  const Text& line_;
  Int width_;
  bool break_words_, break_hyphens_;
};

Result<Value> wordwrap(Runtime& rt, Args& args) {
  const Bound bound =
      TRY(bind(args, "wordwrap", {"s", "width", "break_long_words", "wrapstring", "break_on_hyphens"}, 1));
  if (!bound[0]->is_string()) return fail("wordwrap needs a string, not {}", type_name(*bound[0]));
  if (given(bound[3]) && !bound[3]->is_string()) return fail("the wrapstring must be a string");
  const Text newline = given(bound[3]) ? bound[3]->str().text() : Text("\n", true);
  const std::vector<Text> lines = split_lines(bound[0]->str().text(), false);
  TRY(rt.step(bound[0]->bytes().size() / 4));
  Text out;
  for (size_t i = 0; i < lines.size(); i++) {
    if (i > 0) out.append(newline);
    const Int width = bound.has(1) ? TRY(to_index(*bound[1], "the width")) : 79;
    if (width <= 0) return fail("the width of wordwrap must be positive");
    const bool words = !bound.has(2) || truthy(*bound[2]), hyphens = !bound.has(4) || truthy(*bound[4]);
    const std::vector<Text> wrapped = TRY(Wrap(rt, lines[i], width, words, hyphens).run());
    TRY(rt.room(out.size() + lines[i].size() + wrapped.size() * newline.size()));
    for (size_t k = 0; k < wrapped.size(); k++) {
      if (k > 0) out.append(newline);
      out.append(wrapped[k]);
    }
  }
  return rt.string(std::move(out));
}

// urlize.

// A word of the text, which is HTML already, as a link where it is one.
class Linker {
 public:
  Linker(Text attributes, const Value* limit, std::vector<std::string> schemes)
      : attributes_(std::move(attributes)), limit_(limit), schemes_(std::move(schemes)) {}

  Result<> word(Text& out, const Text& word) const {
    const std::string_view bytes = word.view();
    size_t begin = 0, end = bytes.size();
    for (bool more = true; more;) {  // opening brackets in front
      more = false;
      for (const std::string_view opening : {"(", "<", "&lt;"}) {
        if (!bytes.substr(begin).starts_with(opening)) continue;
        begin += opening.size(), more = true;
        break;
      }
    }
    for (bool more = true; more;) {  // closing ones and points behind
      more = false;
      for (const std::string_view closing : {")", ">", ".", ",", "&gt;"}) {
        if (!bytes.substr(begin, end - begin).ends_with(closing)) continue;
        end -= closing.size(), more = true;
        break;
      }
    }
    balance(bytes, begin, end);
    out.append(word, 0, begin);
    TRY(link(out, word.slice(begin, end)));
    out.append(word, end, word.size());
    return {};
  }

 private:
  // Takes closing brackets back from the tail where the middle has opened more than it closed.
  static void balance(std::string_view bytes, size_t begin, size_t& end) {
    static constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
        {"(", ")"}, {"<", ">"}, {"&lt;", "&gt;"}};
    for (const auto& [opening, closing] : kPairs) {
      const std::string_view middle = bytes.substr(begin, end - begin);
      const size_t opened = count_occurrences(middle, opening);
      if (opened <= count_occurrences(middle, closing)) continue;
      const size_t moves = std::min(opened, count_occurrences(bytes.substr(end), closing));
      for (size_t i = 0; i < moves; i++) end = bytes.find(closing, end) + closing.size();
    }
  }

  Result<> link(Text& out, const Text& text) const {
    static const Pattern kAddress(
        "^(?: (?:https?://|www\\.) (?:[\\w%-]+\\.)* (?:[a-z]{2,63}|xn--[\\w%]{2,59})"
        "| (?:[\\w%-]{2,63}\\.)+ (?:com|net|int|edu|gov|org|info|mil)"
        "| https?:// (?:\\d{1,3}(?:\\.\\d{1,3}){3} | \\[(?:[\\da-f]{0,4}:){2}(?:[\\da-f]{0,4}:?){1,6}\\]) )"
        "(?::\\d{1,5})? (?:[/?\\#]\\S*)? $",
        true);
    static const Pattern kMail("^\\S+@\\w[\\w.-]*\\.\\w+$");
    const std::string_view bytes = text.view();
    if (TRY(kAddress.matches(bytes))) {
      const bool scheme = bytes.starts_with("https://") || bytes.starts_with("http://");
      anchor(out, scheme ? "" : "https://", text, attributes_, TRY(shortened(text)));
    } else if (bytes.starts_with("mailto:") && TRY(kMail.matches(bytes.substr(7)))) {
      anchor(out, "", text, Text(), text.slice(7, text.size()));
    } else if (bytes.find('@') != std::string_view::npos && !bytes.starts_with("www.") && bytes[0] != '@' &&
               bytes.find(':') == std::string_view::npos && TRY(kMail.matches(bytes))) {
      anchor(out, "mailto:", text, Text(), text);
    } else {
      Text linked = text;
      for (const std::string& scheme : schemes_) {
        if (linked.view() == scheme || !linked.view().starts_with(scheme)) continue;
        Text next;
        anchor(next, "", linked, attributes_, linked);
        linked = std::move(next);
      }
      out.append(linked);
    }
    return {};
  }

  static void anchor(Text& out, std::string_view scheme, const Text& target, const Text& attributes,
                     const Text& shown) {
    out.append("<a href=\"", true);
    out.append(scheme, true);
    out.append(target);
    out.append("\"", true);
    out.append(attributes);
    out.append(">", true);
    out.append(shown);
    out.append("</a>", true);
  }

  Result<Text> shortened(const Text& text) const {
    if (!given(limit_)) return text;
    const Int length = static_cast<Int>(count_code_points(text.view()));
    Int limit = TRY(to_index(*limit_, "the limit of a link's text"));
    if (length <= limit) return text;
    if (limit < 0) limit = std::max<Int>(0, limit + length);
    Text out = text.slice(0, code_point_offset(text.view(), static_cast<size_t>(limit)));
    out.append("...", true);
    return out;
  }

  Text attributes_;
  const Value* limit_;
  std::vector<std::string> schemes_;
};

Result<Text> link_attributes(Runtime& rt, const Value* rel, bool nofollow, const Value* target) {
  std::set<std::string> parts = {"noopener"};  // always, says Jinja
  if (nofollow) parts.insert("nofollow");
  bool trusted = true;
  if (rel != nullptr && truthy(*rel)) {
    if (!rel->is_string()) return fail("rel must be a string");
    trusted = rel->str().text().trusted();
    for (const Text& part : split(rel->str().text(), std::nullopt, -1)) parts.insert(part.bytes());
  }
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : " ") + part;
  Text out(" rel=\"", true);
  out.append(escape_html(Text(joined, trusted)));
  out.append("\"", true);
  if (target != nullptr && truthy(*target)) {
    out.append(" target=\"", true);
    out.append(TRY(to_html(rt, *target)));
    out.append("\"", true);
  }
  return out;
}

Result<std::vector<std::string>> link_schemes(Runtime& rt, const Value* given_schemes) {
  static const Pattern kScheme("^[\\w.+-]{2,}:/{0,2}\\z");
  std::vector<std::string> out;
  if (!given(given_schemes)) return out;
  for (const Value& scheme : TRY(to_vector(rt, *given_schemes))) {
    if (!scheme.is_string() || !TRY(kScheme.matches(scheme.bytes())))
      return fail("an extra scheme must look like 'name:' or 'name://'");
    out.push_back(scheme.bytes());
  }
  return out;
}

Result<Value> urlize(Runtime& rt, Args& args) {
  const Bound bound =
      TRY(bind(args, "urlize", {"value", "trim_url_limit", "nofollow", "target", "rel", "extra_schemes"}, 1));
  Text attributes = TRY(
      link_attributes(rt, bound[4], bound.has(2) && truthy(*bound[2]), bound.has(3) ? bound[3] : nullptr));
  std::vector<std::string> schemes = TRY(link_schemes(rt, bound[5]));
  const Linker linker(std::move(attributes), bound[1], std::move(schemes));
  const Text text = TRY(to_html(rt, *bound[0]));
  TRY(rt.step(text.size() / 4));
  Text out;
  size_t start = 0;
  const auto word = [&](size_t end) -> Result<> {
    if (start == end) return {};
    TRY(rt.step(4));
    TRY(linker.word(out, text.slice(start, end)));
    return rt.room(out.size());
  };
  for (size_t at = 0, length = 0; at < text.size(); at += length) {
    if (!is_space(decode_at(text.view(), at, length))) continue;
    TRY(word(at));
    out.append(text, at, at + length);
    start = at + length;
  }
  TRY(word(text.size()));
  return rt.written(std::move(out), rt.autoescape());
}

constexpr Builtin kFilters[] = {{"urlize", urlize}, {"wordwrap", wordwrap}};
static_assert(in_order(kFilters));

}  // namespace

std::span<const Builtin> prose_filters() { return kFilters; }

}  // namespace brass::jinja
