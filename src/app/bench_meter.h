// Requests on an engine, timed: the same generations that `brass run` makes, with a clock beside them.
//
// Owns: the engine, the prompt's tokens, prefixes that are kept at some depths.
// Must not know: reports, budgets of time.
// Invariants: a request goes through Generation::start and accept with the sampling that `run` has by default (a fixed
// seed; end tokens are text, so that replies have the length asked for). Ctrl-C ends a request, or a prompt, behind
// the step that runs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/session.h"
#include "runtime/generation.h"

namespace brass::app {

// What one request took, in seconds.
struct Request {
  uint32_t prompt = 0, cached = 0, reply = 0;  // tokens
  double prefill = 0;                          // to the first token
  double ttft = 0;                             // to the first visible text
  std::vector<double> gaps;                    // between a token and the next; none where clocks were off
  double decode = 0;                           // from the first token to the last
  std::vector<int32_t> ids;                    // of the reply
  bool whole = true;                           // else Ctrl-C ended it, and no time of it is worth anything
};

enum class TokenClock : uint8_t { kOn, kOff };  // whether each token of a reply is timed, or the reply alone

// One step of a prompt.
struct Chunk {
  uint32_t begin, tokens;  // positions
  double seconds;
};

struct MeterOptions {
  uint32_t context = 0;  // tokens; 0: what the flags or the model say
  uint32_t held = 0;     // prefixes that are kept at once, and sequences that decode together
};

class Meter {
 public:
  // `model`: the one that the flags name.
  static Result<std::unique_ptr<Meter>> open(const ModelFlags& flags, std::unique_ptr<Model> model,
                                             const MeterOptions& options);
  // Of the engine that open() makes; KV types come from flags.
  static EngineOptions engine_options(const MeterOptions& options);

  Engine& engine() { return *engine_; }
  const Model& model() const { return engine_->model(); }
  uint32_t context() const { return engine_->context(); }
  bool random_prompt() const { return tokenizer_ == nullptr; }
  const std::string& prompt_sha256() const { return prompt_sha256_; }
  std::span<const int32_t> prompt(uint32_t tokens) const { return std::span(ids_).first(tokens); }

  // A request with nothing cached.
  Result<Request> request(uint32_t prompt, uint32_t reply, TokenClock clock = TokenClock::kOn);
  // The same behind a kept prefix: its tokens are cached, and one more is the prompt's last.
  Result<Request> request_behind(SequenceId kept, uint32_t reply, TokenClock clock = TokenClock::kOn);
  // The first step of a prompt that goes on behind it: `tokens` rows and no logits.
  Result<double> inner_chunk(uint32_t tokens);
  // Makes `base` hold `depth` tokens; the steps that it took (fewer after Ctrl-C: pending(base) is not 0 then).
  Result<std::vector<Chunk>> extend(SequenceId base, uint32_t depth);
  // Seconds a step of `count` sequences that decode together behind `kept`, `steps` of them.
  Result<std::vector<double>> decode_together(SequenceId kept, uint32_t count, uint32_t steps);

  static constexpr uint32_t kChunk = 512;  // of EngineOptions

 private:
  Meter() = default;
  Result<Request> timed(SequenceId id, std::vector<int32_t> prompt, uint32_t reply, TokenClock clock);
  Result<> read_prompt();

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<int32_t> ids_;  // [context]
  std::string prompt_sha256_;
};

}  // namespace brass::app
