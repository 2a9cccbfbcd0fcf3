#include <nlohmann/json.hpp>

#include "text/chat_marks.h"
#include "text/chat_traits.h"

namespace brass {

using nlohmann::ordered_json;

namespace {

constexpr const char* kId = "a1b2c3d4e";  // nine characters: Mistral's templates take no others

ordered_json say(const char* role, ordered_json content) {
  return {{"role", role}, {"content", std::move(content)}};
}
ordered_json user(const char* text) { return say("user", text); }
ordered_json assistant(const char* text) { return say("assistant", text); }
ordered_json parts(const char* text) { return ordered_json::array({{{"type", "text"}, {"text", text}}}); }

ordered_json call(const char* id, const char* text, bool as_text) {
  ordered_json arguments = {{"qkey", text}};
  if (as_text) arguments = arguments.dump();
  return {{"id", id},
          {"type", "function"},
          {"function", {{"name", "qtool"}, {"arguments", std::move(arguments)}}}};
}
ordered_json result(const char* id, ordered_json content) {
  return {{"role", "tool"}, {"tool_call_id", id}, {"name", "qtool"}, {"content", std::move(content)}};
}

ordered_json definitions() {
  const ordered_json parameters = {
      {"type", "object"},
      {"properties", {{"qkey", {{"type", "string"}, {"description", "A key."}}}}},
      {"required", {"qkey"}}};
  const ordered_json function = {
      {"name", "qtool"}, {"description", "qdescription"}, {"parameters", parameters}};
  return ordered_json::array({{{"type", "function"}, {"function", function}}});
}

class Probe {
 public:
  explicit Probe(const jinja::Template& source) : source_(source) {}

  ChatTraits run() {
    find_content();
    find_roles();
    find_tools();
    return traits_;
  }

 private:
  // Whether the conversation renders and shows all of its texts; the text is kept.
  bool shows(ordered_json messages, const ordered_json& tools = nullptr) {
    if (!traits_.strings) wrap(messages);
    const std::vector<Mark> marks = put_marks(messages);
    ChatOptions options;
    options.clock = 0;
    const auto rendered = render_messages(source_, messages, tools, options);
    text_ = rendered ? rendered->text : std::string();
    return rendered && missing_marks(marks, text_).empty();
  }
  static void wrap(ordered_json& messages) {
    for (ordered_json& message : messages) {
      if (message["content"].is_string())
        message["content"] = parts(message["content"].get<std::string>().c_str());
    }
  }

  // Parts count as taken if they come out as text, not as Python writes a list.
  bool shows_parts(ordered_json messages) {
    return shows(std::move(messages)) && text_.find("'text'") == std::string::npos &&
           text_.find("\"text\"") == std::string::npos;
  }

  void find_content() {
    traits_.strings = shows(ordered_json::array({user("x")}));
    traits_.user_parts = shows_parts(ordered_json::array({say("user", parts("x"))}));
    if (!traits_.strings && !traits_.user_parts) traits_.strings = true;  // neither: no use in parts
    traits_.system_parts = shows_parts(ordered_json::array({say("system", parts("x")), user("y")}));
    traits_.assistant_parts =
        shows_parts(ordered_json::array({user("x"), say("assistant", parts("y")), user("z")}));
  }

  void find_roles() {
    traits_.system = shows(ordered_json::array({say("system", "x"), user("y")}));
    traits_.later_system =
        shows(ordered_json::array({user("x"), assistant("y"), say("system", "z"), user("w")})) &&
        shows(ordered_json::array(
            {say("system", "v"), user("x"), assistant("y"), say("system", "z"), user("w")}));
    traits_.user_after_user = shows(ordered_json::array({user("x"), user("y")}));
    traits_.assistant_after_assistant =
        shows(ordered_json::array({user("x"), assistant("y"), assistant("z"), user("w")}));
    traits_.assistant_first = shows(ordered_json::array({assistant("x"), user("y")}));
    traits_.other_roles = shows(ordered_json::array({user("x"), say("qrole", "y"), user("z")}));
  }

  ordered_json called(const char* id, ordered_json content, bool as_text) {
    ordered_json message = say("assistant", std::move(content));
    message["tool_calls"] = ordered_json::array({call(id, "x", as_text)});
    return message;
  }

  // How well calls of this form come out: 0 not, 1 with arguments in a form that the model never saw, 2 well.
  int quality(const ordered_json& messages, bool as_text) {
    // The name or, where a template takes it from there, the id.
    const bool rendered = shows(messages, tools_);
    const size_t call = rendered ? text_.find("qmark0q") : std::string::npos;
    if (!rendered ||
        (text_.find("qtool", call) == std::string::npos && text_.find(kId, call) == std::string::npos))
      return 0;
    const bool repr = text_.find("'qkey'") != std::string::npos;
    const bool twice = as_text && text_.find("\\\"qkey") != std::string::npos;
    return repr || twice ? 1 : 2;
  }

  void find_tools() {
    traits_.tools =
        shows(ordered_json::array({user("x")}), tools_) && text_.find("qtool") != std::string::npos;
    if (!traits_.tools) tools_ = nullptr;
    int best = 0;
    for (const bool with_result : {true, false}) {
      for (const int floor : {2, 1}) {
        for (const bool as_text : {false, true}) {
          for (const bool null : {false, true}) {
            ordered_json messages = ordered_json::array(
                {user("x"), called(kId, null ? ordered_json() : ordered_json(""), as_text)});
            if (with_result) messages.push_back(result(kId, "y"));
            if (best > 0 || quality(messages, as_text) < floor) continue;
            best = floor;
            traits_.tool_calls = true;
            traits_.tool_results = with_result;
            traits_.arguments_as_text = as_text;
            traits_.null_with_calls = null;
          }
        }
      }
    }
    if (traits_.tool_calls) find_call_details();
  }

  void find_call_details() {
    const bool as_text = traits_.arguments_as_text;
    const ordered_json empty = traits_.null_with_calls ? ordered_json() : ordered_json("");
    const auto with_result = [&](ordered_json message, ordered_json content, const char* id) {
      ordered_json messages = ordered_json::array({user("x"), std::move(message)});
      if (traits_.tool_results) messages.push_back(result(id, std::move(content)));
      return messages;
    };
    traits_.content_with_calls = shows(with_result(called(kId, "y", as_text), "z", kId), tools_);
    traits_.nine_character_ids = !shows(with_result(called("call_1", empty, as_text), "z", "call_1"), tools_);
    traits_.ids_name_functions = shows(ordered_json::array({user("x"), called(kId, empty, as_text)})) &&
                                 text_.find(kId) != std::string::npos &&
                                 text_.find("qtool") == std::string::npos;
    traits_.tool_parts =
        traits_.tool_results && shows_parts(with_result(called(kId, empty, as_text), parts("z"), kId));
    ordered_json two = called(kId, empty, as_text);
    two["tool_calls"].push_back(call("f6g7h8i9j", "w", as_text));
    ordered_json messages = with_result(std::move(two), "z", kId);
    if (traits_.tool_results) messages.push_back(result("f6g7h8i9j", "v"));
    traits_.parallel_calls = shows(std::move(messages), tools_);
  }

  const jinja::Template& source_;
  ordered_json tools_ = definitions();
  ChatTraits traits_;
  std::string text_;
};

}  // namespace

ChatTraits probe(const jinja::Template& source) { return Probe(source).run(); }

}  // namespace brass
