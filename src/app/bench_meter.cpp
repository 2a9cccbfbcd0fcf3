#include "app/bench_meter.h"

#include <chrono>
#include <optional>

#include "app/bench_prose.h"
#include "app/run_flags.h"
#include "app/terminal.h"
#include "base/check.h"
#include "base/rng.h"
#include "hub/digest.h"

namespace brass::app {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The sequence is dropped whatever happens.
struct Dropped {
  Engine& engine;
  SequenceId id;
  ~Dropped() { engine.drop(id); }
};

}  // namespace

// Three full ones: the text whose prefixes are kept, which share its pages; a prompt that a lever keeps; a request.
EngineOptions Meter::engine_options(const MeterOptions& options) {
  return {.context = options.context, .sequences = options.held + 3, .full_sequences = 3, .chunk = kChunk};
}

Result<std::unique_ptr<Meter>> Meter::open(const ModelFlags& flags, std::unique_ptr<Model> model,
                                           const MeterOptions& options) {
  std::unique_ptr<Meter> meter(new Meter());
  ModelFlags wanted = flags;
  TRY_VOID(need_decoding(*model, "brass bench"));
  if (options.context != 0) {
    if (flags.context != 0 && options.context > flags.context)
      return wrong_use("flag --context: {} tokens are needed, {} were given", options.context, flags.context);
    wanted.context = options.context;
  }
  meter->tokenizer_ = TRY(open_tokenizer(*model));
  meter->engine_ = TRY(open_engine(wanted, std::move(model), engine_options(options)));
  TRY_VOID(meter->read_prompt());
  return meter;
}

Result<> Meter::read_prompt() {
  const size_t wanted = context();
  std::string text;
  if (tokenizer_ != nullptr) {
    for (size_t bytes = wanted * 5 + 64; ids_.size() < wanted; bytes *= 2) {
      text = bench_prose(bytes);
      ids_ = tokenizer_->encode(text);
      if (bytes > (wanted + 64) * 1000) return fail("the vocabulary makes no tokens of text");
    }
  } else {
    Rng rng(6);
    for (size_t i = 0; i < wanted; i++)
      ids_.push_back(static_cast<int32_t>(rng.below(model().info.vocabulary)));
  }
  ids_.resize(wanted);
  hub::Sha256 digest;
  digest.add(std::as_bytes(std::span(ids_).first(std::min<size_t>(ids_.size(), kChunk))));
  prompt_sha256_ = digest.finish();
  return {};
}

Result<Request> Meter::timed(SequenceId id, std::vector<int32_t> prompt, uint32_t reply, TokenClock clock) {
  Request out{.prompt = static_cast<uint32_t>(prompt.size()), .gaps = {}, .ids = {}};
  out.gaps.reserve(reply);
  RunFlags run;  // as `brass run` without flags
  run.seed = 1;
  run.max_tokens = reply;
  GenerationOptions options = TRY(generation_options(run, tokenizer_.get(), model().info.vocabulary));
  options.ignore_end = true;
  const auto generation =
      TRY(Generation::start(*engine_, id, tokenizer_.get(), std::move(prompt), std::move(options)));
  std::optional<Clock::time_point> first, last;
  while (generation->finish() == Finish::kNone) {
    if (interrupted()) {
      out.whole = false;
      return out;
    }
    for (const StepRows& rows : TRY(engine_->step())) {
      TRY_VOID(generation->accept_row(rows.first_row + rows.count - 1));
      if (first && clock == TokenClock::kOff) continue;
      const auto now = Clock::now();
      if (last) out.gaps.push_back(std::chrono::duration<double>(now - *last).count());
      if (!first) first = now;
      last = now;
    }
  }
  if (first) out.decode = seconds_since(*first);
  const Timings t = generation->timings();
  out.cached = t.cached_tokens;
  out.reply = t.decode_tokens;
  out.prefill = t.prefill_s;
  out.ttft = t.ttft_s;
  out.ids = generation->ids();
  return out;
}

Result<Request> Meter::request(uint32_t prompt, uint32_t reply, TokenClock clock) {
  const SequenceId id = TRY(engine_->create_sequence());
  const Dropped dropped{*engine_, id};
  return timed(id, {ids_.begin(), ids_.begin() + prompt}, reply, clock);
}

Result<Request> Meter::request_behind(SequenceId kept, uint32_t reply, TokenClock clock) {
  const SequenceId id = TRY(engine_->fork(kept));
  const Dropped dropped{*engine_, id};
  return timed(id, {ids_.begin(), ids_.begin() + engine_->length(kept) + 1}, reply, clock);
}

Result<double> Meter::inner_chunk(uint32_t tokens) {
  ENSURE(tokens == kChunk && ids_.size() > tokens, "{} tokens are no whole step", tokens);
  const SequenceId id = TRY(engine_->create_sequence());
  const Dropped dropped{*engine_, id};
  TRY_VOID(engine_->sync(id, prompt(tokens + 1)));
  const auto begin = Clock::now();
  TRY_VOID(engine_->step());
  return seconds_since(begin);
}

Result<std::vector<Chunk>> Meter::extend(SequenceId base, uint32_t depth) {
  std::vector<Chunk> chunks;
  TRY_VOID(engine_->sync(base, prompt(depth)));
  while (engine_->pending(base) > 0 && !interrupted()) {
    const uint32_t before = engine_->pending(base);
    const auto begin = Clock::now();
    TRY_VOID(engine_->step());
    chunks.push_back({depth - before, before - engine_->pending(base), seconds_since(begin)});
  }
  return chunks;
}

Result<std::vector<double>> Meter::decode_together(SequenceId kept, uint32_t count, uint32_t steps) {
  std::vector<SequenceId> ids;
  std::vector<double> seconds;
  const uint32_t depth = engine_->length(kept);
  const auto drop_all = [&] {
    for (const SequenceId id : ids) engine_->drop(id);
  };
  const auto run = [&]() -> Result<> {
    for (uint32_t i = 0; i < count; i++) ids.push_back(TRY(engine_->fork(kept)));
    for (uint32_t step = 0; step < steps; step++) {
      for (const SequenceId id : ids) TRY_VOID(engine_->append(id, ids_[depth + step]));
      const auto begin = Clock::now();
      TRY_VOID(engine_->step());
      seconds.push_back(seconds_since(begin));
    }
    return {};
  };
  const Result<> done = run();
  drop_all();
  if (!done) return std::unexpected(done.error());
  return seconds;
}

}  // namespace brass::app
