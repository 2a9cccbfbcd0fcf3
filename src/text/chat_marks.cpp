#include "text/chat_marks.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/jinja_json.h"

namespace brass {

using nlohmann::ordered_json;

Result<jinja::Rendered> render_messages(const jinja::Template& source, const ordered_json& messages,
                                        const ordered_json& tools, const ChatOptions& options) {
  using jinja::Value;
  const auto context = jinja::frozen_dict();
  const auto set = [&](std::string_view name, Value value) {
    context->set(jinja::frozen_string(name, true), std::move(value));
  };
  set("messages", jinja::from_json(messages));
  set("tools", jinja::from_json(tools));
  set("documents", Value::none());
  set("add_generation_prompt", Value::boolean(options.add_generation_prompt));
  set("bos_token", jinja::frozen_string(options.bos_token, true));
  set("eos_token", jinja::frozen_string(options.eos_token, true));
  if (options.extra_vars != nullptr) {
    if (!options.extra_vars->is_object()) return fail("the variables of a template must be a JSON object");
    for (const auto& [name, value] : options.extra_vars->items()) set(name, jinja::from_json(value));
  }
  jinja::RenderOptions render;
  render.clock = options.clock;
  return source.render(Value::dict(context), render);
}

namespace {

bool blank(const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

class Marker {
 public:
  explicit Marker(ordered_json& messages) {
    for (message_ = 0; message_ < messages.size(); message_++) {
      ordered_json& message = messages[message_];
      if (!message.is_object()) continue;
      if (message.contains("content")) content(message["content"]);
      if (!message.contains("tool_calls") || !message["tool_calls"].is_array()) continue;
      for (ordered_json& call : message["tool_calls"]) arguments(call);
    }
  }
  std::vector<Mark> take() && { return std::move(marks_); }

 private:
  void put(ordered_json& text, const char* part) {
    if (!text.is_string() || blank(text.get_ref<const std::string&>())) return;
    marks_.push_back({fmt::format("qmark{}q", marks_.size()), message_, part});
    text = marks_.back().text;
  }
  void content(ordered_json& content) {
    put(content, "content");
    if (!content.is_array()) return;
    for (ordered_json& part : content) {
      if (part.is_object() && part.contains("text")) put(part["text"], "content");
    }
  }
  void arguments(ordered_json& call) {
    if (!call.is_object()) return;
    ordered_json& function =
        call.contains("function") && call["function"].is_object() ? call["function"] : call;
    if (!function.contains("arguments")) return;
    ordered_json& given = function["arguments"];
    if (!given.is_string()) return leaves(given);
    // Arguments as text stay JSON.
    ordered_json parsed = ordered_json::parse(given.get_ref<const std::string&>(), nullptr, false);
    if (parsed.is_discarded()) return;
    leaves(parsed);
    given = parsed.dump();
  }
  void leaves(ordered_json& value) {
    put(value, "tool call");
    if (!value.is_structured()) return;
    for (ordered_json& item : value) leaves(item);
  }

  size_t message_ = 0;
  std::vector<Mark> marks_;
};

}  // namespace

std::vector<Mark> put_marks(ordered_json& messages) { return Marker(messages).take(); }

std::vector<Mark> missing_marks(const std::vector<Mark>& marks, std::string_view rendered) {
  std::vector<Mark> out;
  std::copy_if(marks.begin(), marks.end(), std::back_inserter(out),
               [&](const Mark& mark) { return rendered.find(mark.text) == std::string_view::npos; });
  return out;
}

}  // namespace brass
