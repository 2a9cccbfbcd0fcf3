// brass rounds: a warm engine that measures on request, for interleaved comparisons with other programs.
// Reads lines "pp N" (prefill of N tokens) and "tg N" (N decoded tokens behind a short prompt); answers each with one
// line of JSON: {"tps": tokens a second}. "tg" leaves the logits of each token to whoever samples; "greedy N" takes each
// token from the row before it as `brass run --greedy` does, on the device and ahead of the text where the device chooses.
// "depth N": what follows is measured behind N tokens that are cached before
// (no answer). The token at a position is the same one everywhere, here and in tools/bench/peer.cpp.
// "profile N" decodes N tokens, "profile_pp N" prefills N, with each step timed by itself, which costs a little, and
// answers with a line for each kind of step, the longest first. "roof 1": what memory gives by the device's own probe.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>

#include "app/commands.h"
#include "app/session.h"
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

  // Makes the prefix that all which follows shares.
  Result<> set_depth(uint32_t depth) {
    if (prefix_ >= 0) engine_.drop(prefix_);
    prefix_ = -1;
    depth_ = depth;
    if (depth == 0) return {};
    prefix_ = TRY(engine_.create_sequence());
    TRY_VOID(engine_.sync(prefix_, text(depth)));
    while (engine_.pending(prefix_) > 0) TRY_VOID(engine_.step());
    return {};
  }
  uint32_t depth() const { return depth_; }

  // Seconds to make the logits of the last of n tokens.
  Result<double> prefill(uint32_t n) {
    const SequenceId id = TRY(sequence_of_depth());
    const auto begin = std::chrono::steady_clock::now();
    TRY_VOID(add(id, n));
    while (engine_.pending(id) > 0) TRY_VOID(engine_.step());
    const auto end = std::chrono::steady_clock::now();
    engine_.drop(id);
    return std::chrono::duration<double>(end - begin).count();
  }

  // Seconds for n decode steps of `count` sequences at once, each behind one token.
  Result<double> decode(uint32_t n, uint32_t count) {
    std::vector<SequenceId> ids;
    for (uint32_t i = 0; i < count; i++) ids.push_back(TRY(sequence_of_depth()));
    for (const SequenceId id : ids) TRY_VOID(add(id, 1));
    TRY_VOID(engine_.step());
    const auto begin = std::chrono::steady_clock::now();
    for (uint32_t i = 0; i < n; i++) {
      for (const SequenceId id : ids) TRY_VOID(append(id));
      TRY_VOID(engine_.step());
    }
    const auto end = std::chrono::steady_clock::now();
    for (const SequenceId id : ids) engine_.drop(id);
    return std::chrono::duration<double>(end - begin).count();
  }

  // Seconds for n tokens of each of `count` sequences, each the likeliest one behind the token before.
  Result<double> greedy(uint32_t n, uint32_t count) {
    std::vector<SequenceId> ids;
    for (uint32_t i = 0; i < count; i++) ids.push_back(TRY(sequence_of_depth()));
    for (const SequenceId id : ids) {
      TRY_VOID(add(id, 1));
      engine_.want_logits(id, LogitRows::kChoice);
      engine_.expect_choices(id, n);
    }
    std::span<const StepRows> made = TRY(engine_.step());
    const auto begin = std::chrono::steady_clock::now();
    for (uint32_t i = 0; i < n; i++) {
      for (const StepRows& rows : made)
        TRY_VOID(engine_.append(rows.sequence, TRY(engine_.choice(rows.first_row))));
      made = TRY(engine_.step());
    }
    const auto end = std::chrono::steady_clock::now();
    for (const SequenceId id : ids) engine_.drop(id);
    return std::chrono::duration<double>(end - begin).count();
  }

  // What steps took, of each kind (a step of all layers, by its rule).
  struct StepTime {
    std::string step;
    uint32_t count = 0;
    double microseconds = 0;
  };
  // Of n decoded tokens the mean of one.
  Result<std::vector<StepTime>> profile(uint32_t n) {
    const SequenceId id = TRY(sequence_of_depth());
    TRY_VOID(add(id, 1));
    TRY_VOID(engine_.step());
    Profile profile{*this};
    for (uint32_t token = 0; token < n; token++) {
      TRY_VOID(append(id));
      TRY_VOID(profile.step(id));
    }
    engine_.drop(id);
    return profile.times(n);
  }
  // Of all the steps that prefill n tokens.
  Result<std::vector<StepTime>> profile_prefill(uint32_t n) {
    const SequenceId id = TRY(sequence_of_depth());
    TRY_VOID(add(id, n));
    Profile profile{*this};
    while (engine_.pending(id) > 0) TRY_VOID(profile.step(id));
    engine_.drop(id);
    return profile.times(1);
  }

 private:
  // Steps of one sequence, timed.
  class Profile {
   public:
    explicit Profile(Rounds& rounds) : engine_(rounds.engine_) { engine_.device().set_timing(true); }
    ~Profile() { engine_.device().set_timing(false); }

    Result<> step(SequenceId id) {
      const uint32_t before = engine_.pending(id);
      TRY_VOID(engine_.step());
      const uint32_t after = engine_.pending(id), t = before - after;
      const auto plan = TRY(engine_.plan_for(t, after == 0 ? 1 : 0));
      const std::vector<StepRow> rows = explain_rows(*plan, t, after == 0 ? 1 : 0, 0);
      const std::span<const double> seconds = engine_.device().step_seconds();
      if (seconds.size() != rows.size())
        return fail("{} does not time its steps", engine_.device().describe());
      for (size_t i = 0; i < rows.size(); i++) {
        StepTime& kind = kinds_[kind_of(rows[i])];
        kind.step = kind_of(rows[i]);
        kind.count++;
        kind.microseconds += seconds[i] * 1e6;
      }
      return {};
    }
    // A share of 1 / parts of all that was timed, the longest first.
    std::vector<StepTime> times(uint32_t parts) const {
      std::vector<StepTime> times;
      for (const auto& [name, kind] : kinds_)
        times.push_back({kind.step, kind.count / parts, kind.microseconds / parts});
      std::ranges::sort(times, std::greater(), &StepTime::microseconds);
      return times;
    }

   private:
    Engine& engine_;
    std::map<std::string, StepTime> kinds_;
  };

  static std::string kind_of(const StepRow& row) {
    std::string_view name = row.step;
    if (name.starts_with("blk.")) name.remove_prefix(std::min(name.find('.', 4) + 1, name.size()));
    return fmt::format("{} {}", name, row.kernel);
  }
  // Pseudo-random text: Knuth's multiplicative hash of the position.
  int32_t token(uint32_t position) const {
    const uint32_t hash = (position + 1) * 2654435761u;
    return static_cast<int32_t>((hash >> 8) % engine_.model().info.vocabulary);
  }
  std::vector<int32_t> text(uint32_t n) const {
    std::vector<int32_t> ids(n);
    for (uint32_t position = 0; position < n; position++) ids[position] = token(position);
    return ids;
  }

  // A new sequence that holds the prefix.
  Result<SequenceId> sequence_of_depth() {
    return prefix_ < 0 ? engine_.create_sequence() : engine_.fork(prefix_);
  }
  // The next n tokens, to be processed.
  Result<> add(SequenceId id, uint32_t n) {
    TRY_VOID(engine_.sync(id, text(engine_.length(id) + n)));
    return {};
  }
  Result<> append(SequenceId id) { return engine_.append(id, token(engine_.length(id))); }

  Engine& engine_;
  SequenceId prefix_ = -1;  // −1: there is none
  uint32_t depth_ = 0;
};

std::string line(std::optional<double> tps, double seconds) {
  return fmt::format("{{\"tps\": {:.3f}, \"seconds\": {:.6f}}}", tps.value_or(0), seconds);
}

Result<std::string> prefill_line(Rounds& rounds, uint32_t n) {
  const double s = TRY(rounds.prefill(n));
  return line(report::prefill_tps(n, 0, s), s);
}

// n tokens after the first one of each sequence.
Result<std::string> decode_line(Rounds& rounds, uint32_t n, uint32_t sequences, bool greedy) {
  const double s = TRY(greedy ? rounds.greedy(n, sequences) : rounds.decode(n, sequences));
  return line(sequences * report::decode_tps(n + 1, s).value_or(0), s);
}

Result<std::string> profile_lines(Rounds& rounds, uint32_t n, bool prefill) {
  std::string text;
  double total = 0;
  for (const Rounds::StepTime& time : TRY(prefill ? rounds.profile_prefill(n) : rounds.profile(n))) {
    text += fmt::format("{{\"microseconds\": {:.1f}, \"count\": {}, \"step\": \"{}\"}}\n", time.microseconds,
                        time.count, time.step);
    total += time.microseconds;
  }
  return text + fmt::format("{{\"microseconds\": {:.1f}}}", total);
}

Result<std::string> roof_line(Device& device) {
  return fmt::format("{{\"read_gb_per_second\": {:.1f}}}", TRY(device.probe()).bandwidth / 1e9);
}

// The answer to a line; nothing to "depth".
Result<std::string> answer(Rounds& rounds, Engine& engine, uint32_t sequences, const std::string& what,
                           uint32_t n) {
  if (what == "pp") return prefill_line(rounds, n);
  if (what == "tg" || what == "greedy") return decode_line(rounds, n, sequences, what == "greedy");
  if (what == "profile" || what == "profile_pp") return profile_lines(rounds, n, what == "profile_pp");
  if (what == "roof") return roof_line(engine.device());
  TRY_VOID(rounds.set_depth(n));
  return std::string();
}

Result<> run_rounds(const Flags& flags) {
  const std::unique_ptr<Engine> engine =
      TRY(open_engine(flags.model, {.sequences = flags.sequences + 1, .chunk = flags.chunk}));
  TRY_VOID(need_decoding(engine->model(), "brass rounds"));
  Rounds rounds(*engine);
  TRY_VOID(rounds.decode(2, 1));  // first plan, first touch
  fmt::print("{{\"ready\": \"{}\"}}\n", engine->device().describe());
  std::fflush(stdout);
  static constexpr std::string_view kKnown[] = {"pp",         "tg",   "greedy", "profile",
                                                "profile_pp", "roof", "depth"};
  std::string what;
  uint32_t n = 0;
  while (std::cin >> what >> n) {
    const uint32_t before = what == "depth" || what == "roof" ? 0 : rounds.depth() + 1;
    if (std::ranges::find(kKnown, what) == std::end(kKnown) || (n == 0 && what != "depth") ||
        uint64_t{before} + n > engine->context() + uint64_t{what == "pp"})
      return wrong_use(
          "'{} {}' is none of 'pp N', 'tg N', 'greedy N', 'depth N', 'profile N', 'profile_pp N', 'roof 1' "
          "within the context",
          what, n);
    const std::string line = TRY(answer(rounds, *engine, flags.sequences, what, n));
    if (!line.empty()) fmt::print("{}\n", line);
    std::fflush(stdout);
  }
  return {};
}

}  // namespace

Body declare_rounds(Arguments& arguments) {
  auto flags = std::make_shared<Flags>();
  declare_model(arguments, flags->model);
  declare_device(arguments, flags->model);
  declare_prompt_products(arguments, flags->model);
  arguments.option("--chunk", flags->chunk, "most tokens of one step");
  arguments.option("--sequences", flags->sequences, "sequences that decode together in 'tg'");
  return [flags] { return run_rounds(*flags); };
}

}  // namespace brass::app
