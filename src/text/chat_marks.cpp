#include "text/chat_marks.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/jinja_json.h"

namespace brass {

using nlohmann::ordered_json;

Result<jinja::Rendered> render_messages(const jinja::Template& source, const ordered_json& messages,
                                        const ordered_json& tools, const ChatOptions& options,
                                        NumberedTexts* texts) {
  using jinja::Value;
  const auto context = jinja::frozen_dict();
  const auto set = [&](std::string_view name, Value value) {
    context->set(jinja::frozen_string(name, true), std::move(value));
  };
  set("messages", jinja::from_json(messages, texts != nullptr ? &texts->numbers : nullptr));
  const Value offered = jinja::from_json(tools);
  set("tools", offered);
  const auto given = [&](const char* name) {
    return options.extra_vars != nullptr && options.extra_vars->is_object() &&
           options.extra_vars->contains(name);
  };
  // SmolLM3's template knows tools by names of its own.
  if (options.normalize && !tools.is_null() && !given("python_tools")) set("xml_tools", offered);
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
  if (texts != nullptr) {
    texts->shown.assign(texts->sizes.size(), 0);
    render.shown = &texts->shown;
  }
  return source.render(Value::dict(context), render);
}

namespace {

constexpr const char* kBlanks = " \t\r\n";

bool is_text(const ordered_json& value) {
  return value.is_string() &&
         value.get_ref<const std::string&>().find_first_not_of(kBlanks) != std::string::npos;
}

// Calls visit.text(value, message, part) for every text of a conversation, and visit.json(value, message) for
// arguments that are a JSON text.
template <class Json, class Visit>
class TextWalk {
 public:
  TextWalk(Json& messages, Visit& visit) : visit_(visit) {
    for (message_ = 0; message_ < messages.size(); message_++) {
      Json& message = messages[message_];
      if (!message.is_object()) continue;
      if (message.contains("content")) content(message["content"]);
      if (!message.contains("tool_calls") || !message["tool_calls"].is_array()) continue;
      for (Json& call : message["tool_calls"]) arguments(call);
    }
  }

 private:
  void put(Json& value, const char* part) {
    if (is_text(value)) visit_.text(value, message_, part);
  }
  void content(Json& content) {
    put(content, "content");
    if (!content.is_array()) return;
    for (Json& part : content) {
      if (part.is_object() && part.contains("text")) put(part["text"], "content");
    }
  }
  void arguments(Json& call) {
    if (!call.is_object()) return;
    Json& function = call.contains("function") && call["function"].is_object() ? call["function"] : call;
    if (!function.contains("arguments")) return;
    Json& given = function["arguments"];
    given.is_string() ? visit_.json(given, message_) : leaves(given);
  }
  void leaves(Json& value) {
    put(value, "tool call");
    if (!value.is_structured()) return;
    for (Json& item : value) leaves(item);
  }

  Visit& visit_;
  size_t message_ = 0;
};

struct Marker {
  std::vector<Mark> marks;

  void text(ordered_json& value, size_t message, const char* part) {
    marks.push_back({fmt::format("qmark{}q", marks.size()), message, part});
    value = marks.back().text;
  }
  void json(ordered_json& value, size_t message) {
    ordered_json parsed = ordered_json::parse(value.get_ref<const std::string&>(), nullptr, false);
    if (parsed.is_discarded()) return;
    leaves(parsed, message);
    value = parsed.dump();
  }
  void leaves(ordered_json& value, size_t message) {
    if (is_text(value)) text(value, message, "tool call");
    if (!value.is_structured()) return;
    for (ordered_json& item : value) leaves(item, message);
  }
};

struct Numberer {
  NumberedTexts out;

  void text(const ordered_json& value, size_t, const char*) {
    const std::string& text = value.get_ref<const std::string&>();
    out.numbers.emplace(&value, jinja::kFirstNumbered + static_cast<uint32_t>(out.sizes.size()));
    out.sizes.push_back(text.find_last_not_of(kBlanks) + 1 - text.find_first_not_of(kBlanks));
  }
  void json(const ordered_json& value, size_t message) {
    if (is_text(value)) text(value, message, "tool call");
  }
};

}  // namespace

std::vector<Mark> put_marks(ordered_json& messages) {
  Marker marker;
  TextWalk<ordered_json, Marker>(messages, marker);
  return std::move(marker.marks);
}

NumberedTexts number_texts(const ordered_json& messages) {
  Numberer numberer;
  TextWalk<const ordered_json, Numberer>(messages, numberer);
  return std::move(numberer.out);
}

bool NumberedTexts::all_shown() const {
  for (size_t i = 0; i < sizes.size(); i++)
    if (shown[i] < sizes[i]) return false;
  return true;
}

std::vector<Mark> missing_marks(const std::vector<Mark>& marks, std::string_view rendered) {
  std::vector<Mark> out;
  std::copy_if(marks.begin(), marks.end(), std::back_inserter(out),
               [&](const Mark& mark) { return rendered.find(mark.text) == std::string_view::npos; });
  return out;
}

}  // namespace brass
