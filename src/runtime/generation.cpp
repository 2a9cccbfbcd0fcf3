#include "runtime/generation.h"

#include <algorithm>

namespace brass {
namespace {

constexpr uint32_t kReserveTokens = 4096;  // of a reply without a limit: beyond it buffers may grow, rarely

// The device where the highest logits are all that counts, by what is asked of the sampler.
ChosenBy who_chooses(const Engine& engine, const GenerationOptions& options, const Sampler& sampler) {
  if (!engine.device_chooses() || options.constraint.grammar != nullptr) return ChosenBy::kSampler;
  const size_t wanted = sampler.highest_wanted();
  if (wanted == 0 || wanted > kMostCandidates) return ChosenBy::kSampler;
  return wanted == 1 ? ChosenBy::kDevice : ChosenBy::kCandidates;
}

LogitRows rows_for(ChosenBy by) {
  return by == ChosenBy::kDevice       ? LogitRows::kChoice
         : by == ChosenBy::kCandidates ? LogitRows::kCandidates
                                       : LogitRows::kLast;
}

double seconds(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

std::string_view finish_name(Finish finish) {
  static constexpr std::string_view kNames[] = {"none", "stop", "length", "cancel"};
  return kNames[static_cast<size_t>(finish)];
}

std::string_view chosen_by_name(ChosenBy by) {
  static constexpr std::string_view kNames[] = {"sampler", "candidates", "device"};
  return kNames[static_cast<size_t>(by)];
}

Generation::Generation(Engine& engine, SequenceId sequence, const Tokenizer* tokenizer,
                       std::vector<int32_t> prompt, GenerationOptions options)
    : engine_(engine),
      sequence_(sequence),
      tokenizer_(tokenizer),
      prompt_(std::move(prompt)),
      options_(std::move(options)),
      sampler_(options_.sampling, static_cast<int>(engine.model().info.vocabulary)),
      stops_(options_.stops),
      chosen_by_(who_chooses(engine, options_, sampler_)) {
  const StreamDecoder::Options decoding{.special = options_.show_control, .continues_text = true};
  if (tokenizer_ != nullptr) decoder_.emplace(*tokenizer_, decoding);
  if (options_.constraint.grammar != nullptr) {
    options_.constraint.ends_by_itself &= !options_.ignore_end;
    constraint_.emplace(options_.constraint, *tokenizer_, engine.model().info.vocabulary);
  }
  ids_.reserve(std::min({options_.max_tokens, engine.context(), kReserveTokens}));
  text_.reserve(ids_.capacity() * 8);
  piece_.reserve(1024);
}

Result<std::unique_ptr<Generation>> Generation::start(Engine& engine, SequenceId sequence,
                                                      const Tokenizer* tokenizer, std::vector<int32_t> prompt,
                                                      GenerationOptions options) {
  TRY_VOID(validate(options.sampling, static_cast<int>(engine.model().info.vocabulary)));
  TRY_VOID(validate_stops(options.stops));
  TRY_VOID(grammar::validate(options.constraint));
  if (options.constraint.grammar != nullptr && tokenizer == nullptr)
    return fail("a grammar needs a vocabulary, and the model has none");
  std::unique_ptr<Generation> g(
      new Generation(engine, sequence, tokenizer, std::move(prompt), std::move(options)));
  g->begin_ = Clock::now();
  g->cached_ = TRY(engine.sync(sequence, g->prompt_)).reused;
  engine.want_logits(sequence, rows_for(g->chosen_by_));
  if (g->chosen_by_ == ChosenBy::kDevice && g->options_.max_tokens > 0)
    engine.expect_choices(sequence, g->options_.max_tokens - 1);
  for (const int32_t token : g->prompt_) g->sampler_.accept(token);
  if (g->options_.max_tokens == 0) g->finish_ = Finish::kLength;
  return g;
}

std::string_view Generation::end(Finish why) {
  finish_ = why;
  if (decoder_) piece_ += stops_.push(decoder_->flush());
  // A stop string found in the last bytes still counts; else what was held back is text.
  if (stops_.matched())
    finish_ = Finish::kStop;
  else
    piece_ += stops_.flush();
  text_ += piece_;
  return piece_;
}

std::string_view Generation::cancel() {
  piece_.clear();
  return finish_ == Finish::kNone ? end(Finish::kCancel) : std::string_view{};
}

Result<int32_t> Generation::next_token(std::span<const float> logits) {
  if (!constraint_) return sampler_.sample(logits);
  for (;;) {
    const int32_t token = TRY(sampler_.sample(logits, constraint_->mask()));
    if (!options_.ignore_end && tokenizer_->is_eog(token)) return token;
    if (constraint_->accept(token)) return token;
  }
}

// One more token of the reply: why it ends with it, or that it goes on.
Finish Generation::take(int32_t token) {
  sampler_.accept(token);
  ids_.push_back(token);
  if (decoder_) piece_ += stops_.push(decoder_->push(token));
  if (!piece_.empty() && first_text_ == Clock::time_point{}) first_text_ = Clock::now();
  if (stops_.matched() || (constraint_ && constraint_->must_end())) return Finish::kStop;
  const size_t length = engine_.length(sequence_) + ids_.size() - scheduled_;  // with this token
  if (ids_.size() >= options_.max_tokens || length > engine_.context()) return Finish::kLength;
  return Finish::kNone;
}

Result<std::string_view> Generation::accept(std::span<const float> logits) {
  ENSURE(finish_ == Finish::kNone, "the reply has ended");
  return accept_token(TRY(next_token(logits)));
}

Result<std::string_view> Generation::accept_row(uint32_t row) {
  ENSURE(finish_ == Finish::kNone, "the reply has ended");
  if (chosen_by_ == ChosenBy::kDevice) return accept_token(TRY(engine_.choice(row)));
  if (chosen_by_ == ChosenBy::kCandidates)
    if (const std::optional<Candidates> found = engine_.candidates(row))
      return accept_token(TRY(sampler_.sample_highest(found->ids, found->logits)));
  return accept(engine_.logits(row));
}

Result<std::string_view> Generation::accept_token(int32_t token) {
  piece_.clear();
  last_token_ = Clock::now();
  if (first_token_ == Clock::time_point{}) first_token_ = last_token_;
  if (!options_.ignore_end && tokenizer_ != nullptr && tokenizer_->is_eog(token)) return end(Finish::kStop);

  Finish ended = take(token);
  if (constraint_ && ended == Finish::kNone) {
    constraint_->jump([&](int32_t forced) {
      ended = take(forced);
      return ended == Finish::kNone;
    });
  }
  if (ended != Finish::kNone) return end(ended);
  for (; scheduled_ < ids_.size(); ++scheduled_) TRY_VOID(engine_.append(sequence_, ids_[scheduled_]));
  text_ += piece_;
  return piece_;
}

Timings Generation::timings() const {
  Timings t{.prompt_tokens = static_cast<uint32_t>(prompt_.size()),
            .cached_tokens = cached_,
            .decode_tokens = static_cast<uint32_t>(ids_.size())};
  if (first_token_ == Clock::time_point{}) return t;
  t.prefill_s = seconds(begin_, first_token_);
  t.ttft_s = seconds(begin_, first_text_ == Clock::time_point{} ? last_token_ : first_text_);
  t.decode_s = seconds(first_token_, last_token_);
  return t;
}

Result<> run_alone(Engine& engine, Generation& generation,
                   const std::function<bool(std::string_view)>& show) {
  while (generation.finish() == Finish::kNone) {
    const std::span<const StepRows> made = TRY(engine.step());
    std::string_view text;
    for (const StepRows& rows : made)
      if (rows.sequence == generation.sequence())
        text = TRY(generation.accept_row(rows.first_row + rows.count - 1));
    if (!show(text) && generation.finish() == Finish::kNone) show(generation.cancel());
  }
  return {};
}

}  // namespace brass
