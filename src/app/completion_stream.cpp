#include "app/completion_stream.h"

#include <nlohmann/json.hpp>

namespace brass::app {
namespace {

using Json = nlohmann::json;

const Json* find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

void read_count(const Json& object, const char* key, std::optional<uint32_t>& to) {
  const Json* value = find(object, key);
  if (value != nullptr && value->is_number_integer() && value->get<int64_t>() >= 0 &&
      value->get<int64_t>() <= UINT32_MAX)
    to = static_cast<uint32_t>(value->get<int64_t>());
}

// Visible text, or reasoning under either of its usual names.
std::string text_of(const Json& choice) {
  std::string text;
  if (const Json* plain = find(choice, "text"); plain != nullptr && plain->is_string())
    text += plain->get<std::string>();
  if (const Json* delta = find(choice, "delta"))
    for (const char* key : {"reasoning_content", "reasoning", "content"})
      if (const Json* part = find(*delta, key); part != nullptr && part->is_string())
        text += part->get<std::string>();
  return text;
}

}  // namespace

// An event is lines "data: …" up to an empty line (WHATWG HTML, server-sent events).
void CompletionStream::push(std::string_view bytes, double seconds) {
  for (const char c : bytes) {
    if (c == '\r') continue;
    if (c != '\n') {
      line_ += c;
      continue;
    }
    if (line_.empty()) {
      if (!data_.empty()) event(data_, seconds);
      data_.clear();
    } else if (line_.starts_with("data:")) {
      if (!data_.empty()) data_ += '\n';
      data_ += line_.substr(line_.starts_with("data: ") ? 6 : 5);
    }
    line_.clear();
  }
}

void CompletionStream::event(std::string_view data, double seconds) {
  if (data == "[DONE]") return;
  const Json json = Json::parse(data, nullptr, false);
  if (!json.is_object()) {
    error_ = "the stream holds an event that is no JSON object";
    return;
  }
  if (const Json* error = find(json, "error")) {
    const Json* message = find(*error, "message");
    error_ = message != nullptr && message->is_string() ? message->get<std::string>() : error->dump();
    return;
  }
  if (const Json* usage = find(json, "usage")) {
    read_count(*usage, "prompt_tokens", prompt_tokens_);
    read_count(*usage, "completion_tokens", completion_tokens_);
    if (const Json* details = find(*usage, "prompt_tokens_details"))
      read_count(*details, "cached_tokens", cached_tokens_);
  }
  const Json* choices = find(json, "choices");
  if (choices == nullptr || !choices->is_array()) return;
  for (const Json& choice : *choices) {
    const std::string text = text_of(choice);
    if (text.empty()) continue;
    text_ += text;
    times_.push_back(seconds);
  }
}

Result<> CompletionStream::finish() const {
  if (!error_.empty()) return fail("the server ended the reply: {}", error_);
  if (times_.empty()) return fail("the reply holds no text");
  return {};
}

uint32_t CompletionStream::reply_tokens() const {
  return completion_tokens_.value_or(static_cast<uint32_t>(times_.size()));
}

}  // namespace brass::app
