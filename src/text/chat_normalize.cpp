#include "text/chat_normalize.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "text/json_guard.h"

namespace brass {

using nlohmann::ordered_json;

namespace {

bool is_text_part(const ordered_json& part) {
  return part.is_object() && part.contains("text") && part["text"].is_string();
}

// The text of a content: a string, or the text parts of a list, one a line.
std::string text_of(const ordered_json& content) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return content.is_null() ? std::string() : json_text(content);
  std::string out;
  for (const ordered_json& part : content) {
    const std::string text = part.is_string()     ? part.get<std::string>()
                             : is_text_part(part) ? part["text"].get<std::string>()
                                                  : "";
    if (!out.empty() && !text.empty()) out += "\n";
    out += text;
  }
  return out;
}

std::string join_texts(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : a + "\n\n" + b;
}

// A content that holds both, lists of parts kept where there is one.
ordered_json join_contents(const ordered_json& a, const ordered_json& b) {
  if (!a.is_array() && !b.is_array()) return join_texts(text_of(a), text_of(b));
  ordered_json out = ordered_json::array();
  for (const ordered_json* content : {&a, &b}) {
    if (content->is_array()) {
      out.insert(out.end(), content->begin(), content->end());
    } else if (!text_of(*content).empty()) {
      out.push_back({{"type", "text"}, {"text", text_of(*content)}});
    }
  }
  return out;
}

bool has_calls(const ordered_json& message) {
  return message.contains("tool_calls") && message["tool_calls"].is_array() && !message["tool_calls"].empty();
}

ordered_json& function_of(ordered_json& call) {
  return call.contains("function") && call["function"].is_object() ? call["function"] : call;
}

// Nine letters and digits that stand for an id: itself where it fits, else a hash of it (FNV-1a).
std::string nine_characters(const std::string& id) {
  const auto alnum = [](char c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'); };
  if (id.size() == 9 && std::all_of(id.begin(), id.end(), alnum)) return id;
  uint64_t hash = 14695981039346656037u;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  std::string out;
  for (int i = 0; i < 9; i++, hash /= 36) out += "0123456789abcdefghijklmnopqrstuvwxyz"[hash % 36];
  return out;
}

class Normalizer {
 public:
  Normalizer(ChatTraits traits, Repair repair, std::vector<std::string>& notes)
      : traits_(traits), notes_(notes) {
    // Parts of a kind that the template refuses, or of which it shows only the first, and lists without a part.
    if (repair >= Repair::plain_contents)
      traits_.user_parts = traits_.system_parts = traits_.assistant_parts = traits_.tool_parts = false;
    if (repair >= Repair::merge_all) {
      traits_.user_after_user = traits_.assistant_after_assistant = traits_.assistant_first = false;
      traits_.later_system = traits_.other_roles = traits_.parallel_calls = traits_.content_with_calls =
          false;
    }
    if (repair >= Repair::calls_as_text) traits_.tool_calls = traits_.tool_results = false;
    if (repair >= Repair::users_only) traits_.system = false;
  }

  Result<ordered_json> run(const ordered_json& messages) {
    if (!messages.is_array()) return fail("messages must be a list, not {}", messages.type_name());
    for (size_t i = 0; i < messages.size(); i++) TRY(add(messages[i], i));
    place_systems();
    merge_neighbours();
    start_with_user();
    if (!traits_.strings) wrap();
    return std::move(out_);
  }

 private:
  Result<> add(const ordered_json& given, size_t index) {
    if (!given.is_object()) return fail("messages[{}] must be an object, not {}", index, given.type_name());
    if (!given.contains("role") || !given["role"].is_string())
      return fail("messages[{}].role must be a string", index);
    ordered_json message = given;
    modernize(message, index);
    TRY(set_content(message, index));
    if (message.contains("tool_calls") && message["tool_calls"].empty())
      message.erase("tool_calls");  // or null
    if (message.contains("reasoning_content") && message["reasoning_content"].is_null())
      message.erase("reasoning_content");
    std::string role = message["role"].get<std::string>();
    if (role == "developer") role = "system";
    if (role == "function") role = "tool";
    message["role"] = role;
    flatten(message, role, index);
    if (role == "tool") return add_result(std::move(message));
    if (role == "assistant" && has_calls(message)) return add_calls(std::move(message), index);
    const bool known = role == "system" || role == "user" || role == "assistant";
    if (!known && !traits_.other_roles) {
      message["role"] = "user";
      message["content"] = join_contents(role + ":", message["content"]);
    }
    out_.push_back(std::move(message));
    return {};
  }

  // One function_call, as clients wrote it before there were lists of calls, and its result, which has no id.
  void modernize(ordered_json& message, size_t index) {
    if (message.contains("function_call") && message["function_call"].is_object() && !has_calls(message)) {
      function_id_ = fmt::format("call_{}", index);
      message["tool_calls"] = ordered_json::array(
          {{{"id", function_id_}, {"type", "function"}, {"function", message["function_call"]}}});
    }
    message.erase("function_call");
    if (message["role"] == "function" && !message.contains("tool_call_id") && !function_id_.empty())
      message["tool_call_id"] = function_id_;
  }

  static Result<> set_content(ordered_json& message, size_t index) {
    if (!message.contains("content") || message["content"].is_null()) message["content"] = "";
    const ordered_json& content = message["content"];
    if (!content.is_string() && !content.is_array()) {
      return fail("messages[{}].content must be a string, a list of parts or null, not {}", index,
                  content.type_name());
    }
    if (content.is_array())  // a part that is a text alone
      for (ordered_json& part : message["content"])
        if (part.is_string()) part = {{"type", "text"}, {"text", part}};
    return {};
  }

  bool takes_parts(const std::string& role) const {
    return role == "system"      ? traits_.system_parts
           : role == "assistant" ? traits_.assistant_parts
           : role == "tool"      ? traits_.tool_parts
                                 : traits_.user_parts;
  }

  // Lists of parts become text where the template does not take them for this role.
  void flatten(ordered_json& message, const std::string& role, size_t index) {
    ordered_json& content = message["content"];
    if (!content.is_array() || takes_parts(role)) return;
    for (const ordered_json& part : content) {
      if (part.is_string() || is_text_part(part)) continue;
      const std::string type = part.is_object() && part.contains("type") && part["type"].is_string()
                                   ? part["type"].get<std::string>()
                                   : "unknown";
      notes_.push_back(fmt::format(
          "messages[{}].content: the template takes no part of type '{}'; it is left out", index, type));
    }
    content = text_of(content);
  }

  // Arguments in the form that the template prints.
  Result<> set_arguments(ordered_json& call, size_t index) {
    if (!call.is_object())
      return fail("messages[{}].tool_calls must hold objects, not {}", index, call.type_name());
    ordered_json& function = function_of(call);
    ordered_json& arguments = function["arguments"];
    if (arguments.is_null()) arguments = ordered_json::object();
    if (traits_.arguments_as_text) {
      if (!arguments.is_string()) arguments = json_text(arguments);
      return {};
    }
    if (!arguments.is_string()) return {};
    const std::string& text = arguments.get_ref<const std::string&>();
    Result<ordered_json> parsed = text.empty() ? ordered_json::object() : parse_json_exact(text);
    if (parsed && parsed->is_object())
      arguments = std::move(*parsed);  // else it is a text that is no JSON: as it is
    return {};
  }

  // functions.NAME:3, and results of the call find it.
  void name_id(ordered_json& call) {
    const auto text = [](const ordered_json& holder, const char* field) {
      return holder.contains(field) && holder[field].is_string() ? holder[field].get<std::string>() : "";
    };
    const std::string front = "functions." + text(function_of(call), "name") + ":";
    const std::string given = text(call, "id");
    const std::string id = given.starts_with(front) ? given : front + std::to_string(named_ids_);
    named_ids_++;
    call["id"] = id;
    renamed_[given] = id;
  }

  void set_id(ordered_json& holder, const char* field) const {
    if (traits_.ids_name_functions && holder.contains(field) && holder[field].is_string()) {
      const auto known = renamed_.find(holder[field].get<std::string>());
      if (known != renamed_.end()) holder[field] = known->second;
    }
    if (!traits_.nine_character_ids) return;
    const bool has = holder.contains(field) && holder[field].is_string();
    holder[field] = nine_characters(has ? holder[field].get<std::string>() : std::string("0"));
  }

  Result<> add_calls(ordered_json message, size_t index) {
    pending_.clear();
    for (ordered_json& call : message["tool_calls"]) {
      TRY(set_arguments(call, index));
      if (!call.contains("type") && call.contains("function")) call["type"] = "function";
      if (traits_.ids_name_functions)
        name_id(call);
      else
        set_id(call, "id");
    }
    if (!traits_.tool_calls) return add_calls_as_text(std::move(message));
    if (!traits_.content_with_calls && !text_of(message["content"]).empty()) {
      ordered_json said = {{"role", "assistant"}, {"content", message["content"]}};
      out_.push_back(std::move(said));
      message["content"] = "";
      apart_.push_back(out_.size());
    }
    if (traits_.null_with_calls && text_of(message["content"]).empty()) message["content"] = nullptr;
    if (traits_.parallel_calls || message["tool_calls"].size() == 1) {
      out_.push_back(std::move(message));
      return {};
    }
    split_calls(message);
    return {};
  }

  // One message for each call; results find their calls by id.
  void split_calls(const ordered_json& message) {
    bool first = true;
    for (const ordered_json& call : message["tool_calls"]) {
      ordered_json one = message;
      one["tool_calls"] = ordered_json::array({call});
      if (!first) {
        one["content"] = traits_.null_with_calls ? ordered_json() : ordered_json("");
        one.erase("reasoning_content");
        apart_.push_back(out_.size());
      }
      first = false;
      if (call.contains("id") && call["id"].is_string())
        pending_[call["id"].get<std::string>()] = out_.size();
      out_.push_back(std::move(one));
    }
  }

  Result<> add_calls_as_text(ordered_json message) {
    std::string text = text_of(message["content"]);
    for (ordered_json& call : message["tool_calls"]) {
      const ordered_json& function = function_of(call);
      ordered_json shown = {{"name", function.value("name", "")}, {"arguments", function["arguments"]}};
      text = join_texts(text, "<tool_call>\n" + json_text(shown) + "\n</tool_call>");
    }
    message.erase("tool_calls");
    message["content"] = text;
    out_.push_back(std::move(message));
    return {};
  }

  Result<> add_result(ordered_json message) {
    set_id(message, "tool_call_id");
    if (!traits_.tool_results || !follows_call()) {
      ordered_json said = {{"role", "user"}};
      said["content"] = "<tool_response>\n" + text_of(message["content"]) + "\n</tool_response>";
      out_.push_back(std::move(said));
      return {};
    }
    const auto it = message.contains("tool_call_id") && message["tool_call_id"].is_string()
                        ? pending_.find(message["tool_call_id"].get<std::string>())
                        : pending_.end();
    if (it == pending_.end()) {
      out_.push_back(std::move(message));
      return {};
    }
    // After the call that it answers, and the answers that are there already.
    size_t at = it->second + 1;
    while (at < out_.size() && out_[at]["role"] == "tool") at++;
    out_.insert(out_.begin() + static_cast<std::ptrdiff_t>(at), std::move(message));
    for (auto& [id, place] : pending_) place += place >= at;
    for (size_t& place : apart_) place += place >= at;
    return {};
  }

  // Whether a result has a call before it: templates refuse one out of nowhere.
  bool follows_call() const {
    for (size_t i = out_.size(); i-- > 0;) {
      if (has_calls(out_[i])) return true;
      if (out_[i]["role"] != "tool") return false;
    }
    return false;
  }

  // Systems at the start become one. Others stay where the template shows them there, else they join the
  // first.
  void place_systems() {
    ordered_json rest = ordered_json::array();
    ordered_json system;
    bool leading = true;
    std::vector<size_t> moved;  // where messages went, for apart_
    for (ordered_json& message : out_) {
      const bool is = message["role"] == "system";
      leading = leading && is;
      moved.push_back(rest.size());
      if (!is || (!leading && traits_.later_system)) {
        rest.push_back(std::move(message));
      } else if (system.is_null()) {
        system = std::move(message);
      } else {
        system["content"] = join_contents(system["content"], message["content"]);
      }
    }
    for (size_t& place : apart_) place = place < moved.size() ? moved[place] : rest.size();
    out_ = std::move(rest);
    if (system.is_null()) return;
    if (traits_.system) {
      insert_first(std::move(system));
      return;
    }
    // No place for a system: the first user hears it.
    const auto user =
        std::find_if(out_.begin(), out_.end(), [](const ordered_json& m) { return m["role"] == "user"; });
    if (user == out_.end() || user != out_.begin()) {
      system["role"] = "user";
      insert_first(std::move(system));
    } else if (!text_of(system["content"]).empty() || system["content"].is_array()) {
      (*user)["content"] = join_contents(system["content"], (*user)["content"]);
    }
  }

  void insert_first(ordered_json message) {
    out_.insert(out_.begin(), std::move(message));
    for (size_t& place : apart_) place++;
  }

  bool must_merge(const ordered_json& a, const ordered_json& b, size_t at) const {
    if (a["role"] != b["role"]) return false;
    if (a["role"] == "user") return !traits_.user_after_user;
    if (a["role"] != "assistant" || traits_.assistant_after_assistant) return false;
    // What was taken apart here because together it is not shown stays apart.
    return std::find(apart_.begin(), apart_.end(), at) == apart_.end();
  }

  void merge_neighbours() {
    ordered_json merged = ordered_json::array();
    for (size_t i = 0; i < out_.size(); i++) {
      ordered_json& message = out_[i];
      if (merged.empty() || !must_merge(merged.back(), message, i)) {
        merged.push_back(std::move(message));
        continue;
      }
      ordered_json& before = merged.back();
      before["content"] = join_contents(before["content"], message["content"]);
      if (message.contains("reasoning_content") && message["reasoning_content"].is_string())
        before["reasoning_content"] = join_texts(before.value("reasoning_content", ""),
                                                 message["reasoning_content"].get<std::string>());
      if (has_calls(message)) {
        if (!has_calls(before)) before["tool_calls"] = ordered_json::array();
        for (ordered_json& call : message["tool_calls"]) before["tool_calls"].push_back(std::move(call));
      }
    }
    out_ = std::move(merged);
  }

  void start_with_user() {
    if (traits_.assistant_first) return;
    const size_t first = !out_.empty() && out_[0]["role"] == "system" ? 1 : 0;
    if (first >= out_.size() || out_[first]["role"] != "assistant") return;
    const ordered_json nothing = {{"role", "user"}, {"content", ""}};
    out_.insert(out_.begin() + static_cast<std::ptrdiff_t>(first), nothing);
  }

  void wrap() {
    for (ordered_json& message : out_) {
      ordered_json& content = message["content"];
      if (content.is_string()) content = ordered_json::array({{{"type", "text"}, {"text", content}}});
    }
  }

  ChatTraits traits_;
  std::vector<std::string>& notes_;
  ordered_json out_ = ordered_json::array();
  std::map<std::string, size_t> pending_;       // id of a call that was split off → its message
  std::map<std::string, std::string> renamed_;  // ids as given → as the template wants them
  int named_ids_ = 0;
  std::string function_id_;    // of the last function_call
  std::vector<size_t> apart_;  // messages that were split from the one before
};

}  // namespace

Result<ordered_json> normalize(const ordered_json& messages, ChatTraits traits, Repair repair,
                               std::vector<std::string>& notes) {
  try {
    return Normalizer(traits, repair, notes).run(messages);
  } catch (const ordered_json::exception& e) {
    return fail("messages: {}", e.what());
  }
}

ordered_json normalize_tools(const ordered_json& tools, Repair repair) {
  if (repair < Repair::complete_tools) return tools;
  if (tools.is_null()) return ordered_json::array();
  if (!tools.is_array()) return tools;
  ordered_json out = tools;
  for (ordered_json& tool : out) {
    if (!tool.is_object()) continue;
    if (!tool.contains("function") && tool.contains("name"))
      tool = {{"type", "function"}, {"function", tool}};
    if (!tool.contains("function") || !tool["function"].is_object()) continue;
    ordered_json& function = tool["function"];
    if (!function.contains("description") || function["description"].is_null()) function["description"] = "";
    ordered_json& parameters = function["parameters"];
    if (!parameters.is_object()) parameters = ordered_json::object();
    if (!parameters.contains("type")) parameters["type"] = "object";
    if (!parameters.contains("properties")) parameters["properties"] = ordered_json::object();
  }
  return out;
}

ordered_json without_null_types(ordered_json tools) {
  if (!tools.is_structured()) return tools;
  for (ordered_json& inner : tools) inner = without_null_types(std::move(inner));
  const auto type = tools.is_object() ? tools.find("type") : tools.end();
  if (type == tools.end()) return tools;
  if (type->is_array()) {
    std::erase_if(type->get_ref<ordered_json::array_t&>(),
                  [](const ordered_json& one) { return one == "null"; });
    if (type->size() == 1) *type = ordered_json(type->front());
  }
  if (*type == "null" || (type->is_array() && type->empty())) tools.erase("type");
  return tools;
}

}  // namespace brass
