// brass rounds: a warm engine that measures on request, for interleaved comparisons with other programs.
// Reads lines "pp N" (prefill of N tokens in an empty context) and "tg N" (N decoded tokens behind a short
// prompt); answers each with one line of JSON: {"tps": tokens a second}. "profile N" decodes N tokens with each step
// timed by itself, which costs a little, and answers with a line for each kind of step, the longest first.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>

#include "app/commands.h"
#include "app/session.h"
#include "base/rng.h"
#include "plan/explain.h"
#include "report/rates.h"

namespace brass::app {
namespace {

struct Flags {
  ModelFlags model;
  uint32_t chunk = 512;
  uint32_t sequences = 1;
};

class Rounds {
 public:
  explicit Rounds(Engine& engine) : engine_(engine) {}

  // Seconds to make the logits of the last of n tokens.
  Result<double> prefill(uint32_t n) {
    const SequenceId id = TRY(engine_.create_sequence());
    const auto begin = std::chrono::steady_clock::now();
    TRY_VOID(engine_.sync(id, some_ids(n)));
    while (engine_.pending(id) > 0) TRY_VOID(engine_.step());
    const auto end = std::chrono::steady_clock::now();
    engine_.drop(id);
    return std::chrono::duration<double>(end - begin).count();
  }

  // Seconds for n decode steps of `count` sequences at once, each behind one token.
  Result<double> decode(uint32_t n, uint32_t count) {
    std::vector<SequenceId> ids;
    for (uint32_t i = 0; i < count; i++) {
      ids.push_back(TRY(engine_.create_sequence()));
      TRY_VOID(engine_.sync(ids.back(), some_ids(1)));
    }
    TRY_VOID(engine_.step());
    const auto begin = std::chrono::steady_clock::now();
    for (uint32_t i = 0; i < n; i++) {
      for (const SequenceId id : ids) TRY_VOID(engine_.append(id, next_id()));
      TRY_VOID(engine_.step());
    }
    const auto end = std::chrono::steady_clock::now();
    for (const SequenceId id : ids) engine_.drop(id);
    return std::chrono::duration<double>(end - begin).count();
  }

  // What the steps of n decoded tokens took, of each kind (a step of all layers, by its rule) the mean of a token.
  struct StepTime {
    std::string step;
    uint32_t count = 0;  // in a token
    double microseconds = 0;
  };
  Result<std::vector<StepTime>> profile(uint32_t n) {
    const auto plan = TRY(engine_.plan_for(1, 1));
    const std::vector<StepRow> rows = explain_rows(*plan, 1, 1, 0);
    const SequenceId id = TRY(engine_.create_sequence());
    TRY_VOID(engine_.sync(id, some_ids(1)));
    TRY_VOID(engine_.step());
    engine_.device().set_timing(true);
    std::map<std::string, StepTime> kinds;
    for (uint32_t token = 0; token < n; token++) {
      TRY_VOID(engine_.append(id, next_id()));
      TRY_VOID(engine_.step());
      const std::span<const double> seconds = engine_.device().step_seconds();
      if (seconds.size() != rows.size())
        return fail("{} does not time its steps", engine_.device().describe());
      for (size_t i = 0; i < rows.size(); i++) {
        StepTime& kind = kinds[kind_of(rows[i])];
        kind.step = kind_of(rows[i]);
        kind.count += token == 0 ? 1 : 0;
        kind.microseconds += seconds[i] * 1e6 / n;
      }
    }
    engine_.device().set_timing(false);
    engine_.drop(id);
    std::vector<StepTime> times;
    for (const auto& [name, kind] : kinds) times.push_back(kind);
    std::ranges::sort(times, std::greater(), &StepTime::microseconds);
    return times;
  }

 private:
  static std::string kind_of(const StepRow& row) {
    std::string_view name = row.step;
    if (name.starts_with("blk.")) name.remove_prefix(std::min(name.find('.', 4) + 1, name.size()));
    return fmt::format("{} {}", name, row.kernel);
  }
  int32_t next_id() { return static_cast<int32_t>(rng_.below(engine_.model().info.vocabulary)); }
  std::vector<int32_t> some_ids(uint32_t n) {
    std::vector<int32_t> ids(n);
    for (int32_t& id : ids) id = next_id();
    return ids;
  }

  Engine& engine_;
  Rng rng_{1};
};

std::string line(std::optional<double> tps, double seconds) {
  return fmt::format("{{\"tps\": {:.3f}, \"seconds\": {:.6f}}}", tps.value_or(0), seconds);
}

Result<std::string> prefill_line(Rounds& rounds, uint32_t n) {
  const double s = TRY(rounds.prefill(n));
  return line(report::prefill_tps(n, 0, s), s);
}

// n tokens after the first one of each sequence.
Result<std::string> decode_line(Rounds& rounds, uint32_t n, uint32_t sequences) {
  const double s = TRY(rounds.decode(n, sequences));
  return line(sequences * report::decode_tps(n + 1, s).value_or(0), s);
}

Result<std::string> profile_lines(Rounds& rounds, uint32_t n) {
  std::string text;
  double total = 0;
  for (const Rounds::StepTime& time : TRY(rounds.profile(n))) {
    text += fmt::format("{{\"microseconds\": {:.1f}, \"count\": {}, \"step\": \"{}\"}}\n", time.microseconds,
                        time.count, time.step);
    total += time.microseconds;
  }
  return text + fmt::format("{{\"microseconds\": {:.1f}}}", total);
}

Result<> run_rounds(const Flags& flags) {
  const std::unique_ptr<Engine> engine =
      TRY(open_engine(flags.model, {.sequences = flags.sequences, .chunk = flags.chunk}));
  TRY_VOID(need_decoding(engine->model(), "brass rounds"));
  Rounds rounds(*engine);
  TRY_VOID(rounds.decode(2, 1));  // first plan, first touch
  fmt::print("{{\"ready\": \"{}\"}}\n", engine->device().describe());
  std::fflush(stdout);
  std::string what;
  uint32_t n = 0;
  while (std::cin >> what >> n) {
    if ((what != "pp" && what != "tg" && what != "profile") || n == 0 || n > engine->context())
      return wrong_use("'{} {}' is neither 'pp N' nor 'tg N' nor 'profile N' within the context", what, n);
    fmt::print("{}\n", TRY(what == "pp"   ? prefill_line(rounds, n)
                           : what == "tg" ? decode_line(rounds, n, flags.sequences)
                                          : profile_lines(rounds, n)));
    std::fflush(stdout);
  }
  return {};
}

}  // namespace

Body declare_rounds(Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  declare_model(arguments, flags->model);
  declare_device(arguments, flags->model);
  arguments.option("--chunk", flags->chunk, "most tokens of one step");
  arguments.option("--sequences", flags->sequences, "sequences that decode together in 'tg'");
  return [flags] { return run_rounds(*flags); };
}

}  // namespace brass::app
