// brass parse: a model's reply as a message: content, reasoning, tool calls.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "app/chat_template_flags.h"
#include "app/commands.h"
#include "base/rng.h"
#include "text/calls/detect.h"
#include "text/calls/parser.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;
using calls::CallParser;
using calls::Delta;

struct ParseFlags {
  TemplateFlags source;
  std::string text_file, tools;
  int splits = 0;
  bool format = false, json = false;
};

// The message that a client makes of a stream.
struct Streamed {
  std::string content, reasoning;
  std::map<int, calls::ParsedCall> begun;
  std::vector<calls::ParsedCall> complete;

  void add(const std::vector<Delta>& deltas) {
    for (const Delta& delta : deltas) {
      switch (delta.kind) {
        case Delta::Kind::kContent:
          content += delta.text;
          break;
        case Delta::Kind::kReasoning:
          reasoning += delta.text;
          break;
        case Delta::Kind::kCallBegin:
          begun[delta.index] = {delta.id, delta.name, ""};
          break;
        case Delta::Kind::kArguments:
          begun[delta.index].arguments += delta.text;
          break;
        case Delta::Kind::kCallEnd:
          complete.push_back(begun[delta.index]);
          break;
        case Delta::Kind::kCallDropped:
          begun.erase(delta.index);
          break;
      }
    }
  }
};

Json message_json(const std::string& content, const std::string& reasoning,
                  const std::vector<calls::ParsedCall>& found) {
  Json out_calls = Json::array();
  for (const calls::ParsedCall& call : found)
    out_calls.push_back({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
  return {{"content", content}, {"reasoning_content", reasoning}, {"tool_calls", out_calls}};
}

// Feeds the text in `pieces` pieces; their ends are chosen by `rng` (all of them, where there are as many as bytes).
Json parse_split(const calls::ReplyForm& form, const calls::ToolSet& tools, std::string_view text,
                 size_t pieces, Rng& rng) {
  std::vector<size_t> ends = {text.size()};
  if (pieces >= text.size()) {
    for (size_t i = 1; i < text.size(); i++) ends.push_back(i);
  } else {
    for (size_t i = 1; i < pieces; i++) ends.push_back(rng.below(text.size() + 1));
  }
  std::sort(ends.begin(), ends.end());
  CallParser parser(form.format, tools, {form.in_reasoning, 0});
  Streamed streamed;
  size_t at = 0;
  for (const size_t end : ends) {
    streamed.add(parser.feed(text.substr(at, end - at)));
    at = end;
  }
  streamed.add(parser.finish());
  return message_json(streamed.content, streamed.reasoning, streamed.complete);
}

std::string dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

constexpr int kRounds = 16;  // cuts that are tried

Result<> run_parse(const ParseFlags& flags) {
  if (flags.splits < 0) return wrong_use("flag --stream-splits: {} is negative", flags.splits);
  if (flags.text_file.empty()) return wrong_use("flag --text-file: is needed");
  const TemplateSource source = TRY(read_template(flags.source));
  Json vars = TRY(template_vars(flags.source));
  const Json tools = flags.tools.empty() ? Json(nullptr) : TRY(read_tools_file(flags.tools));
  const std::string text = TRY(read_text_file(flags.text_file));
  const auto loaded = TRY(within(flags.source.model.model, ChatTemplate::load(source.text)));
  ChatOptions options = chat_options(source.vocab);
  take_tokens(vars, options);
  options.extra_vars = &vars;
  const calls::ReplyForm form = calls::find_format(*loaded, options);
  if (flags.format)
    fmt::print(stderr, "brass: format {}{}\n", form.format.family, form.in_reasoning ? ", in reasoning" : "");
  const calls::ToolSet set(tools);
  const calls::ParsedMessage parsed = calls::parse_reply(form.format, set, {form.in_reasoning, 0}, text);
  const Json whole = message_json(parsed.content, parsed.reasoning, parsed.calls);
  Rng rng(1);
  for (int i = 0; flags.splits > 0 && i < kRounds; i++) {
    const Json split = parse_split(form, set, text, static_cast<size_t>(flags.splits), rng);
    if (dump(split) != dump(whole))
      return fail("{}: in {} pieces the reply reads otherwise: {}\nin one: {}", flags.text_file, flags.splits,
                  dump(split), dump(whole));
  }
  fmt::print("{}\n", dump(whole, flags.json ? -1 : 2));
  return {};
}

}  // namespace

Body declare_parse(Arguments& arguments) {
  auto flags = std::make_shared<ParseFlags>();
  declare_template(arguments, flags->source);
  arguments.option("--text-file", flags->text_file, "what the model wrote");
  arguments.option("--tools", flags->tools, "JSON file: an array of tools (or a request with tools)");
  arguments.option("--stream-splits", flags->splits,
                   "also in N pieces, 16 times cut at random: an error if the message differs");
  arguments.flag("--json", flags->json, "on one line");
  arguments.flag("--format", flags->format, "says which format was found");
  return [flags] { return run_parse(*flags); };
}

}  // namespace brass::app
