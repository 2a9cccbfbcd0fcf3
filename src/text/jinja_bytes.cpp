// What str.encode() gives: the bytes of a text (jinja_runtime.h, find_method).
#include "text/jinja_ops.h"
#include "text/jinja_repr.h"
#include "text/jinja_unicode.h"

namespace brass::jinja {

Result<Value> encode(Runtime& rt, Args& args);

namespace {

class Bytes final : public Opaque {
 public:
  Bytes(Heap* heap, Text text) : Opaque(heap), text_(std::move(text)) { recharge(text_.footprint()); }
  std::string_view type_name() const override { return "bytes"; }
  bool truthy() const override { return !text_.empty(); }
  std::optional<size_t> length() const override { return text_.size(); }
  Result<Value> attribute(Runtime& rt, const Value& name) override;
  std::string repr() const override;
  bool trusted() const override { return text_.trusted(); }
  const Text& text() const { return text_; }

 private:
  Text text_;  // UTF-8
};

Result<> check_encoding(const Bound& bound) {
  if (!bound.has(1)) return {};
  if (!bound[1]->is_string()) return fail("the encoding must be a string");
  std::string name;
  for (const char c : bound[1]->bytes()) {
    if (c != '-' && c != '_') name += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 32 : c);
  }
  if (name != "utf8") return fail("encoding '{}' is not supported; only utf-8 is", bound[1]->bytes());
  return {};
}

Result<Value> decode(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "bytes.decode", {"self", "encoding", "errors"}, 1));
  TRY(check_encoding(bound));
  return rt.string(bound[0]->as<Bytes>()->text());
}
constexpr Builtin kDecode = {"decode", decode};

Result<Value> Bytes::attribute(Runtime& rt, const Value& name) {
  if (name.bytes() != kDecode.name) return Opaque::attribute(rt, name);
  return Value::object(make<BoundMethod>(&rt.heap(), Value::object(Ref<Object>(this)), &kDecode));
}

std::string Bytes::repr() const {
  const bool single = text_.view().find('\'') != std::string_view::npos;
  const char quote = single && text_.view().find('"') == std::string_view::npos ? '"' : '\'';
  std::string out = {'b', quote};
  for (const char c : text_.view()) {
    const auto n = static_cast<unsigned>(static_cast<unsigned char>(c));
    if (c == quote || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += {'\\', c == '\n' ? 'n' : c == '\r' ? 'r' : 't'};
    } else if (n < 0x20 || n >= 0x7F) {
      out += fmt::format("\\x{:02x}", n);
    } else {
      out += c;
    }
  }
  return out + quote;
}

}  // namespace

Result<Value> encode(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "str.encode", {"self", "encoding", "errors"}, 1));
  TRY(check_encoding(bound));
  TRY(rt.step(bound[0]->bytes().size() / 16));
  return Value::object(make<Bytes>(&rt.heap(), bound[0]->str().text()));
}

}  // namespace brass::jinja
