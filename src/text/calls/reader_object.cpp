// Calls that are objects: {"name": …, "arguments": {…}}.
#include <nlohmann/json.hpp>

#include "text/calls/reader.h"

namespace brass::calls {

namespace {

constexpr int kMaxNested = 3;  // {"function": {…}}

bool is_name_key(const CallFormat& format, const std::string& key) {
  return key == format.name_key || key == "name" || key == "tool_name" || key == "function_name";
}
bool is_arguments_key(const CallFormat& format, const std::string& key) {
  return key == format.arguments_key || key == "arguments" || key == "parameters" || key == "args";
}
bool is_id_key(const CallFormat& format, const std::string& key) {
  return (!format.id_key.empty() && key == format.id_key) || key == "id" || key == "tool_call_id" ||
         key == "call_id";
}

// What a JSON string says.
std::string unquoted(const std::string& json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  return parsed.is_string() ? parsed.get<std::string>() : json;
}

}  // namespace

Routine<bool> CallReader::object_call() {
  Members call;
  const bool good = co_await members(call, 0);
  if (!good || call.name.empty()) co_return false;
  if (bare_ && (!call.has_arguments || call.strange)) co_return false;
  if (!outbox_.in_call()) {
    if (bare_ && !tools_.empty() && !tools_.has(call.name)) co_return false;
    open(call.id, call.name);
  }
  co_return true;
}

// From '{' to '}'.
Routine<bool> CallReader::members(Members& call, int depth) {
  source_.take();
  for (bool first = true;; first = false) {
    co_await values_.blanks();
    int c = co_await source_.peek();
    if (!first && c == ',') {
      source_.take();
      co_await values_.blanks();
      c = co_await source_.peek();
    } else if (!first && c != '}') {
      co_return false;
    }
    if (c == '}') break;
    std::string key;
    const bool named = co_await values_.string(key);
    if (!named) co_return false;
    co_await values_.blanks();
    c = co_await source_.peek();
    if (c != ':') co_return false;
    source_.take();
    co_await values_.blanks();
    const std::string plain = unquoted(key);
    const bool read = co_await member(call, plain, depth);
    if (!read) co_return false;
  }
  source_.take();
  co_return true;
}

Routine<bool> CallReader::member(Members& call, const std::string& key, int depth) {
  const int c = co_await source_.peek();
  const bool text = c == '"' || c == '\'';
  if (call.name.empty() && text && (is_name_key(format_, key) || key == "function"))
    co_return co_await text_member(call.name);
  if (is_arguments_key(format_, key) && !call.has_arguments) co_return co_await arguments_member(call);
  if (call.id.empty() && is_id_key(format_, key)) co_return co_await text_member(call.id);
  if (key == "function" && c == '{' && depth < kMaxNested) co_return co_await members(call, depth + 1);
  if (format_.name_is_key && c == '{' && call.name.empty()) {
    call.name = key;
    co_return co_await arguments_member(call);
  }
  call.strange = call.strange || key != "type";
  // Bare JSON that is no call is found out at its first strange member, not at its end.
  if (bare_ && call.strange) co_return false;
  std::string unused;
  co_return co_await values_.value(unused);
}

Routine<bool> CallReader::text_member(std::string& out) {
  std::string json;
  const bool good = co_await values_.value(json);
  out = unquoted(json);
  co_return good;
}

// An object, sent on as it comes where all else is known; or a string with an object in it; or null.
Routine<bool> CallReader::arguments_member(Members& call) {
  call.has_arguments = true;
  const int c = co_await source_.peek();
  if (c == '{') {
    const bool known = !bare_ || tools_.empty() || tools_.has(call.name);
    if (!known && !call.name.empty()) co_return false;
    if (!call.name.empty() && !format_.id_last) open(call.id, call.name);
    co_return co_await values_.value(arguments_);
  }
  std::string json;
  const bool good = co_await values_.value(json);
  if (!good) co_return false;
  if (json == "null") co_return true;
  if (json[0] != '"') co_return false;
  const std::string inner = unquoted(json);
  if (trimmed(inner).empty()) co_return true;
  const std::optional<std::string> object = to_json(inner);
  if (!object || (*object)[0] != '{') co_return false;
  arguments_ = *object;
  co_return true;
}

}  // namespace brass::calls
