// What the grammar of calls allows, the parser reads as valid calls; what templates write of calls, the grammar allows.
#include "text/calls/call_grammar.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "calls/grammar_walk.h"
#include "calls/renders.h"
#include "sanitized.h"
#include "text/calls/detect.h"
#include "text/calls/parser.h"
#include "text/grammar/matcher.h"

namespace brass::calls {
namespace {

// Schemas that tempt: values that look like others, bounds, patterns, texts that may hold any mark.
ordered_json walk_tools() {
  return ordered_json::parse(R"([
    {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {
      "city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 14},
      "units": {"enum": ["metric", "imperial"]}}, "required": ["city"], "additionalProperties": false}}},
    {"type": "function", "function": {"name": "mix", "parameters": {"type": "object", "properties": {
      "either": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "integer", "minimum": 100}]},
      "maybe": {"type": ["string", "null"], "maxLength": 9},
      "pick": {"enum": [8, "7", "x", true, null, "true"]},
      "on": {"type": "boolean"},
      "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{2,3}$"},
      "nest": {"type": "object", "properties": {"text": {"type": "string"}, "list": {"type": "array",
        "items": {"type": ["string", "number"]}, "maxItems": 3}}, "required": ["text"], "additionalProperties": false}},
      "required": ["either", "maybe"], "additionalProperties": {"type": "integer", "minimum": 5}}}},
    {"type": "function", "function": {"name": "bag", "parameters": {"type": "object", "properties": {
      "x": {"type": "string"}}, "additionalProperties": {"type": "integer"}, "minProperties": 3}}},
    {"type": "function", "function": {"name": "bags", "parameters": {"type": "object", "properties": {
      "bag": {"type": "object", "propertyNames": {"pattern": "^[ab]{1,2}$"}, "minProperties": 4, "maxProperties": 5}},
      "required": ["bag"], "additionalProperties": false}}},
    {"type": "function", "function": {"name": "none"}},
    {"type": "function", "function": {"name": "any", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "tree", "parameters": {"$ref": "#/$defs/node", "$defs": {"node": {
      "type": "object", "properties": {"value": {"type": "string", "maxLength": 4},
      "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2}}, "required": ["value"],
      "additionalProperties": false}}}}}])");
}

// The schema of a tool's arguments.
ordered_json arguments_schema(const ToolSet& tools, const std::string& name) {
  const ordered_json& function = tools.all().find(name)->second;
  if (!function.contains("parameters")) return {{"type", "object"}, {"maxProperties", 0}};
  return function["parameters"];
}

class Judge {
 public:
  explicit Judge(const ToolSet& tools) {
    for (const auto& [name, unused] : tools.all()) {
      const auto made =
          grammar::grammar_from_schema(arguments_schema(tools, name), grammar::SchemaOptions::for_checking());
      EXPECT_TRUE(made) << name << ": " << (made ? "" : made.error().message);
      if (made) grammars_.emplace(name, grammar::compile(*made, nullptr));
    }
  }
  bool valid(const ParsedCall& call) const {
    const auto found = grammars_.find(call.name);
    if (found == grammars_.end()) return false;
    const auto spelled = grammar::spell_out_numbers(call.arguments);
    grammar::Matcher matcher(found->second);
    return spelled && matcher.accept_bytes(*spelled) && matcher.can_end();
  }

 private:
  std::map<std::string, std::shared_ptr<grammar::CompiledGrammar>> grammars_;
};

struct Counts {
  int walks = 0, calls = 0, endless = 0;
};

void check_walks(const std::string& name, const CallFormat& format, const ToolSet& tools, const Judge& judge,
                 const CallGrammarOptions& options, Rng& rng, Counts& counts) {
  const auto made = call_grammar(format, tools, options);
  ASSERT_TRUE(made) << name << ": " << (made ? "" : made.error().message);
  grammar::RandomWalk walk(*made->grammar);
  const bool lazy = options.choice == ToolChoice::kAuto;
  for (int i = 0; i < (kSanitized ? 1 : 6); i++) {
    const auto text = walk.text(rng, 30 + static_cast<int>(rng.below(300)));
    counts.walks++;
    counts.endless += !text;
    if (!text) continue;
    const ParsedMessage got = parse_reply(format, tools, {}, *text);
    if (lazy && made->triggers.empty()) {
      EXPECT_FALSE(got.calls.empty() && got.content.empty() && !trimmed(*text).empty() && *text != "all\n")
          << name << ": " << *text;
    } else {
      EXPECT_FALSE(got.calls.empty()) << name << ": " << *text;
      EXPECT_EQ(got.content + got.reasoning, "") << name << ": " << *text;
    }
    if (!options.parallel) {
      EXPECT_LE(got.calls.size(), 1u) << name << ": " << *text;
    }
    for (const ParsedCall& call : got.calls) {
      counts.calls++;
      EXPECT_TRUE(judge.valid(call)) << name << ": " << call.name << " " << call.arguments << "\nin "
                                     << *text;
      if (options.choice == ToolChoice::kNamed) {
        EXPECT_EQ(call.name, options.name) << *text;
      }
    }
  }
}

void check_format(const std::string& name, const CallFormat& format, const ToolSet& tools, const Judge& judge,
                  Rng& rng, Counts& counts) {
  for (const bool parallel : {true, false}) {
    for (const ToolChoice choice : {ToolChoice::kAuto, ToolChoice::kRequired, ToolChoice::kNamed}) {
      CallGrammarOptions options;
      options.choice = choice;
      options.parallel = parallel;
      options.nine_character_ids = parallel;
      const auto named = std::next(tools.all().begin(), static_cast<long>(rng.below(tools.all().size())));
      options.name = named->first;
      check_walks(name, format, tools, judge, options, rng, counts);
    }
  }
}

TEST(CallGrammar, RandomTextsReadBackAsValidCalls) {
  const ToolSet tools(walk_tools());
  const Judge judge(tools);
  Rng rng(11);
  Counts counts;
  for (const Row& row : table()) check_format(row.format.family, row.format, tools, judge, rng, counts);
  check_format("hermes", hermes(), tools, judge, rng, counts);
  for (const auto& [name, source] : templates()) {
    const auto loaded = ChatTemplate::load(source);
    ASSERT_TRUE(loaded) << name;
    check_format(name, find_format(**loaded, {}).format, tools, judge, rng, counts);
  }
  std::printf("%d texts, %d calls; %d without an end in reach\n", counts.walks, counts.calls, counts.endless);
  EXPECT_LT(counts.endless * 10, counts.walks);
}

// The first place where a trigger begins.
size_t first_trigger(const CallGrammar& made, std::string_view turn) {
  size_t out = made.triggers.empty() ? 0 : std::string_view::npos;
  for (const std::string& trigger : made.triggers) out = std::min(out, turn.find(trigger));
  return out;
}

// Calls of the tests as templates write them: the grammar takes them to their end, if their arguments are valid.
TEST(CallGrammar, TakesWhatTemplatesWrite) {
  ordered_json definitions = tools();
  ordered_json schemas = definitions;
  for (ordered_json& tool : schemas) {
    ordered_json& parameters = tool["function"]["parameters"];
    parameters.erase("required");
    parameters["properties"]["maybe"] = {{"type", {"string", "null"}}};
  }
  const ToolSet set(schemas);
  const Judge judge(set);
  const ordered_json before = ordered_json::array({{{"role", "user"}, {"content", "What is up?"}}});
  ChatOptions chat;
  chat.clock = 0;
  int taken = 0;
  for (const auto& [name, source] : templates()) {
    const auto loaded = ChatTemplate::load(source);
    ASSERT_TRUE(loaded) << name;
    if (!(*loaded)->traits().tool_calls) continue;
    const ReplyForm form = find_format(**loaded, {});
    const auto made = call_grammar(form.format, set, {});
    ASSERT_TRUE(made) << name << ": " << (made ? "" : made.error().message);
    const auto compiled = grammar::compile(made->grammar, nullptr);
    for (const Case& given : cases()) {
      if (given.calls.size() > 1 && !(*loaded)->traits().parallel_calls) continue;
      if (!given.content.empty() || !given.reasoning.empty()) continue;
      const auto turn = render_turn(**loaded, before, message_of(given), definitions, chat);
      ASSERT_TRUE(turn) << name;
      const size_t begin = first_trigger(*made, *turn);
      ASSERT_NE(begin, std::string_view::npos) << name << ": " << *turn;
      grammar::Matcher matcher(compiled);
      size_t end = begin, last = begin;
      while (end < turn->size() && matcher.accept_bytes(std::string_view(*turn).substr(end, 1)))
        if (end++; matcher.can_end()) last = end;
      const ParsedMessage got = parse_reply(form.format, set, {}, turn->substr(0, last));
      EXPECT_EQ(got.calls.size(), given.calls.size())
          << name << " (" << form.format.family << "): " << given.name << ": taken up to '"
          << turn->substr(begin, end - begin) << "' of\n"
          << *turn;
      for (const ParsedCall& call : got.calls) EXPECT_TRUE(judge.valid(call)) << call.arguments;
      taken++;
    }
  }
  std::printf("%d turns taken\n", taken);
}

std::string message(const CallFormat& format, const char* tools, const CallGrammarOptions& options) {
  const auto made = call_grammar(format, ToolSet(ordered_json::parse(tools)), options);
  return made ? "" : made.error().message;
}

TEST(CallGrammar, RefusesByName) {
  CallGrammarOptions options;
  constexpr const char* kTool = R"([{"name": "get", "parameters": {"type": "object", "properties": {
      "x": {"type": "string", "pattern": "(a)\\1"}}}}])";
  EXPECT_NE(message(hermes(), kTool, options).find("tool 'get': parameters: #/properties/x"),
            std::string::npos)
      << message(hermes(), kTool, options);
  EXPECT_NE(message(hermes(), kTool, options).find("pattern"), std::string::npos);
  EXPECT_EQ(message(hermes(), "[]", options), "tools: there are none to call");
  options.choice = ToolChoice::kNamed;
  options.name = "put";
  EXPECT_EQ(message(hermes(), R"([{"name": "get"}])", options), "tool 'put': there is no such tool");
  options.choice = ToolChoice::kRequired;
  EXPECT_NE(
      message(hermes(), R"([{"name": "get", "parameters": {"type": "string"}}])", options).find("tool 'get'"),
      std::string::npos);
  for (const Row& row : table()) {
    if (row.format.shape == Shape::kObject) continue;
    EXPECT_NE(message(row.format, R"([{"name": "a b"}])", options).find("tool 'a b': its name"),
              std::string::npos)
        << row.format.family;
  }
}

}  // namespace
}  // namespace brass::calls
