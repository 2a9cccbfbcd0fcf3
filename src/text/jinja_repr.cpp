#include "text/jinja_repr.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "text/jinja_long.h"
#include "text/jinja_ops.h"
#include "text/jinja_unicode.h"

namespace brass::jinja {

std::string int_repr(Int value) { return fmt::format("{}", value); }

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  std::string out;
  if (text[0] == '-') out = "-", text.remove_prefix(1);
  const size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + 1 + (text[e + 1] == '+'), text.data() + text.size(), exponent);
  std::string digits(1, text[0]);
  if (e > 1) digits += text.substr(2, e - 2);
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return out + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  return out + digits.substr(0, static_cast<size_t>(exponent) + 1) + "." +
         digits.substr(static_cast<size_t>(exponent) + 1);
}

namespace {

// Whether what a container adds around its contents counts as the template's text: not if it came from
// outside.
bool trusted_frame(const Value& value) { return value.raw() == nullptr || value.raw()->heap() != nullptr; }

// The escape of a character that repr does not show, or nothing.
std::string repr_escape(char32_t c, char quote) {
  if (c == static_cast<char32_t>(quote) || c == '\\') return {'\\', static_cast<char>(c)};
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  if (is_printable(c)) return {};
  const auto n = static_cast<uint32_t>(c);
  return n <= 0xFF     ? fmt::format("\\x{:02x}", n)
         : n <= 0xFFFF ? fmt::format("\\u{:04x}", n)
                       : fmt::format("\\U{:08x}", n);
}

void append_quoted(Text& out, const Str& string) {
  const std::string& bytes = string.bytes();
  const char quote =
      bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos ? '"' : '\'';
  const bool trusted = string.text().trusted_at(0);
  out.append(std::string_view(&quote, 1), trusted);
  string.text().each(0, bytes.size(), [&](std::string_view part, Origin origin) {
    std::string escaped;
    for (size_t at = 0, length = 0; at < part.size(); at += length) {
      const char32_t c = decode_at(part, at, length);
      const std::string escape = repr_escape(c, quote);
      escaped += escape.empty() ? part.substr(at, length) : std::string_view(escape);
    }
    out.append(escaped, origin);
  });
  out.append(std::string_view(&quote, 1), trusted);
}

// repr of values inside values; knows which containers it is in, for Python's [...] where one holds itself.
class Repr {
 public:
  Repr(Runtime& rt, Text& out) : rt_(rt), out_(out) {}

  Result<> value(const Value& value) {
    TRY(rt_.step(1 + (value.is_string() ? value.bytes().size() / 16 : 0)));
    switch (value.kind()) {
      case Kind::undefined:
        return add("Undefined", true);
      case Kind::none:
        return add("None", true);
      case Kind::boolean:
        return add(value.as_bool() ? "True" : "False", true);
      case Kind::integer:
        return add(int_repr(value.as_int()), true);
      case Kind::real:
        return add(float_repr(value.as_real()), true);
      case Kind::string:
        return string(value.str());
      case Kind::list:
        return list(value, "[", "]");
      case Kind::tuple:
        return list(value, "(", value.items().size() == 1 ? ",)" : ")");
      case Kind::dict:
        return dict(value);
      case Kind::object:
        break;
    }
    if (auto* space = value.as<Namespace>()) {
      TRY(add("<Namespace ", true));
      TRY(entries(space->values(), true));
      return add(">", true);
    }
    if (auto* view = value.as<DictView>()) return this->view(*view);
    return add(value.as<Opaque>()->repr(), value.as<Opaque>()->trusted());
  }

 private:
  Result<> add(std::string_view text, bool trusted) {
    out_.append(text, trusted);
    return {};
  }
  Result<> string(const Str& s) {
    if (s.markup()) TRY(add("Markup(", true));
    append_quoted(out_, s);
    return s.markup() ? add(")", true) : Result<>{};
  }
  // Runs f unless the container is already being written.
  template <class F>
  Result<> once(const Object* container, std::string_view instead, F&& f) {
    if (std::find(open_.begin(), open_.end(), container) != open_.end()) return add(instead, true);
    TRY(rt_.check_stack());
    open_.push_back(container);
    TRY(f());
    open_.pop_back();
    return {};
  }
  Result<> list(const Value& v, std::string_view open, std::string_view close) {
    return once(v.raw(), v.is(Kind::list) ? "[...]" : "(...)", [&]() -> Result<> {
      const bool trusted = trusted_frame(v);
      TRY(add(open, trusted));
      bool first = true;
      for (const Value& item : v.items().get()) {
        if (!first) TRY(add(", ", trusted));
        first = false;
        TRY(value(item));
      }
      return add(close, trusted);
    });
  }
  Result<> entries(const Dict& d, bool trusted) {
    return once(&d, "{...}", [&]() -> Result<> {
      TRY(add("{", trusted));
      bool first = true;
      for (const auto& [key, item] : d.entries()) {
        if (!first) TRY(add(", ", trusted));
        first = false;
        TRY(value(key));
        TRY(add(": ", trusted));
        TRY(value(item));
      }
      return add("}", trusted);
    });
  }
  Result<> dict(const Value& v) { return entries(v.mapping(), trusted_frame(v)); }
  Result<> view(const DictView& v) {
    TRY(add(v.type_name(), true));
    TRY(add("([", true));
    for (size_t i = 0; i < v.dict().size(); i++) {
      if (i > 0) TRY(add(", ", true));
      TRY(value(v.at(rt_, i)));
    }
    return add("])", true);
  }

  Runtime& rt_;
  Text& out_;
  std::vector<const Object*> open_;
};

}  // namespace

Result<> append_repr(Runtime& rt, Text& out, const Value& value) { return Repr(rt, out).value(value); }

Result<> append_str(Runtime& rt, Text& out, const Value& value) {
  if (value.is_undefined()) return {};
  if (value.is_string()) {
    out.append(value.str().text());
    return {};
  }
  return append_repr(rt, out, value);
}

Result<Text> to_text(Runtime& rt, const Value& value) {
  Text out;
  TRY(append_str(rt, out, value));
  return out;
}

// JSON.

namespace {

void escape_json(std::string& out, std::string_view part, bool ensure_ascii) {
  for (size_t at = 0, length = 0; at < part.size(); at += length) {
    const char32_t c = decode_at(part, at, length);
    static constexpr std::string_view kFrom = "\"\\\n\r\t\f\b", kTo = "\"\\nrtfb";
    const size_t i = c < 0x80 ? kFrom.find(static_cast<char>(c)) : std::string_view::npos;
    if (i != std::string_view::npos) {
      out += {'\\', kTo[i]};
    } else if (c < 0x20 || (ensure_ascii && c >= 0x7F && c <= 0xFFFF)) {
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    } else if (ensure_ascii && c > 0xFFFF) {
      const auto n = static_cast<uint32_t>(c) - 0x10000;
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (n >> 10), 0xDC00 + (n & 0x3FF));
    } else {
      out += part.substr(at, length);
    }
  }
}

class Json {
 public:
  Json(Runtime& rt, Text& out, const JsonStyle& style) : rt_(rt), out_(out), style_(style) {}

  Result<> value(const Value& v) {
    TRY(rt_.step(1 + (v.is_string() ? v.bytes().size() / 32 : 0)));
    switch (v.kind()) {
      case Kind::none:
        return add("null", true);
      case Kind::boolean:
        return add(v.as_bool() ? "true" : "false", true);
      case Kind::integer:
        return add(int_repr(v.as_int()), true);
      case Kind::real:
        return add(number(v.as_real()), true);
      case Kind::string:
        return string(v.str().text());
      case Kind::list:
      case Kind::tuple:
        return list(v);
      case Kind::dict:
        return dict(v);
      default:
        if (is_whole(v)) return add(v.as<Opaque>()->repr(), true);
        return fail("a value of type {} cannot be written as JSON", type_name(v));
    }
  }

 private:
  static std::string number(double d) {
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
    return float_repr(d);
  }
  Result<> add(std::string_view text, bool trusted) {
    out_.append(text, trusted && frame_);
    return {};
  }
  Result<> string(const Text& text) {
    const bool trusted = text.trusted_at(0);
    out_.append("\"", trusted);
    text.each(0, text.size(), [&](std::string_view part, Origin origin) {
      std::string escaped;
      escape_json(escaped, part, style_.ensure_ascii);
      out_.append(escaped, origin);
    });
    out_.append("\"", trusted);
    return {};
  }
  Result<> separate(bool first, const Text& separator) {
    if (!first) {
      if (frame_) {
        out_.append(separator);
      } else {
        out_.append(separator.view(), false);
      }
    }
    return newline();
  }
  Result<> newline() {
    if (!style_.indent) return {};
    TRY(add("\n", true));
    for (int i = 0; i < depth_; i++) out_.append(*style_.indent);
    return {};
  }
  // Writes the inside of a container one level deeper.
  template <class F>
  Result<> nested(const Value& v, std::string_view open, std::string_view close, size_t size, F&& inside) {
    TRY(rt_.check_stack());
    if (++depth_ > 1000)
      return fail("value is nested too deeply, or holds itself, and cannot be written as JSON");
    const bool outer = std::exchange(frame_, trusted_frame(v));
    TRY(add(open, true));
    if (size > 0) {
      TRY(inside());
      depth_--;
      TRY(newline());
      depth_++;
    }
    TRY(add(close, true));
    frame_ = outer;
    depth_--;
    return {};
  }
  Result<> list(const Value& v) {
    return nested(v, "[", "]", v.items().size(), [&]() -> Result<> {
      bool first = true;
      for (const Value& item : v.items().get()) {
        TRY(separate(first, style_.item_separator));
        first = false;
        TRY(value(item));
      }
      return {};
    });
  }
  Result<> dict(const Value& v) {
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : v.mapping().entries()) entries.push_back(&entry);
    if (style_.sort_keys) TRY(sort_keys(entries));
    return nested(v, "{", "}", entries.size(), [&]() -> Result<> {
      bool first = true;
      for (const Dict::Entry* entry : entries) {
        TRY(separate(first, style_.item_separator));
        first = false;
        TRY(key(entry->first));
        if (frame_) {
          out_.append(style_.key_separator);
        } else {
          out_.append(style_.key_separator.view(), false);
        }
        TRY(value(entry->second));
      }
      return {};
    });
  }
  Result<> sort_keys(std::vector<const Dict::Entry*>& entries) {
    std::vector<Value> order, keys;
    for (size_t i = 0; i < entries.size(); i++) {
      order.push_back(Value::integer(static_cast<Int>(i)));
      keys.push_back(entries[i]->first);
    }
    TRY(sort_by(rt_, order, std::move(keys), false));
    std::vector<const Dict::Entry*> sorted;
    for (const Value& i : order) sorted.push_back(entries[static_cast<size_t>(i.as_int())]);
    entries = std::move(sorted);
    return {};
  }
  Result<> key(const Value& k) {
    switch (k.kind()) {
      case Kind::string:
        return string(k.str().text());
      case Kind::none:
      case Kind::boolean:
      case Kind::integer:
      case Kind::real:
        TRY(add("\"", true));
        TRY(value(k));
        return add("\"", true);
      default:
        return fail("a dict key of type {} cannot be written as JSON", type_name(k));
    }
  }

  Runtime& rt_;
  Text& out_;
  const JsonStyle& style_;
  int depth_ = 0;
  bool frame_ = true;  // whether the innermost container is the template's own
};

}  // namespace

Result<> append_json(Runtime& rt, Text& out, const Value& value, const JsonStyle& style) {
  return Json(rt, out, style).value(value);
}

// HTML.

Text escape_html(const Text& text) {
  Text out;
  text.each(0, text.size(), [&](std::string_view part, Origin origin) {
    std::string escaped;
    for (const char c : part) {
      switch (c) {
        case '&':
          escaped += "&amp;";
          break;
        case '<':
          escaped += "&lt;";
          break;
        case '>':
          escaped += "&gt;";
          break;
        case '\'':
          escaped += "&#39;";
          break;
        case '"':
          escaped += "&#34;";
          break;
        default:
          escaped += c;
      }
    }
    out.append(escaped, origin);
  });
  return out;
}

Result<Text> to_html(Runtime& rt, const Value& value) {
  if (value.is_string() && value.str().markup()) return value.str().text();
  return escape_html(TRY(to_text(rt, value)));
}

}  // namespace brass::jinja
