#include "text/jinja_format.h"

#include <algorithm>
#include <cmath>

#include "text/jinja_ops.h"
#include "text/jinja_repr.h"
#include "text/jinja_spec.h"
#include "text/jinja_strings.h"

namespace brass::jinja {
namespace {

// repr with all beyond ASCII escaped.
Result<Text> ascii_repr(Runtime& rt, const Value& value) {
  Text repr, out;
  TRY(append_repr(rt, repr, value));
  repr.each(0, repr.size(), [&](std::string_view part, Origin origin) {
    std::string escaped;
    each_character(part, [&](char32_t c, size_t at, size_t length) {
      const auto n = static_cast<uint32_t>(c);
      if (n < 0x80) {
        escaped += part.substr(at, length);
      } else {
        escaped += n <= 0xFF     ? fmt::format("\\x{:02x}", n)
                   : n <= 0xFFFF ? fmt::format("\\u{:04x}", n)
                                 : fmt::format("\\U{:08x}", n);
      }
    });
    out.append(escaped, origin);
  });
  return out;
}

// printf style.

class Percent {
 public:
  Percent(Runtime& rt, const Str& format, const Value& values)
      : rt_(rt), format_(format.text()), bytes_(format.bytes()), markup_(format.markup()), values_(values) {}

  Result<Value> run() {
    size_t start = 0;
    while (true) {
      const size_t at = bytes_.find('%', start);
      if (at == std::string_view::npos) break;
      out_.append(format_, start, at);
      start = at + 1;
      TRY(field(start));
      TRY(rt_.room(out_.size()));
    }
    out_.append(format_, start, bytes_.size());
    const bool mapping = values_.is(Kind::dict) || values_.is(Kind::list) || values_.is_undefined() ||
                         values_.as<Range>() != nullptr;
    const size_t available = values_.is(Kind::tuple) ? values_.items().size() : 1;
    if (!mapping && used_ < available) return fail("not all values were used by the format");
    return rt_.heap().string(std::move(out_), markup_);
  }

 private:
  Result<Value> next() {
    if (values_.is(Kind::tuple)) {
      if (used_ >= values_.items().size()) return fail("not enough values for the format");
      return values_.items()[used_++];
    }
    if (used_++ > 0) return fail("not enough values for the format");
    return values_;
  }

  Result<Int> number_or_star(size_t& at, std::string_view what) {
    if (at < bytes_.size() && bytes_[at] == '*') {
      at++;
      const Value value = TRY(next());
      const Int number = TRY(to_index(value, "a width given by '*'"));
      if (number > kMaxFormatWidth || number < -kMaxFormatWidth)
        return fail("the {} of a format is too large", what);
      return number;
    }
    return static_cast<Int>(TRY(parse_format_number(bytes_, at, what)));
  }

  // After a '%'.
  Result<> field(size_t& at) {
    std::optional<Value> keyed;
    if (at < bytes_.size() && bytes_[at] == '(') {
      const size_t end = bytes_.find(')', at);
      if (end == std::string_view::npos) return fail("a key in the format is not closed");
      if (!values_.is(Kind::dict)) return fail("the format needs a dict");
      const Value* found = values_.mapping().find(bytes_.substr(at + 1, end - at - 1));
      if (found == nullptr) return fail("the dict has no '{}'", bytes_.substr(at + 1, end - at - 1));
      keyed = *found;
      at = end + 1;
    }
    Spec spec;
    bool left = false, zero = false;
    for (; at < bytes_.size() && one_of(bytes_[at], "-+ #0"); at++) {
      left |= bytes_[at] == '-';
      zero |= bytes_[at] == '0';
      spec.alternate |= bytes_[at] == '#';
      if (bytes_[at] == '+' || (bytes_[at] == ' ' && spec.sign != '+')) spec.sign = bytes_[at];
    }
    const Int width = TRY(number_or_star(at, "width"));
    left |= width < 0;
    spec.width = static_cast<size_t>(width < 0 ? -width : width);
    if (at < bytes_.size() && bytes_[at] == '.') {
      at++;
      spec.precision = static_cast<int>(std::max<Int>(0, TRY(number_or_star(at, "precision"))));
    }
    while (at < bytes_.size() && one_of(bytes_[at], "hlL")) at++;
    if (at >= bytes_.size()) return fail("the format ends inside a field");
    spec.type = bytes_[at++];
    spec.align = left ? '<' : zero ? '=' : '>';
    if (zero && !left) spec.fill = "0";
    if (spec.type == '%') {
      out_.append("%", true);
      return {};
    }
    TRY(rt_.step(spec.width / 16));
    const Value value = keyed ? *keyed : TRY(next());
    return write(value, spec);
  }

  Result<> write(const Value& value, Spec spec) {
    if (one_of(spec.type, "srac")) return write_text(value, spec);
    if (!one_of(spec.type, "diuoxXeEfFgG")) return fail("the format has no field type '{}'", spec.type);
    if (!value.is_number()) return fail("field '%{}' needs a number, not {}", spec.type, type_name(value));
    if (one_of(spec.type, "eEfFgG")) {
      out_.append(TRY(format_real(value.to_double(), spec)));
      return {};
    }
    Int number = value.is_integral() ? value.as_int() : 0;
    if (value.is(Kind::real)) {
      if (one_of(spec.type, "oxX") || !(std::fabs(value.as_real()) < 0x1p126)) {
        return fail("field '%{}' needs an integer", spec.type);
      }
      number = static_cast<Int>(value.as_real());
    }
    if (one_of(spec.type, "iu")) spec.type = 'd';
    const auto digits = spec.precision;  // here a least number of digits
    spec.precision.reset();
    if (digits) {
      Spec inner = spec;
      inner.width = 0;
      const Text bare = TRY(format_integer(number < 0 ? -number : number, Spec{.type = spec.type}));
      std::string body = bare.bytes();
      if (body.size() < static_cast<size_t>(*digits))
        body.insert(0, static_cast<size_t>(*digits) - body.size(), '0');
      std::string head = sign_of(number < 0, spec.sign);
      if (spec.alternate && spec.type != 'd') head += {'0', spec.type};
      out_.append(align_number(head, body, spec));
      return {};
    }
    out_.append(TRY(format_integer(number, spec)));
    return {};
  }

  Result<> write_text(const Value& value, Spec spec) {
    Text text;
    if (spec.type == 'c') {
      if (value.is_integral()) {
        text = TRY(format_integer(value.as_int(), Spec{.type = 'c'}));
      } else if (value.is_string() && value.str().length() == 1) {
        text = value.str().text();
      } else {
        return fail("field '%c' needs a character");
      }
    } else if (spec.type == 's') {
      text = markup_ ? TRY(to_html(rt_, value)) : TRY(to_text(rt_, value));
    } else if (spec.type == 'r') {
      TRY(append_repr(rt_, text, value));
    } else {
      text = TRY(ascii_repr(rt_, value));
    }
    spec.fill = " ";
    if (spec.align == '=') spec.align = '>';
    out_.append(format_text(text, spec));
    return {};
  }

  Runtime& rt_;
  const Text& format_;
  std::string_view bytes_;
  bool markup_;
  const Value& values_;
  size_t used_ = 0;
  Text out_;
};

// str.format.

class Fields {
 public:
  Fields(Runtime& rt, const Args& args) : rt_(rt), args_(args) {}

  Result<Text> run(const Text& format, int depth) {
    if (depth > 2) return fail("format fields are nested too deeply");
    const std::string_view bytes = format.view();
    Text out;
    size_t at = 0;
    while (at < bytes.size()) {
      const size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
      out.append(format, at, brace);
      if (brace == bytes.size()) break;
      at = brace + 1;
      if (at < bytes.size() && bytes[at] == bytes[brace]) {  // doubled: itself
        out.append(format, brace, at++);
        continue;
      }
      if (bytes[brace] == '}') return fail("single '}}' in the format");
      const size_t end = TRY(field_end(bytes, at));
      out.append(TRY(field(format.slice(at, end), depth)));
      TRY(rt_.room(out.size()));
      at = end + 1;
    }
    return out;
  }

 private:
  static Result<size_t> field_end(std::string_view bytes, size_t at) {
    int open = 1;
    bool bracket = false;
    for (; at < bytes.size(); at++) {
      if (bytes[at] == '[') bracket = true;
      if (bytes[at] == ']') bracket = false;
      if (bracket) continue;
      open += bytes[at] == '{' ? 1 : bytes[at] == '}' ? -1 : 0;
      if (open == 0) return at;
    }
    return fail("single '{{' in the format");
  }

  // What stands between braces: name!conversion:spec
  Result<Text> field(const Text& inside, int depth) {
    TRY(rt_.step());
    const std::string_view bytes = inside.view();
    size_t name_end = 0;
    bool bracket = false;
    for (; name_end < bytes.size(); name_end++) {
      if (bytes[name_end] == '[') bracket = true;
      if (bytes[name_end] == ']') bracket = false;
      if (!bracket && (bytes[name_end] == '!' || bytes[name_end] == ':')) break;
    }
    Value value = TRY(lookup(bytes.substr(0, name_end)));
    size_t at = name_end;
    char conversion = 0;
    if (at < bytes.size() && bytes[at] == '!') {
      if (at + 1 >= bytes.size()) return fail("the conversion in the format is missing");
      conversion = bytes[at + 1];
      at += 2;
      if (at < bytes.size() && bytes[at] != ':')
        return fail("expected ':' after the conversion in the format");
    }
    Text spec;
    if (at < bytes.size()) spec = TRY(run(inside.slice(at + 1, inside.size()), depth + 1));
    if (conversion == 's') {
      value = rt_.string(TRY(to_text(rt_, value)));
    } else if (conversion == 'r') {
      Text text;
      TRY(append_repr(rt_, text, value));
      value = rt_.string(std::move(text));
    } else if (conversion == 'a') {
      value = rt_.string(TRY(ascii_repr(rt_, value)));
    } else if (conversion != 0) {
      return fail("unknown conversion '{}' in the format", conversion);
    }
    return format_value(rt_, value, spec);
  }

  Result<Value> lookup(std::string_view name) {
    const size_t first_end = std::min(name.find_first_of(".["), name.size());
    Value value = TRY(argument(name.substr(0, first_end)));
    size_t at = first_end;
    while (at < name.size()) {
      const bool item = name[at] == '[';
      const size_t end = item ? name.find(']', at) : std::min(name.find_first_of(".[", at + 1), name.size());
      if (end == std::string_view::npos) return fail("a ']' is missing in the format");
      const std::string_view part = name.substr(at + 1, end - at - 1);
      if (part.empty()) return fail("an attribute in the format is empty");
      const Value key = rt_.string(part);
      if (!item) {
        value = TRY(get_attribute(rt_, value, key));
      } else if (part.find_first_not_of("0123456789") == std::string_view::npos && part.size() < 18) {
        value = TRY(get_item(rt_, value, Value::integer(std::stoll(std::string(part)))));
      } else {
        value = TRY(get_item(rt_, value, key));
      }
      at = item ? end + 1 : end;
    }
    return value;
  }

  Result<Value> argument(std::string_view name) {
    const bool number = name.find_first_not_of("0123456789") == std::string_view::npos;
    if (!number) {
      for (const auto& [key, value] : args_.named) {
        if (key.bytes() == name) return value;
      }
      return fail("the format has no value named '{}'", name);
    }
    if (name.size() > 9) return fail("the format has no value {}", name);
    if ((name.empty() ? 1 : 2) + numbering_ == 3 && numbering_ != 0)
      return fail("the format mixes automatic and given numbers");
    numbering_ = name.empty() ? 1 : 2;
    const size_t index = name.empty() ? next_++ : static_cast<size_t>(std::stoul(std::string(name)));
    if (index + 1 >= args_.positional.size()) return fail("the format has no value {}", index);
    return args_.positional[index + 1];
  }

  Runtime& rt_;
  const Args& args_;
  size_t next_ = 0;
  int numbering_ = 0;  // 1: automatic, 2: given
};

}  // namespace

Result<Value> format_percent(Runtime& rt, const Value& format, const Value& value) {
  TRY(rt.step(format.bytes().size() / 16));
  return Percent(rt, format.str(), value).run();
}

Result<Value> format_fields(Runtime& rt, const Args& args) {
  const Str& format = args.positional[0].str();
  TRY(rt.step(format.bytes().size() / 16));
  Text out = TRY(Fields(rt, args).run(format.text(), 0));
  return rt.heap().string(std::move(out), format.markup());
}

}  // namespace brass::jinja
