// What a template writes for a message with calls, read back: the same message, however the text is cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/rng.h"
#include "calls/renders.h"
#include "calls/streamed.h"
#include "sanitized.h"
#include "text/calls/detect.h"

namespace brass::calls {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct Exception {
  const char *template_name, *case_name, *why;  // "*": all
};

// What a template cannot say.
constexpr Exception kExceptions[] = {
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "text before",
     "writes the text as a turn of its own behind the calls"},
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "reasoning and text", "the same"},
};

const Exception* exception(std::string_view template_name, std::string_view case_name) {
  for (const Exception& e : kExceptions)
    if (template_name == e.template_name &&
        (case_name == e.case_name || std::string_view(e.case_name) == "*"))
      return &e;
  return nullptr;
}

// "" where the message is the case's; else what is not.
std::string difference(const Case& given, const ParsedMessage& got, const std::string& turn) {
  if (got.calls.size() != given.calls.size())
    return fmt::format("{} calls, not {}", got.calls.size(), given.calls.size());
  std::set<std::string> ids;
  for (size_t i = 0; i < got.calls.size(); i++) {
    const auto& [name, arguments] = given.calls[i];
    const ParsedCall& call = got.calls[i];
    if (call.name != name) return "name " + call.name;
    if (json::parse(call.arguments, nullptr, false) != json::parse(arguments.dump()))
      return fmt::format("arguments {} not {}", call.arguments, arguments.dump());
    if (!ids.insert(call.id).second) return "id " + call.id + " twice";
    const std::string id = fmt::format("call0000{}", i);
    if (turn.find(id) != std::string::npos && call.id != id) return "id " + call.id;
  }
  const bool said = !given.content.empty() && turn.find(given.content) != std::string::npos;
  const bool thought = !given.reasoning.empty() && turn.find(given.reasoning) != std::string::npos;
  // Harmony's template writes the text beside a call as analysis.
  const bool as_reasoning = said && got.content.empty() && got.reasoning == given.content;
  if (got.content != (said && !as_reasoning ? given.content : "")) return "content '" + got.content + "'";
  if (thought && got.reasoning != given.reasoning) return "reasoning '" + got.reasoning + "'";
  return "";
}

void check_cuts(const ReplyForm& form, const ToolSet& set, const std::string& turn, bool inside,
                const ParsedMessage& whole, Rng& rng) {
  const ParserOptions options{inside, 0};
  std::vector<std::vector<size_t>> cuts;
  std::vector<size_t> all;
  for (size_t i = 1; i < turn.size(); i++) all.push_back(i);
  cuts.push_back(all);
  const size_t step = turn.size() <= 200 ? 1 : turn.size() / 16;
  for (size_t i = 1; i < turn.size(); i += step) cuts.push_back({i});
  for (int round = 0; round < 4; round++) {
    std::vector<size_t> some;
    for (int i = 0; i < 5; i++) some.push_back(rng.below(turn.size() + 1));
    std::sort(some.begin(), some.end());
    cuts.push_back(some);
  }
  for (const auto& cut : cuts) {
    const ParsedMessage got = stream(form.format, set, options, turn, cut);
    ASSERT_EQ(text_of(got), text_of(whole)) << turn;
  }
}

struct Counts {
  size_t checked = 0, excepted = 0;
};

void check_template(const std::string& name, const ChatTemplate& source, const ReplyForm& form, Rng& rng,
                    Counts& counts) {
  const ordered_json definitions = tools();
  const ToolSet set(definitions);
  const ordered_json before = ordered_json::array({{{"role", "user"}, {"content", "What is up?"}}});
  ChatOptions options;
  options.clock = 0;
  for (const Case& given : cases()) {
    // One call a message, no text beside calls: the conversation is given in other shapes then.
    if (given.calls.size() > 1 && !source.traits().parallel_calls) continue;
    if (!given.content.empty() && !source.traits().content_with_calls) continue;
    const auto turn = render_turn(source, before, message_of(given), definitions, options);
    if (!turn) {
      ADD_FAILURE() << name << ": " << given.name << ": does not render";
      continue;
    }
    // The turn begins where it parts from the prompt: inside reasoning, if the fence's end comes first.
    const Fence& fence = form.format.reasoning;
    const bool inside = !fence.end.empty() && turn->find(fence.end) < turn->find(fence.begin);
    const ParsedMessage got = parse_reply(form.format, set, {inside, 0}, *turn);
    const std::string wrong = difference(given, got, *turn);
    const Exception* expected = exception(name, given.name);
    EXPECT_EQ(wrong.empty(), expected == nullptr)
        << name << " (" << form.format.family << "): " << given.name << ": " << wrong << "\n"
        << *turn;
    counts.excepted += expected != nullptr;
    counts.checked++;
    check_cuts(form, set, *turn, inside, got, rng);
  }
}

const char* word(Found found) {
  constexpr const char* kWords[] = {"table, read back", "template", "table, named", "default"};
  return kWords[static_cast<int>(found)];
}

TEST(RenderParse, EveryTemplateReadsBack) {
  Rng rng(5);
  Counts counts;
  size_t turn = 0;
  for (const auto& [name, source] : templates()) {
    if (kSanitized && turn++ % 4 != 0) continue;
    const auto loaded = ChatTemplate::load(source);
    ASSERT_TRUE(loaded) << name;
    const ReplyForm form = find_format(**loaded, {});
    std::printf("%-60s %s (%s)%s\n", name.c_str(), form.format.family.c_str(), word(form.found),
                form.in_reasoning ? ", in reasoning" : "");
    if ((*loaded)->traits().tool_calls) check_template(name, **loaded, form, rng, counts);
  }
  std::printf("%zu renders read back, %zu that templates cannot express\n", counts.checked, counts.excepted);
}

// The same templates with marks that nobody knows: families that are not in the table.
TEST(RenderParse, UnknownFamiliesAreLearned) {
  constexpr std::pair<std::string_view, std::string_view> kMarks[] = {
      {"<tool_call>", "<do_it>"},
      {"</tool_call>", "</do_it>"},
      {"seed:tool_call", "plant:do"},
      {"minimax:tool_call", "max:do"},
      {"<|tool_call", "<|doing"},
      {"<tool_call|>", "<doing|>"},
      {"<function=", "<fn="},
      {"</function>", "</fn>"},
      {"<parameter=", "<param="},
      {"</parameter>", "</param>"},
      {"<parameter name", "<value of"},
      {"<invoke name", "<run what"},
      {"</invoke>", "</run>"},
      {"arg_key", "k"},
      {"arg_value", "v"},
      {"START_ACTION", "DO"},
      {"END_ACTION", "DONE"},
      {"tools_prefix", "calls_open"},
      {"tools_suffix", "calls_close"},
      {"tool▁call", "do▁it"},
      {"tool▁sep", "do▁sep"},
      {"call:", "run:"},
      {"[TOOL_CALLS]", "[DO]"},
      {"[ARGS]", "[WITH]"},
      {"[CALL_ID]", "[NUMBER]"},
      {"tool_name", "what"},
      {"\"parameters\": {{ tc", "\"with\": {{ tc"}};
  const std::set<std::string> by_hand = {
      "openai-gpt-oss-120b", "meta-llama-Llama-3.1-8B-Instruct", "meta-llama-Llama-3.3-70B-Instruct",
      "mistralai-Mistral-Nemo-Instruct-2407", "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B"};
  Rng rng(6);
  Counts counts;
  size_t learned = 0;
  for (auto [name, source] : templates()) {
    if (by_hand.contains(name)) continue;
    for (const auto& [from, to] : kMarks)
      for (size_t at = 0; (at = source.find(from, at)) != std::string::npos; at += to.size())
        source.replace(at, from.size(), to);
    const auto loaded = ChatTemplate::load(source);
    ASSERT_TRUE(loaded) << name;
    if (!(*loaded)->traits().tool_calls) continue;
    const ReplyForm form = find_format(**loaded, {});
    std::printf("%-60s %s: section '%s' '%s' call '%s' '%s' name '%s' '%s'\n", name.c_str(), word(form.found),
                form.format.section_begin.c_str(), form.format.section_end.c_str(),
                form.format.call_begin.c_str(), form.format.call_end.c_str(), form.format.name_begin.c_str(),
                form.format.name_end.c_str());
    EXPECT_EQ(form.found, Found::kTemplate) << name;
    if (form.found != Found::kTemplate) continue;
    check_template(name, **loaded, form, rng, counts);
    learned++;
  }
  std::printf("%zu formats learned, %zu renders read back\n", learned, counts.checked);
}

}  // namespace
}  // namespace brass::calls
