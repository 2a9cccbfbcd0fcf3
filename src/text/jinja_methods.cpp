// The methods of str (jinja_runtime.h, find_method).
#include <algorithm>

#include "text/jinja_format.h"
#include "text/jinja_ops.h"
#include "text/jinja_repr.h"
#include "text/jinja_strings.h"

namespace brass::jinja {

const Builtin* find_container_method(const Value& object, std::string_view name);  // jinja_containers.cpp
const Builtin* find_number_method(const Value& object, std::string_view name);     // jinja_number_methods.cpp
Result<Value> encode(Runtime& rt, Args& args);                                     // jinja_bytes.cpp

namespace {

using Names = std::initializer_list<std::string_view>;

const Str& self(const Args& args) { return args.positional[0].str(); }

// Charges for work on the whole string, then binds the arguments after it.
Result<Bound> prepare(Runtime& rt, const Args& args, std::string_view name, Names names, size_t required) {
  TRY(rt.step(self(args).bytes().size() / 16));
  std::vector<std::string_view> all = {"self"};
  all.insert(all.end(), names.begin(), names.end());
  if (args.positional.size() > all.size()) {
    return fail("{} takes at most {} arguments, got {}", name, names.size(), args.positional.size() - 1);
  }
  Bound values;
  for (size_t i = 1; i < args.positional.size(); i++) values[i - 1] = &args.positional[i];
  for (const auto& [key, value] : args.named) {
    const auto it = std::find(names.begin(), names.end(), key.bytes());
    if (it == names.end()) return fail("{} has no parameter '{}'", name, key.bytes());
    values[static_cast<size_t>(it - names.begin())] = &value;
  }
  for (size_t i = 0; i < required; i++) {
    if (values[i] == nullptr) return fail("{} lacks the argument '{}'", name, names.begin()[i]);
  }
  return values;
}

Result<std::string_view> string_argument(const Value& value, std::string_view what) {
  if (value.is_undefined()) return undefined_error(value);
  if (!value.is_string()) return fail("{} must be a string, not {}", what, type_name(value));
  return std::string_view(value.bytes());
}

// A string or None, which is as good as absent.
Result<std::optional<std::string_view>> optional_string(const Value* value, std::string_view what) {
  if (value == nullptr || value->is_none()) return std::nullopt;
  return TRY(string_argument(*value, what));
}

Result<int64_t> limit_argument(const Value* value) {
  if (value == nullptr) return -1;
  const Int limit = TRY(to_index(*value, "the count"));
  return limit < 0 ? -1 : static_cast<int64_t>(std::min<Int>(limit, INT64_MAX));
}

Value like(Runtime& rt, const Str& origin, Text text) {
  return rt.heap().string(std::move(text), origin.markup());
}

Value list_of(Runtime& rt, const Str& origin, std::vector<Text> parts) {
  std::vector<Value> values;
  values.reserve(parts.size());
  for (Text& part : parts) values.push_back(like(rt, origin, std::move(part)));
  return rt.heap().list(std::move(values));
}

template <Text (*Map)(const Text&)>
Result<Value> mapped(Runtime& rt, Args& args) {
  TRY(prepare(rt, args, "the method", {}, 0));
  return like(rt, self(args), Map(self(args).text()));
}

template <Side Where>
Result<Value> stripped(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "strip", {"chars"}, 0));
  const auto chars = TRY(optional_string(bound[0], "the characters to strip"));
  return like(rt, self(args), strip(self(args).text(), Where, chars));
}

template <std::vector<Text> (*Split)(const Text&, std::optional<std::string_view>, int64_t)>
Result<Value> splitted(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "split", {"sep", "maxsplit"}, 0));
  const auto separator = TRY(optional_string(bound[0], "the separator"));
  if (separator && separator->empty()) return fail("the separator to split at is empty");
  std::vector<Text> parts = Split(self(args).text(), separator, TRY(limit_argument(bound[1])));
  TRY(rt.step(parts.size()));
  return list_of(rt, self(args), std::move(parts));
}

Result<Value> splitlines(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "splitlines", {"keepends"}, 0));
  return list_of(rt, self(args), split_lines(self(args).text(), bound.has(0) && truthy(*bound[0])));
}

template <bool FromRight>
Result<Value> partition(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "partition", {"sep"}, 1));
  const std::string_view separator = TRY(string_argument(*bound[0], "the separator"));
  if (separator.empty()) return fail("the separator to split at is empty");
  const Text& text = self(args).text();
  const size_t at = FromRight ? text.view().rfind(separator) : text.view().find(separator);
  Text parts[3];
  if (at == std::string_view::npos) {
    parts[FromRight ? 2 : 0] = text;
  } else {
    parts[0] = text.slice(0, at);
    parts[1] = text.slice(at, at + separator.size());
    parts[2] = text.slice(at + separator.size(), text.size());
  }
  std::vector<Value> values;
  for (Text& part : parts) values.push_back(like(rt, self(args), std::move(part)));
  return rt.heap().tuple(std::move(values));
}

Result<Value> replace_method(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "replace", {"old", "new", "count"}, 2));
  const std::string_view from = TRY(string_argument(*bound[0], "the text to replace"));
  TRY(string_argument(*bound[1], "the replacement"));
  const int64_t limit = TRY(limit_argument(bound[2]));
  const bool escape = self(args).markup() && !bound[1]->str().markup();
  const Text to = escape ? escape_html(bound[1]->str().text()) : bound[1]->str().text();
  TRY(rt.room(count_occurrences(self(args).bytes(), from) * to.size()));
  return like(rt, self(args), replace(self(args).text(), from, to, limit));
}

Result<Value> join_method(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "join", {"iterable"}, 1));
  const std::vector<Value> items = TRY(to_vector(rt, *bound[0]));
  Text out;
  for (size_t i = 0; i < items.size(); i++) {
    TRY(string_argument(items[i], "an item to join"));
    if (i > 0) out.append(self(args).text());
    const Str& item = items[i].str();
    out.append(self(args).markup() && !item.markup() ? escape_html(item.text()) : item.text());
    if (i % 64 == 0) TRY(rt.room(out.size()));
  }
  return like(rt, self(args), std::move(out));
}

// The part of the string that find, count, startswith… look at, from optional code point positions.
struct Window {
  size_t from, to;  // bytes
  size_t first;     // code point at `from`
  bool empty;       // start lies beyond the end: not even "" is found
};

Result<Window> window(const Str& string, const Value* start, const Value* stop) {
  const Int n = static_cast<Int>(string.length());
  Int edges[2] = {0, n};
  for (int i = 0; i < 2; i++) {
    const Value* value = i == 0 ? start : stop;
    if (value == nullptr || value->is_none()) continue;
    edges[i] = TRY(to_index(*value, "a position"));
    if (edges[i] < 0) edges[i] = std::max<Int>(0, edges[i] + n);
  }
  const Int to = std::min(edges[1], n);
  if (edges[0] > n || edges[0] > to) return Window{0, 0, 0, true};
  const auto first = static_cast<size_t>(edges[0]);
  return Window{string.offset(first), string.offset(static_cast<size_t>(to)), first, false};
}

enum class Find { first, last, first_or_fail, last_or_fail };

template <Find How>
Result<Value> find_method_(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "find", {"sub", "start", "end"}, 1));
  const std::string_view what = TRY(string_argument(*bound[0], "the text to find"));
  const Window w = TRY(window(self(args), bound[1], bound[2]));
  const std::string_view bytes = std::string_view(self(args).bytes()).substr(w.from, w.to - w.from);
  constexpr bool kFirst = How == Find::first || How == Find::first_or_fail;
  const size_t at = w.empty ? std::string_view::npos : kFirst ? bytes.find(what) : bytes.rfind(what);
  if (at != std::string_view::npos) {
    return Value::integer(static_cast<Int>(w.first + count_code_points(bytes.substr(0, at))));
  }
  if (How == Find::first_or_fail || How == Find::last_or_fail)
    return fail("the text to find is not in the string");
  return Value::integer(-1);
}

Result<Value> count_method(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "count", {"sub", "start", "end"}, 1));
  const std::string_view what = TRY(string_argument(*bound[0], "the text to count"));
  const Window w = TRY(window(self(args), bound[1], bound[2]));
  if (w.empty) return Value::integer(0);
  const std::string_view bytes = std::string_view(self(args).bytes()).substr(w.from, w.to - w.from);
  return Value::integer(static_cast<Int>(count_occurrences(bytes, what)));
}

template <bool AtEnd>
Result<Value> starts_or_ends(Runtime& rt, Args& args) {
  const Bound bound =
      TRY(prepare(rt, args, AtEnd ? "endswith" : "startswith", {"prefix", "start", "end"}, 1));
  const Window w = TRY(window(self(args), bound[1], bound[2]));
  const std::string_view bytes = std::string_view(self(args).bytes()).substr(w.from, w.to - w.from);
  const std::vector<Value> options =
      bound[0]->is(Kind::tuple) ? bound[0]->items().get() : std::vector<Value>{*bound[0]};
  for (const Value& option : options) {
    const std::string_view what = TRY(string_argument(option, "the prefix or suffix"));
    if (!w.empty && (AtEnd ? bytes.ends_with(what) : bytes.starts_with(what))) return Value::boolean(true);
  }
  return Value::boolean(false);
}

template <bool AtEnd>
Result<Value> remove_affix(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, AtEnd ? "removesuffix" : "removeprefix", {"prefix"}, 1));
  const std::string_view what = TRY(string_argument(*bound[0], "the prefix or suffix"));
  const Text& text = self(args).text();
  if (!(AtEnd ? text.view().ends_with(what) : text.view().starts_with(what))) return args.positional[0];
  const size_t size = text.size() - what.size();
  return like(rt, self(args), AtEnd ? text.slice(0, size) : text.slice(what.size(), text.size()));
}

template <Side Where>
Result<Value> padded(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "the method", {"width", "fillchar"}, 1));
  const Int width = std::max<Int>(0, TRY(to_index(*bound[0], "the width")));
  Text fill(" ", true);
  if (bound.has(1)) {
    TRY(string_argument(*bound[1], "the fill character"));
    if (bound[1]->str().length() != 1) return fail("the fill character must be one character");
    fill = bound[1]->str().text();
  }
  if (width > static_cast<Int>(rt.options().max_memory)) return fail("the width is too large");
  TRY(rt.room(static_cast<size_t>(width) * fill.size()));
  TRY(rt.step(static_cast<uint64_t>(width) / 16));
  return like(rt, self(args), pad(self(args).text(), static_cast<size_t>(width), Where, fill));
}

Result<Value> zfill(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "zfill", {"width"}, 1));
  const Int width = TRY(to_index(*bound[0], "the width"));
  const Str& string = self(args);
  if (width <= static_cast<Int>(string.length())) return args.positional[0];
  if (width > static_cast<Int>(rt.options().max_memory)) return fail("the width is too large");
  const auto zeros = static_cast<size_t>(width) - string.length();
  TRY(rt.room(zeros));
  const bool sign = string.bytes().starts_with('-') || string.bytes().starts_with('+');
  Text out = string.text().slice(0, sign ? 1 : 0);
  out.append(std::string(zeros, '0'), true);
  out.append(string.text(), sign ? 1 : 0, string.bytes().size());
  return like(rt, string, std::move(out));
}

Result<Value> expandtabs(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "expandtabs", {"tabsize"}, 0));
  const Int tab = bound.has(0) ? std::max<Int>(0, TRY(to_index(*bound[0], "the tab size"))) : 8;
  const size_t tabs = count_occurrences(self(args).bytes(), "\t");
  if (tab > 1'000'000) return fail("the tab size is too large");
  TRY(rt.room(tabs * static_cast<size_t>(tab)));
  return like(rt, self(args), expand_tabs(self(args).text(), static_cast<size_t>(tab)));
}

// All characters satisfy Is, and there is at least one.
template <bool (*Is)(char32_t)>
Result<Value> all_are(Runtime& rt, Args& args) {
  TRY(prepare(rt, args, "the method", {}, 0));
  bool all = !self(args).bytes().empty();
  each_character(self(args).bytes(), [&](char32_t c, size_t, size_t) { all = all && Is(c); });
  return Value::boolean(all);
}

template <bool (*Is)(char32_t), bool (*Not)(char32_t)>
Result<Value> cased_as(Runtime& rt, Args& args) {
  TRY(prepare(rt, args, "the method", {}, 0));
  bool some = false, all = true;
  each_character(self(args).bytes(), [&](char32_t c, size_t, size_t) {
    some = some || Is(c);
    all = all && !Not(c) && !is_title(c);
  });
  return Value::boolean(some && all);
}

Result<Value> istitle(Runtime& rt, Args& args) {
  TRY(prepare(rt, args, "istitle", {}, 0));
  bool some = false, all = true, inside = false;
  each_character(self(args).bytes(), [&](char32_t c, size_t, size_t) {
    if (is_upper(c) || is_title(c)) all = all && !inside;
    if (is_lower(c)) all = all && inside;
    inside = is_cased(c);
    some = some || inside;
  });
  return Value::boolean(some && all);
}

bool ascii(char32_t c) { return c < 0x80; }

template <bool (*Is)(char32_t)>
Result<Value> all_or_empty(Runtime& rt, Args& args) {
  if (self(args).bytes().empty()) return Value::boolean(true);
  return all_are<Is>(rt, args);
}

Result<Value> isidentifier(Runtime& rt, Args& args) {
  TRY(prepare(rt, args, "isidentifier", {}, 0));
  bool all = !self(args).bytes().empty();
  each_character(self(args).bytes(), [&](char32_t c, size_t at, size_t) {
    all = all && (at == 0 ? is_name_start(c) : is_name_continue(c));
  });
  return Value::boolean(all);
}

// str.translate: characters by number, through a dict, to text, a number or None.
Result<Value> translate(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "translate", {"table"}, 1));
  const Text& text = self(args).text();
  TRY(rt.step(self(args).length()));
  Text out;
  for (size_t at = 0, length = 0; at < text.size(); at += length) {
    const char32_t c = decode_at(text.view(), at, length);
    const Value key = Value::integer(static_cast<Int>(c));
    Value to;
    if (bound[0]->is(Kind::dict)) {
      const Value* found = bound[0]->mapping().find(key);
      to = found == nullptr ? Value() : *found;
    } else {
      to = TRY(get_item(rt, *bound[0], key));
    }
    if (to.is_undefined()) {
      out.append(text, at, at + length);
    } else if (to.is_string()) {
      out.append(to.str().text());
    } else if (to.is_integral()) {
      const Int code = to.as_int();
      if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return fail("no such character");
      std::string bytes;
      append_utf8(bytes, static_cast<char32_t>(code));
      out.append(bytes, false);
    } else if (!to.is_none()) {
      return fail("a table for translate must hold strings, numbers or None, not {}", type_name(to));
    }
    TRY(rt.room(out.size()));
  }
  return like(rt, self(args), std::move(out));
}

// str.maketrans: the table for translate.
Result<Value> maketrans(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "maketrans", {"x", "y", "z"}, 1));
  const auto codes = [](std::string_view bytes) {
    std::vector<Int> out;
    each_character(bytes, [&](char32_t c, size_t, size_t) { out.push_back(static_cast<Int>(c)); });
    return out;
  };
  Value table = rt.heap().dict();
  if (!bound.has(1)) {
    if (!bound[0]->is(Kind::dict)) return fail("maketrans needs a dict, or two strings");
    for (const auto& [key, value] : bound[0]->mapping().entries()) {
      if (key.is_integral()) {
        table.mapping().set(key, value);
        continue;
      }
      if (!key.is_string() || key.str().length() != 1)
        return fail("a key for maketrans must be one character");
      table.mapping().set(Value::integer(codes(key.bytes())[0]), value);
    }
    return table;
  }
  const std::vector<Int> from = codes(TRY(string_argument(*bound[0], "the first argument of maketrans"))),
                         to = codes(TRY(string_argument(*bound[1], "the second argument of maketrans")));
  if (from.size() != to.size()) return fail("the first two arguments of maketrans must be of one length");
  for (size_t i = 0; i < from.size(); i++)
    table.mapping().set(Value::integer(from[i]), Value::integer(to[i]));
  if (bound.has(2)) {
    for (const Int c : codes(TRY(string_argument(*bound[2], "the third argument of maketrans"))))
      table.mapping().set(Value::integer(c), Value::none());
  }
  return table;
}

Result<Value> format_method(Runtime& rt, Args& args) { return format_fields(rt, args); }

Result<Value> format_map(Runtime& rt, Args& args) {
  const Bound bound = TRY(prepare(rt, args, "format_map", {"mapping"}, 1));
  if (!bound[0]->is(Kind::dict)) return fail("format_map needs a dict, not {}", type_name(*bound[0]));
  Args named;
  named.positional.push_back(args.positional[0]);
  for (const auto& [key, value] : bound[0]->mapping().entries()) {
    if (key.is_string()) named.named.emplace_back(key, value);
  }
  return format_fields(rt, named);
}

constexpr Builtin kStringMethods[] = {
    {"capitalize", mapped<capitalize>},
    {"casefold", mapped<casefold>},
    {"center", padded<Side::both>},
    {"count", count_method},
    {"encode", encode},
    {"endswith", starts_or_ends<true>},
    {"expandtabs", expandtabs},
    {"find", find_method_<Find::first>},
    {"format", format_method},
    {"format_map", format_map},
    {"index", find_method_<Find::first_or_fail>},
    {"isalnum", all_are<is_alnum>},
    {"isalpha", all_are<is_alpha>},
    {"isascii", all_or_empty<ascii>},
    {"isdecimal", all_are<is_decimal>},
    {"isdigit", all_are<is_digit>},
    {"isidentifier", isidentifier},
    {"islower", cased_as<is_lower, is_upper>},
    {"isnumeric", all_are<is_numeric>},
    {"isprintable", all_or_empty<is_printable>},
    {"isspace", all_are<is_space>},
    {"istitle", istitle},
    {"isupper", cased_as<is_upper, is_lower>},
    {"join", join_method},
    {"ljust", padded<Side::right>},
    {"lower", mapped<lower>},
    {"lstrip", stripped<Side::left>},
    {"maketrans", maketrans},
    {"partition", partition<false>},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"replace", replace_method},
    {"rfind", find_method_<Find::last>},
    {"rindex", find_method_<Find::last_or_fail>},
    {"rjust", padded<Side::left>},
    {"rpartition", partition<true>},
    {"rsplit", splitted<split_right>},
    {"rstrip", stripped<Side::right>},
    {"split", splitted<split>},
    {"splitlines", splitlines},
    {"startswith", starts_or_ends<false>},
    {"strip", stripped<Side::both>},
    {"swapcase", mapped<swapcase>},
    {"title", mapped<title>},
    {"translate", translate},
    {"upper", mapped<upper>},
    {"zfill", zfill},
};
static_assert(in_order(kStringMethods));

}  // namespace

const Builtin* find_method(const Value& object, std::string_view name) {
  if (object.is_string()) return find_in({{kStringMethods, std::size(kStringMethods)}}, name);
  if (object.is_number()) return find_number_method(object, name);
  return find_container_method(object, name);
}

}  // namespace brass::jinja
