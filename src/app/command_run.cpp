// brass run: one answer, or a conversation.
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/chat_session.h"
#include "app/commands.h"
#include "app/run_flags.h"
#include "app/terminal.h"
#include "report/rates.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

// Scripts read numbers: a reply too short to have a rate says 0.
Json timings_json(const Timings& t) {
  const auto prefill = report::prefill_tps(t.prompt_tokens, t.cached_tokens, t.prefill_s);
  const auto decode = report::decode_tps(t.decode_tokens, t.decode_s);
  return {{"prompt_tokens", t.prompt_tokens},   {"cached_tokens", t.cached_tokens},
          {"prefill_s", t.prefill_s},           {"ttft_s", t.ttft_s},
          {"decode_tokens", t.decode_tokens},   {"decode_s", t.decode_s},
          {"prefill_tps", prefill.value_or(0)}, {"decode_tps", decode.value_or(0)}};
}

Json calls_json(const calls::ParsedMessage& message) {
  Json out = Json::array();
  for (const calls::ParsedCall& call : message.calls)
    out.push_back({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
  return out;
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// `message`: what the reply says, where it was read; may be null.
void print_json(const Generation& g, const calls::ParsedMessage* message) {
  Json out{{"text", g.text()},
           {"ids", g.ids()},
           {"prompt_ids", g.prompt()},
           {"finish", finish_name(g.finish())},
           {"chosen_by", chosen_by_name(g.chosen_by())},
           {"timings", timings_json(g.timings())}};
  if (message != nullptr) {
    out["content"] = message->content;
    out["reasoning_content"] = message->reasoning;
    out["tool_calls"] = calls_json(*message);
  }
  fmt::print("{}\n", dump(out));
}

Result<> answer_once(ChatSession& session, const RunFlags& flags, const std::string& prompt) {
  const auto show = [&](std::string_view text) {
    if (!flags.json) {
      std::cout << text;
      std::cout.flush();
    }
    return !interrupted();
  };
  const Generation& g = *TRY(session.answer(prompt, show));
  if (flags.json) {
    print_json(g, session.parsed());
    return {};
  }
  const calls::ParsedMessage* message = session.parsed();
  const std::string& said = message == nullptr         ? g.text()
                            : message->content.empty() ? message->reasoning
                                                       : message->content;
  if (message == nullptr ? !said.ends_with('\n') : !said.empty() && !said.ends_with('\n')) std::cout << '\n';
  if (message != nullptr)
    for (const Json& call : calls_json(*message)) std::cout << dump(call) << '\n';
  std::cout.flush();
  if (stderr_is_terminal() || flags.stats) fmt::print(stderr, "{}\n", describe_timings(g));
  return {};
}

// The prompt: the operand, standard input for '-' or a pipe, or nothing (a conversation).
Result<std::optional<std::string>> find_prompt(const RunFlags& flags) {
  if (flags.prompt && *flags.prompt != "-") return flags.prompt;
  if (!flags.ids.empty()) return std::optional<std::string>("");
  if (!flags.prompt && stdin_is_terminal()) return std::optional<std::string>();
  std::string text = TRY(read_text_file("-"));
  if (!flags.raw && text.ends_with('\n')) text.pop_back();  // echo's own
  return std::optional<std::string>(std::move(text));
}

Result<> run_run(const RunFlags& flags) {
  TRY_VOID(check_run_flags(flags));
  const std::optional<std::string> prompt = TRY(find_prompt(flags));
  if (!prompt && (flags.json || flags.raw))
    return wrong_use("give a PROMPT: a conversation on the terminal is neither --json nor --raw");
  if (!prompt && flags.tools.any())
    return wrong_use("flag --tools: give a PROMPT, for nobody answers calls in a conversation");
  const std::unique_ptr<ChatSession> session = TRY(ChatSession::open(flags));
  catch_interrupts();
  if (prompt) return answer_once(*session, flags, *prompt);
  return talk(*session, flags);
}

}  // namespace

Body declare_run(Arguments& arguments) {
  auto flags = std::make_shared<RunFlags>();
  declare_run_flags(arguments, *flags);
  return [flags] { return run_run(*flags); };
}

}  // namespace brass::app
