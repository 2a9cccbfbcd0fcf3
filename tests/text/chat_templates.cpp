// Published templates × conversations: raw rendering against Jinja2's, normalized rendering against what may
// not get lost.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "shared_data.h"
#include "source_dir.h"
#include "text/chat.h"
#include "text/jinja_support.h"

namespace brass {
namespace {

using nlohmann::ordered_json;

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

ordered_json fixture(const char* name) {
  const auto json = parse_json(read(source_dir() + "/tests/text/fixtures/" + name));
  EXPECT_TRUE(json) << name;
  return json ? *json : ordered_json();
}

void add_templates(const std::filesystem::path& folder, std::map<std::string, std::string>& out) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".jinja")
      out[entry.path().filename().string()] = read(entry.path().string());
  }
}

// Published ones, and our own.
std::map<std::string, std::string> templates() {
  std::map<std::string, std::string> out;
  add_templates(source_dir() + "/tests/text/fixtures/templates", out);
  if (const auto folder = shared_data("templates")) add_templates(*folder, out);
  return out;
}

std::string fnv1a(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("{:016x}", hash);
}

constexpr int64_t kClock = 1234567890;

TEST(ChatTemplates, RawRendersEqualJinja2) {
  const ordered_json conversations = fixture("chat_conversations.json"),
                     renders = fixture("chat_renders.json");
  jinja::RenderOptions options;
  options.clock = kClock;
  size_t checked = 0;
  for (const auto& [name, source] : templates()) {
    ASSERT_TRUE(renders.contains(name)) << name << " has no fixture: run tools/oracles/jinja_fixtures.py";
    const auto parsed = jinja::Template::parse(source);
    ASSERT_TRUE(parsed) << name << ": " << parsed.error().message;
    for (size_t i = 0; i < conversations.size(); i++) {
      const auto context = jinja::context_from_json(conversations[i]["context"]);
      ASSERT_TRUE(context);
      const auto rendered = (*parsed)->render(*context, options);
      EXPECT_EQ(rendered ? fnv1a(rendered->text) : "error", renders[name][i].get<std::string>())
          << name << ": " << conversations[i]["name"] << (rendered ? "" : ": " + rendered.error().message);
      checked++;
    }
  }
  std::printf("%zu renders compared\n", checked);
}

// Every text in the messages, except reasoning, which templates drop on purpose.
std::vector<std::string> texts_of(const ordered_json& messages) {
  std::vector<std::string> out;
  const auto add = [&](const ordered_json& text) {
    if (!text.is_string()) return;
    std::string trimmed = text.get<std::string>();
    const size_t first = trimmed.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) return;
    trimmed = trimmed.substr(first, trimmed.find_last_not_of(" \t\r\n") - first + 1);
    out.push_back(trimmed);
  };
  for (const ordered_json& message : messages) {
    const ordered_json content = message.value("content", ordered_json());
    add(content);
    if (content.is_array()) {
      for (const ordered_json& part : content) add(part.value("text", ordered_json()));
    }
  }
  return out;
}

// Conversations that hold no message, or contents that no chat API knows.
bool is_beyond_repair(const std::string& name) {
  return name == "no messages" || name == "numbers as content";
}
// Some of our own templates show texts cut or indented: what they are for is the language.
bool changes_texts(const std::string& name) {
  return name == "arithmetic.jinja" || name == "call-blocks.jinja" || name == "documents-first.jinja" ||
         name == "numbered-turns.jinja" || name == "slots-and-strings.jinja";
}
// Templates cut these out of replies, as their makers meant it.
bool is_cut_on_purpose(const std::string& text) { return text.find("<think>") != std::string::npos; }

TEST(ChatTemplates, NormalizedRendersLoseNothing) {
  const ordered_json conversations = fixture("chat_conversations.json");
  size_t checked = 0;
  for (const auto& [name, source] : templates()) {
    if (changes_texts(name)) continue;
    const auto chat = ChatTemplate::load(source);
    ASSERT_TRUE(chat) << name;
    for (const ordered_json& conversation : conversations) {
      const std::string title = conversation["name"].get<std::string>();
      if (is_beyond_repair(title)) continue;
      const ordered_json& context = conversation["context"];
      ordered_json more = context;
      for (const char* own : {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"})
        more.erase(own);
      std::vector<std::string> warnings;
      ChatOptions options;
      options.add_generation_prompt = context["add_generation_prompt"].get<bool>();
      options.bos_token = context["bos_token"].get<std::string>();
      options.eos_token = context["eos_token"].get<std::string>();
      options.extra_vars = &more;
      options.clock = kClock;
      options.warnings = &warnings;
      const auto rendered = (*chat)->render(context["messages"], context["tools"], options);
      // Command R7B's template fails on documents without tools, in Jinja2 too: no shape of the messages helps.
      if (!rendered && title == "documents" && name.starts_with("CohereForAI")) continue;
      if (!rendered) {
        ADD_FAILURE() << name << ": " << title << ": " << rendered.error().message;
        continue;
      }
      for (const std::string& text : texts_of(context["messages"])) {
        if (is_cut_on_purpose(text)) continue;
        // As it is, or inside a JSON string, where a template writes results so.
        const std::string escaped = ordered_json(text).dump();
        EXPECT_TRUE(rendered->text.find(text) != std::string::npos ||
                    rendered->text.find(escaped.substr(1, escaped.size() - 2)) != std::string::npos)
            << name << ": " << title << " lost: " << text;
      }
      for (const std::string& warning : warnings) {
        EXPECT_EQ(warning.find("does not show the"), std::string::npos)
            << name << ": " << title << ": " << warning;
      }
      checked++;
    }
  }
  std::printf("%zu normalized renders\n", checked);
}

}  // namespace
}  // namespace brass
