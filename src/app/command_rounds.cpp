// brass rounds: a warm engine that measures on request, for interleaved comparisons with other programs.
// Reads lines "pp N" (prefill of N tokens in an empty context) and "tg N" (N decoded tokens behind a short
// prompt); answers each with one line of JSON: {"tps": tokens a second}.
#include <chrono>
#include <iostream>

#include "app/commands.h"
#include "app/session.h"
#include "base/rng.h"
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

 private:
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
    if ((what != "pp" && what != "tg") || n == 0 || n > engine->context())
      return wrong_use("'{} {}' is neither 'pp N' nor 'tg N' within the context", what, n);
    fmt::print("{}\n", TRY(what == "pp" ? prefill_line(rounds, n) : decode_line(rounds, n, flags.sequences)));
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
