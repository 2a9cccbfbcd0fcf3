#include "text/json_guard.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace brass {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxIntegerDigits = 4300;  // longer ones Python refuses to read

struct Place {
  size_t line = 1, column = 1;
};

Place place_of(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const size_t newline = before.rfind('\n');
  return {1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n')),
          before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1};
}

// Brackets outside of strings; what is not JSON the parser finds.
Result<> check_depth(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (c == '"') {
      for (i++; i < text.size() && text[i] != '"'; i++) i += text[i] == '\\';
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) {
        const Place at = place_of(text, i);
        return fail("JSON line {}, column {}: nested deeper than {} levels", at.line, at.column,
                    kMaxJsonDepth);
      }
    } else if (c == ']' || c == '}') {
      depth--;
    }
  }
  return {};
}

// Builds a document, and keeps the text of some numbers.
class KeepingNumbers : public nlohmann::json_sax<Json> {
 public:
  explicit KeepingNumbers(KeptNumber kept) : kept_(kept) {}
  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    if (!kept_(value, text)) return put(value);
    return put(Json::binary({text.begin(), text.end()}));
  }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool key(string_t& name) override {
    name_ = name;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  Json* place(Json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_object()) return &(parent[name_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }
  template <class Value>
  bool put(Value&& value) {
    place(Json(std::forward<Value>(value)));
    return true;
  }
  bool open(Json value) {
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  KeptNumber kept_;
  Json root_;
  std::vector<Json*> open_;
  std::string name_;
};

bool is_integer(double, std::string_view text) {
  return text.find_first_of(".eE") == std::string_view::npos && text.size() <= kMaxIntegerDigits;
}

// Whether some integer may need more than 64 bits: that takes 19 digits.
bool has_long_run(std::string_view text) {
  size_t run = 0;
  for (const char c : text) {
    run = c >= '0' && c <= '9' ? run + 1 : 0;
    if (run >= 19) return true;
  }
  return false;
}

bool holds_kept(const Json& json) {
  if (!json.is_structured()) return json.is_binary();
  return std::any_of(json.begin(), json.end(), holds_kept);
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void write(const Json& json, std::string& out) {
  if (json.is_binary()) {
    out += kept_number(json);
  } else if (!holds_kept(json)) {
    out += dump(json);
  } else {
    out += json.is_object() ? '{' : '[';
    for (auto item = json.begin(); item != json.end(); ++item) {
      if (item != json.begin()) out += ',';
      if (json.is_object()) out += dump(item.key()) + ":";
      write(*item, out);
    }
    out += json.is_object() ? '}' : ']';
  }
}

}  // namespace

Result<nlohmann::ordered_json> parse_json(std::string_view text, KeptNumber kept) {
  TRY_VOID(parse_json(text));  // says what is wrong, and where
  KeepingNumbers numbers(kept);
  if (!Json::sax_parse(text, &numbers)) return fail("JSON: not read");
  return numbers.take();
}

std::string kept_number(const Json& binary) {
  const auto& bytes = binary.get_binary();
  return {bytes.begin(), bytes.end()};
}

Result<Json> parse_json_exact(std::string_view text) {
  return has_long_run(text) ? parse_json(text, is_integer) : parse_json(text);
}

std::string json_text(const Json& json) {
  std::string out;
  write(json, out);
  return out;
}

Result<nlohmann::ordered_json> parse_json(std::string_view text) {
  TRY(check_depth(text));
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    // Its message carries an error number and a position of its own; what went wrong comes after the last
    // colon pair that it starts with.
    const Place at = place_of(text, e.byte == 0 ? 0 : e.byte - 1);
    std::string_view what = e.what();
    if (const size_t colon = what.find(": "); colon != std::string_view::npos) what.remove_prefix(colon + 2);
    return fail("JSON line {}, column {}: {}", at.line, at.column, what);
  } catch (const nlohmann::json::exception& e) {
    return fail("JSON: {}", e.what());
  }
}

}  // namespace brass
