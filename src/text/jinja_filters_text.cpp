// Filters that make text (jinja_filters.h).
#include <algorithm>
#include <cmath>

#include "text/jinja_filters.h"
#include "text/jinja_format.h"
#include "text/jinja_ops.h"
#include "text/jinja_repr.h"
#include "text/jinja_strings.h"

namespace brass::jinja {
namespace {

template <Text (*Map)(const Text&)>
Result<Value> mapped(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "the filter", {"value"}, 1));
  const Value s = TRY(soft_string(rt, *bound[0]));
  TRY(rt.step(s.bytes().size() / 16));
  return rt.heap().string(Map(s.str().text()), s.str().markup());
}

// Words start after blanks, dashes and opening brackets; a filter's own rule, not str.title's.
Text title_words(const Text& text) {
  Text out;
  size_t start = 0;
  bool separators = false;
  const auto flush = [&](size_t end) {
    if (end == start) return;
    size_t first = 0;
    decode_at(text.view(), start, first);
    out.append(upper(text.slice(start, start + first)));
    out.append(lower(text.slice(start + first, end)));
    start = end;
  };
  each_character(text.view(), [&](char32_t c, size_t at, size_t) {
    const bool is = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    if (is != separators) flush(at);
    separators = is;
  });
  flush(text.size());
  return out;
}

Result<Value> trim(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "trim", {"value", "chars"}, 1));
  const Value s = TRY(soft_string(rt, *bound[0]));
  TRY(rt.step(s.bytes().size() / 64));
  std::optional<std::string_view> chars;
  if (given(bound[1])) {
    if (!bound[1]->is_string()) return fail("the characters to trim must be a string");
    chars = bound[1]->bytes();
  }
  return rt.heap().string(strip(s.str().text(), Side::both, chars), s.str().markup());
}

bool is_safe(const Value& value) { return value.is_string() && value.str().markup(); }

Result<Value> replace_filter(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "replace", {"s", "old", "new", "count"}, 3));
  // Where HTML is escaped, safe HTML on either side of the change makes the whole safe.
  const bool safe = is_safe(*bound[0]);
  const bool html = rt.autoescape() && (safe || is_safe(*bound[1]) || is_safe(*bound[2]));
  const bool escapes = html && (is_safe(*bound[1]) || !safe);
  const Text s = TRY(escapes ? to_html(rt, *bound[0]) : to_text(rt, *bound[0])),
             from = TRY(to_text(rt, *bound[1])),
             to = TRY(html ? to_html(rt, *bound[2]) : to_text(rt, *bound[2]));
  Int limit = -1;
  if (given(bound[3])) limit = TRY(to_index(*bound[3], "the count"));
  TRY(rt.step(s.size() / 16));
  TRY(rt.room(count_occurrences(s.view(), from.view()) * to.size()));
  const auto most = static_cast<int64_t>(std::clamp<Int>(limit, -1, INT64_MAX));
  return rt.written(replace(s, from.view(), to, most), html);
}

Result<Value> center(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "center", {"value", "width"}, 1));
  const Value s = TRY(soft_string(rt, *bound[0]));
  const Int width = bound.has(1) ? std::max<Int>(0, TRY(to_index(*bound[1], "the width"))) : 80;
  if (width > static_cast<Int>(rt.options().max_memory)) return fail("the width is too large");
  TRY(rt.room(static_cast<size_t>(width)));
  return rt.heap().string(pad(s.str().text(), static_cast<size_t>(width), Side::both, Text(" ", true)),
                          s.str().markup());
}

Result<Value> indent(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "indent", {"s", "width", "first", "blank"}, 1));
  if (!bound[0]->is_string()) return operand_error("+", *bound[0], rt.string("\n"));
  Text by(std::string(4, ' '), true);
  if (bound.has(1) && bound[1]->is_string()) {
    by = bound[1]->str().text();
  } else if (bound.has(1)) {
    const Int width = std::max<Int>(0, TRY(to_index(*bound[1], "the width")));
    if (width > static_cast<Int>(rt.options().max_memory)) return fail("the width is too large");
    by = Text(std::string(static_cast<size_t>(width), ' '), true);
  }
  const bool first = bound.has(2) && truthy(*bound[2]), blank = bound.has(3) && truthy(*bound[3]);
  Text text = bound[0]->str().text();
  text.append("\n", true);  // so that a newline at the end makes a line
  const std::vector<Text> lines = split_lines(text, false);
  TRY(rt.step(text.size() / 16 + lines.size()));
  TRY(rt.room(lines.size() * (by.size() + 1)));
  Text out;
  for (size_t i = 0; i < lines.size(); i++) {
    if (i > 0) out.append("\n", true);
    if (i == 0 ? first : blank || !lines[i].empty()) out.append(by);
    out.append(lines[i]);
  }
  return rt.heap().string(std::move(out), bound[0]->str().markup());
}

Result<Value> truncate(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "truncate", {"s", "length", "killwords", "end", "leeway"}, 1));
  const Int limit = bound.has(1) ? TRY(to_index(*bound[1], "the length")) : 255;
  const Int leeway = given(bound[4]) ? TRY(to_index(*bound[4], "the leeway")) : 5;
  const Value end = bound.has(3) ? *bound[3] : rt.string("...");
  if (!end.is_string()) return fail("the end must be a string");
  const Int end_size = static_cast<Int>(end.str().length());
  if (limit < end_size || leeway < 0) return fail("truncate needs a length of at least its end's");
  const auto size = length(*bound[0]);
  if (size && static_cast<Int>(*size) <= limit + leeway) return *bound[0];  // whatever it is
  if (!bound[0]->is_string()) return fail("truncate needs a string, not {}", type_name(*bound[0]));
  const Str& s = bound[0]->str();
  Text cut = s.text().slice(0, s.offset(static_cast<size_t>(limit - end_size)));
  if (!bound.has(2) || !truthy(*bound[2])) cut = split_right(cut, " ", 1).front();
  return arithmetic(rt, BinaryOp::add, rt.heap().string(std::move(cut), s.markup()), end);
}

Result<Value> join(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "join", {"value", "d", "attribute"}, 1));
  const Value separator = bound.has(1) ? *bound[1] : rt.string(std::string_view());
  const Ref<Iterator> it = TRY(iterate(rt, *bound[0]));
  std::vector<Value> items;
  bool html = is_safe(separator);
  for (Value item; TRY(it->next(rt, item));) {
    items.push_back(TRY(lookup_path(rt, item, bound[2], nullptr)));
    html |= is_safe(items.back());
    if (items.size() % 4096 == 0) TRY(rt.room(items.size() * sizeof(Value)));
  }
  html &= rt.autoescape();
  const Text between = TRY(html ? to_html(rt, separator) : to_text(rt, separator));
  Text out;
  for (size_t i = 0; i < items.size(); i++) {
    if (i > 0) out.append(between);
    if (html) {
      out.append(TRY(to_html(rt, items[i])));
    } else {
      TRY(append_str(rt, out, items[i]));
    }
    TRY(rt.room(out.size()));
  }
  return rt.written(std::move(out), html);
}

Result<Value> string(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "string", {"value"}, 1));
  return soft_string(rt, *bound[0]);
}

Result<Value> safe(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "safe", {"value"}, 1));
  return rt.heap().string(TRY(to_text(rt, *bound[0])), true);
}

Result<Value> escape(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "escape", {"value"}, 1));
  return rt.heap().string(TRY(to_html(rt, *bound[0])), true);
}

Result<Value> forceescape(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "forceescape", {"value"}, 1));
  return rt.heap().string(escape_html(TRY(to_text(rt, *bound[0]))), true);
}

Result<Value> format(Runtime& rt, Args& args) {
  if (args.positional.size() > 1 && !args.named.empty())
    return fail("format takes positional or named values, not both");
  const Value text = TRY(soft_string(rt, args.positional[0]));
  if (args.named.empty()) {
    return format_percent(rt, text, rt.heap().tuple({args.positional.begin() + 1, args.positional.end()}));
  }
  const Value named = rt.heap().dict();
  for (auto& [key, value] : args.named) named.mapping().set(std::move(key), std::move(value));
  return format_percent(rt, text, named);
}

Result<Value> wordcount(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "wordcount", {"s"}, 1));
  const Text text = TRY(to_text(rt, *bound[0]));
  TRY(rt.step(text.size() / 16));
  Int words = 0;
  bool inside = false;
  each_character(text.view(), [&](char32_t c, size_t, size_t) {
    const bool is = is_alnum(c) || c == '_';
    words += is && !inside;
    inside = is;
  });
  return Value::integer(words);
}

Result<Value> striptags(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "striptags", {"value"}, 1));
  Text text = TRY(to_text(rt, *bound[0]));
  TRY(rt.step(text.size() / 4));
  const auto remove = [&](std::string_view open, std::string_view close) {
    Text out;
    size_t at = 0;
    for (size_t start; (start = text.view().find(open, at)) != std::string_view::npos;) {
      const size_t end = text.view().find(close, start);
      if (end == std::string_view::npos) break;
      out.append(text, at, start);
      at = end + close.size();
    }
    out.append(text, at, text.size());
    text = std::move(out);
  };
  remove("<!--", "-->");
  remove("<", ">");
  Text out;
  for (const Text& word : split(text, std::nullopt, -1)) {
    if (!out.empty()) out.append(" ", word.trusted_at(0));
    out.append(word);
  }
  static constexpr std::pair<std::string_view, std::string_view> kEntities[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#34;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
  for (const auto& [entity, character] : kEntities)
    out = replace(out, entity, Text(std::string(character), false), -1);
  return rt.string(std::move(out));
}

void append_percent_encoded(Text& out, const Text& text, bool query) {
  text.each(0, text.size(), [&](std::string_view part, Origin origin) {
    std::string encoded;
    for (const char c : part) {
      const bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' ||
                         c == '.' || c == '-' || c == '~' || (c == '/' && !query);
      if (plain) {
        encoded += c;
      } else if (c == ' ' && query) {
        encoded += '+';
      } else {
        encoded += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
      }
    }
    out.append(encoded, origin);
  });
}

Result<Value> urlencode(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "urlencode", {"value"}, 1));
  const Value& value = *bound[0];
  Text out;
  if (value.is_string() || !iterable(value)) {
    append_percent_encoded(out, TRY(to_text(rt, value)), false);
    return rt.string(std::move(out));
  }
  const Value pairs =
      value.is(Kind::dict) ? Value::object(make<DictView>(&rt.heap(), value, DictView::items)) : value;
  const Ref<Iterator> it = TRY(iterate(rt, pairs));
  for (Value pair; TRY(it->next(rt, pair));) {
    const std::vector<Value> two = TRY(to_vector(rt, pair));
    if (two.size() != 2) return fail("urlencode needs pairs of key and value");
    if (!out.empty()) out.append("&", true);
    append_percent_encoded(out, TRY(to_text(rt, two[0])), true);
    out.append("=", true);
    append_percent_encoded(out, TRY(to_text(rt, two[1])), true);
  }
  return rt.string(std::move(out));
}

Result<Value> xmlattr(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "xmlattr", {"d", "autospace"}, 1));
  if (!bound[0]->is(Kind::dict)) return fail("xmlattr needs a dict, not {}", type_name(*bound[0]));
  Text out;
  for (const auto& [key, value] : bound[0]->mapping().entries()) {
    if (value.is_none() || value.is_undefined()) continue;
    if (!key.is_string() || key.bytes().find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      return fail("an attribute name has an invalid character");
    }
    if (!out.empty()) out.append(" ", true);
    out.append(escape_html(key.str().text()));
    out.append("=\"", true);
    out.append(TRY(to_html(rt, value)));
    out.append("\"", true);
  }
  const bool space = !bound.has(1) || truthy(*bound[1]);
  Text result(space && !out.empty() ? " " : "", true);
  result.append(out);
  return rt.written(std::move(result), rt.autoescape());
}

Result<JsonStyle> json_style(Runtime& rt, const Bound& bound) {
  JsonStyle style;
  style.ensure_ascii = bound.has(1) && truthy(*bound[1]);
  style.sort_keys = bound.has(4) && truthy(*bound[4]);
  if (given(bound[2])) {
    style.item_separator = Text(",", true);
    if (bound[2]->is_string()) {
      style.indent = bound[2]->str().text();
    } else {
      const Int width = TRY(to_index(*bound[2], "the indent"));
      if (width > 10'000) return fail("the indent is too large");
      style.indent = Text(std::string(static_cast<size_t>(std::max<Int>(0, width)), ' '), true);
    }
  }
  if (given(bound[3])) {
    const std::vector<Value> two = TRY(to_vector(rt, *bound[3]));
    if (two.size() != 2 || !two[0].is_string() || !two[1].is_string())
      return fail("separators must be two strings");
    style.item_separator = two[0].str().text();
    style.key_separator = two[1].str().text();
  }
  return style;
}

Result<Value> tojson(Runtime& rt, Args& args) {
  const Bound bound =
      TRY(bind(args, "tojson", {"x", "ensure_ascii", "indent", "separators", "sort_keys"}, 1));
  const JsonStyle style = TRY(json_style(rt, bound));
  Text out;
  TRY(append_json(rt, out, *bound[0], style));
  return rt.string(std::move(out));
}

constexpr Builtin kFilters[] = {
    {"capitalize", mapped<capitalize>},
    {"center", center},
    {"e", escape},
    {"escape", escape},
    {"forceescape", forceescape},
    {"format", format},
    {"indent", indent},
    {"join", join},
    {"lower", mapped<lower>},
    {"replace", replace_filter},
    {"safe", safe},
    {"string", string},
    {"striptags", striptags},
    {"title", mapped<title_words>},
    {"tojson", tojson},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", mapped<upper>},
    {"urlencode", urlencode},
    {"wordcount", wordcount},
    {"xmlattr", xmlattr},
};
static_assert(in_order(kFilters));

}  // namespace

std::span<const Builtin> text_filters() { return kFilters; }

}  // namespace brass::jinja
