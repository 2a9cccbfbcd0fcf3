#include "app/run_flags.h"

#include <charconv>
#include <cmath>

namespace brass::app {
namespace {

// The numbers that both a flag and /set change.
struct Setting {
  const char* name;
  const char* help;
  float SamplingParams::* real;
  int SamplingParams::* whole;
};

constexpr Setting kSettings[] = {
    {"temperature", "0: always the likeliest token", &SamplingParams::temperature, nullptr},
    {"top-k", "keeps the k likeliest tokens (0: all)", nullptr, &SamplingParams::top_k},
    {"top-p", "keeps the likeliest tokens that together reach p", &SamplingParams::top_p, nullptr},
    {"min-p", "drops tokens below p times the likeliest", &SamplingParams::min_p, nullptr},
    {"typical-p", "keeps tokens of typical surprise (1: off)", &SamplingParams::typical_p, nullptr},
    {"repeat-penalty", "divides the logits of recent tokens (1: off)", &SamplingParams::repeat_penalty,
     nullptr},
    {"repeat-last-n", "tokens that penalties look back (-1: all)", nullptr, &SamplingParams::repeat_last_n},
    {"frequency-penalty", "subtracted for every occurrence", &SamplingParams::frequency_penalty, nullptr},
    {"presence-penalty", "subtracted once for a token that occurred", &SamplingParams::presence_penalty,
     nullptr},
};

// "field: text" of the checker as a flag's error.
Error as_flag(Error error) {
  const size_t colon = error.message.find(':');
  std::string field = error.message.substr(0, colon);
  for (char& c : field)
    if (c == '_' || c == '.') c = '-';
  error.message = "flag --" + field + (colon == std::string::npos ? "" : error.message.substr(colon));
  error.wrong_use = true;
  return error;
}

// "ID=BIAS", e.g. 42=-1.5 or 42=-inf.
Result<std::pair<int32_t, float>> parse_bias(const std::string& text) {
  const size_t equals = text.find('=');
  int32_t id = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + std::min(equals, text.size()), id);
  char* rest = nullptr;
  const float bias = equals == std::string::npos ? 0 : std::strtof(text.c_str() + equals + 1, &rest);
  if (fault != std::errc() || end != text.data() + equals || rest == nullptr || *rest != 0 ||
      equals + 1 == text.size())
    return wrong_use("flag --logit-bias: '{}' is not ID=BIAS, as in 42=-1.5", text);
  return std::pair{id, bias};
}

SamplingParams sampling_of(const RunFlags& flags) {
  SamplingParams params = flags.sampling;
  params.greedy = flags.greedy;
  params.seed = flags.seed;
  return params;
}

}  // namespace

void declare_run_flags(Arguments& arguments, RunFlags& flags) {
  declare_model(arguments, flags.model);
  arguments.option("PROMPT", flags.prompt, "the question ('-': standard input); without one, a conversation");
  declare_device(arguments, flags.model);
  arguments.option("--system", flags.system, "system message");
  arguments.flag("--raw", flags.raw, "the prompt as it is: no chat template");
  arguments.option("--ids", flags.ids, "the prompt as token ids: 1,2,3");
  arguments.option("-n,--max-tokens", flags.max_tokens,
                   "most tokens of the reply (0: no limit but the context)");
  arguments.flag("--greedy", flags.greedy, "always the likeliest token");
  for (const Setting& s : kSettings) {
    if (s.real != nullptr)
      arguments.option("--" + std::string(s.name), flags.sampling.*s.real, s.help);
    else
      arguments.option("--" + std::string(s.name), flags.sampling.*s.whole, s.help);
  }
  arguments.option("--seed", flags.seed, "same seed, same text");
  arguments.option("--dry-multiplier", flags.sampling.dry.multiplier,
                   "strength of the DRY repetition penalty (0: off)");
  arguments.option("--dry-base", flags.sampling.dry.base, "growth of DRY with the length of the repeat");
  arguments.option("--dry-allowed-length", flags.sampling.dry.allowed_length,
                   "repeats shorter than this are free");
  arguments.option("--dry-penalty-last-n", flags.sampling.dry.penalty_last_n,
                   "tokens that DRY looks back (-1: all)");
  arguments.option("--dry-sequence-breaker", flags.dry_breakers,
                   "text that a repeat is not followed across (repeatable)");
  arguments.option("--xtc-probability", flags.sampling.xtc.probability,
                   "chance to drop the likeliest tokens (0: off)");
  arguments.option("--xtc-threshold", flags.sampling.xtc.threshold,
                   "how likely a token must be for XTC to drop it");
  arguments.option("--logit-bias", flags.logit_bias, "ID=BIAS added to a token's logit (repeatable)");
  arguments.option("--stop", flags.stops, "text that ends the reply (repeatable)");
  declare_grammar(arguments, flags.grammar);
  declare_tools(arguments, flags.tools);
  arguments.flag("--stats", flags.stats, "both numbers behind the reply, on standard error");
  arguments.flag("--json", flags.json, "machine-readable, when the reply is complete");
}

Result<> check_run_flags(const RunFlags& flags) {
  if (Result<> ok = validate(sampling_of(flags), INT32_MAX); !ok) return std::unexpected(as_flag(ok.error()));
  if (Result<> ok = validate_stops(flags.stops); !ok) return std::unexpected(as_flag(ok.error()));
  TRY_VOID(check_grammar_flags(flags.grammar));
  TRY_VOID(check_tool_flags(flags.tools));
  const GrammarFlags& grammar = flags.grammar;
  if (flags.tools.any() && (grammar.grammar || grammar.json_schema || grammar.regex || grammar.choices))
    return wrong_use("flag --tools: the reply has a grammar already");
  if (flags.tools.tools && (flags.raw || !flags.ids.empty()))
    return wrong_use("flag --tools: needs the chat template, which --raw and --ids leave out");
  if (flags.raw && !flags.system.empty()) return wrong_use("flag --system: --raw has no system message");
  if (!flags.ids.empty() && flags.prompt) return wrong_use("flag --ids: there is a PROMPT already");
  return {};
}

Result<GenerationOptions> generation_options(const RunFlags& flags, const Tokenizer* tokenizer,
                                             uint32_t vocabulary) {
  GenerationOptions options{.sampling = sampling_of(flags), .stops = flags.stops};
  if (flags.max_tokens > 0) options.max_tokens = flags.max_tokens;
  for (const std::string& text : flags.logit_bias)
    options.sampling.logit_bias.push_back(TRY(parse_bias(text)));
  if (tokenizer != nullptr) {
    std::vector<std::string> breakers = flags.dry_breakers;
    if (breakers.empty()) breakers = {"\n", ":", "\"", "*"};
    for (const std::string& text : breakers)
      options.sampling.dry.sequence_breakers.push_back(
          tokenizer->encode(text, {.add_bos = false, .add_eos = false}));
  }
  if (Result<> ok = validate(options.sampling, static_cast<int>(vocabulary)); !ok)
    return std::unexpected(as_flag(ok.error()));
  return options;
}

Result<> set_by_name(RunFlags& flags, const std::string& name, const std::string& value) {
  RunFlags changed = flags;
  char* end = nullptr;
  const float number = std::strtof(value.c_str(), &end);
  if (end == value.c_str() || *end != 0) return fail("'{}' is not a number", value);
  bool known = false;
  for (const Setting& s : kSettings) {
    if (name != s.name) continue;
    known = true;
    if (s.real != nullptr)
      changed.sampling.*s.real = number;
    else
      changed.sampling.*s.whole = static_cast<int>(number);
  }
  if (name == "seed") known = true, changed.seed = static_cast<uint64_t>(number);
  if (name == "max-tokens") known = true, changed.max_tokens = static_cast<uint32_t>(std::max(number, 0.0f));
  if (!known) return fail("there is no setting '{}'; /set alone lists them", name);
  TRY_VOID(check_run_flags(changed));
  flags = changed;
  return {};
}

std::string list_settings(const RunFlags& flags) {
  std::string text;
  for (const Setting& s : kSettings) {
    const std::string value = s.real != nullptr ? fmt::format("{}", flags.sampling.*s.real)
                                                : fmt::format("{}", flags.sampling.*s.whole);
    text += fmt::format("  {:<18} {:<8} {}\n", s.name, value, s.help);
  }
  text += fmt::format("  {:<18} {:<8} same seed, same text\n", "seed",
                      flags.seed ? fmt::format("{}", *flags.seed) : "-");
  text +=
      fmt::format("  {:<18} {:<8} most tokens of a reply (0: no limit)\n", "max-tokens", flags.max_tokens);
  return text;
}

}  // namespace brass::app
