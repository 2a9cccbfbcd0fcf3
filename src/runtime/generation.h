// One reply: from a prompt's tokens to text, token by token.
//
// Owns: the loop's state for one sequence: sampler, grammar, stop strings, half characters, counts, times.
// Must not know: how steps are scheduled (it is told when its logits are ready), who reads the text.
// Invariants: text comes out in whole characters; text that may begin a stop string is held back, and
// released when it does not; the end is always named; nothing is allocated or locked per token after the
// first, but what the matcher of a grammar allocates (its stacks, masks that are new to it, forced text).
//
// Under a grammar tokens that it forbids are never drawn, the reply ends where nothing longer is allowed, and text
// that is the only one possible is not sampled: its tokens go into the next step together with the one before.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine.h"
#include "text/grammar/constraint.h"
#include "text/sampler.h"
#include "text/stop_strings.h"
#include "text/tokenizer.h"
#include "text/tokenizer_stream.h"

namespace brass {

// stop: an end token, a stop string, or the end of what a grammar allows. length: the token limit, or the context is full. cancel: the caller's
// wish.
enum class Finish : uint8_t { kNone, kStop, kLength, kCancel };
std::string_view finish_name(Finish finish);

// Who finds a reply's tokens. device: the highest logit, and steps run ahead of the text. candidates: the sampler, among those
// that the device has found; the logits stay where they are made in both. sampler: it looks at all logits.
enum class ChosenBy : uint8_t { kSampler, kCandidates, kDevice };
std::string_view chosen_by_name(ChosenBy by);

struct GenerationOptions {
  SamplingParams sampling;
  std::vector<std::string> stops;
  uint32_t max_tokens = UINT32_MAX;
  bool ignore_end = false;  // an end token is text like any other
  bool show_control =
      false;  // control pieces are text, too: for who reads the reply's form (text/calls/parser.h)
  grammar::ConstraintOptions
      constraint;  // needs a tokenizer; `ends_by_itself` is what ignore_end leaves of it
};

// What was counted and timed; rates are not made here.
struct Timings {
  uint32_t prompt_tokens = 0, cached_tokens = 0, decode_tokens = 0;
  double prefill_s = 0;  // from the start to the logits of the prompt's last token
  double ttft_s = 0;     // from the start to the first visible text
  double decode_s = 0;   // from the first token to the last
};

class Generation {
 public:
  // `tokenizer` may be null (a model without vocabulary): there is no text then. The sequence is the
  // caller's.
  static Result<std::unique_ptr<Generation>> start(Engine& engine, SequenceId sequence,
                                                   const Tokenizer* tokenizer, std::vector<int32_t> prompt,
                                                   GenerationOptions options);

  // The logits of the sequence's last token: takes the next token and schedules it, unless the reply ends with it (or
  // with text that is forced behind it): then nothing is scheduled. Returns new text (may be empty), valid until the
  // next call.
  Result<std::string_view> accept(std::span<const float> logits);
  // The same of a row that the engine's last step made; it may have made no logits of it, unless the sampler chooses alone.
  Result<std::string_view> accept_row(uint32_t row);
  // Of every token but those whose step made all logits for another reason (a prompt's last row, company of other sequences).
  ChosenBy chosen_by() const { return chosen_by_; }
  // Ends early; returns the text that was held back.
  std::string_view cancel();

  SequenceId sequence() const { return sequence_; }
  Finish finish() const { return finish_; }
  const std::vector<int32_t>& prompt() const { return prompt_; }
  const std::vector<int32_t>& ids() const { return ids_; }  // of the reply, without the end token
  const std::string& text() const { return text_; }
  Timings timings() const;

 private:
  using Clock = std::chrono::steady_clock;
  Generation(Engine& engine, SequenceId sequence, const Tokenizer* tokenizer, std::vector<int32_t> prompt,
             GenerationOptions options);
  Result<int32_t> next_token(std::span<const float> logits);
  Result<std::string_view> accept_token(int32_t token);
  Finish take(int32_t token);
  std::string_view end(Finish why);

  Engine& engine_;
  SequenceId sequence_;
  const Tokenizer* tokenizer_;
  std::vector<int32_t> prompt_;
  GenerationOptions options_;
  Sampler sampler_;
  StopFilter stops_;
  std::optional<StreamDecoder> decoder_;
  std::optional<grammar::Constraint> constraint_;
  std::vector<int32_t> ids_;
  size_t scheduled_ = 0;  // how many of them the engine has
  std::string text_;      // all that came out
  std::string piece_;     // what the last call returned
  Finish finish_ = Finish::kNone;
  uint32_t cached_ = 0;
  const ChosenBy chosen_by_;
  Clock::time_point begin_, first_token_, last_token_, first_text_;
};

// Runs one generation to its end on an engine that does nothing else. `show` gets each piece of text; false
// cancels.
Result<> run_alone(Engine& engine, Generation& generation, const std::function<bool(std::string_view)>& show);

}  // namespace brass
