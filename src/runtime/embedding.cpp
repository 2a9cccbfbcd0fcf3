#include "runtime/embedding.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace brass {

uint32_t embedding_sequences(uint32_t context, size_t texts) {
  constexpr uint32_t kPositions = 1u << 16, kMost = 64;  // of all sequences together
  const uint32_t fitting = std::clamp(kPositions / std::max(context, 1u), 1u, kMost);
  return static_cast<uint32_t>(std::clamp<size_t>(texts, 1, fitting));
}

namespace {

// Sequences that are being computed, and whose text each is.
class Embedder {
 public:
  Embedder(Engine& engine, std::span<const std::vector<int32_t>> texts)
      : engine_(engine), texts_(texts), found_(texts.size()) {}

  Result<std::vector<Embedding>> run() {
    for (size_t next = 0; next < texts_.size() || !open_.empty();) {
      while (next < texts_.size() && open_.size() < engine_.sequences()) {
        TRY_VOID(within(fmt::format("text {}", next), start(next)));
        next++;
      }
      for (const StepRows& rows : TRY(engine_.step())) TRY_VOID(take(rows));
      std::erase_if(open_, [&](const Open& o) {
        if (engine_.pending(o.sequence) > 0) return false;
        engine_.drop(o.sequence);
        return true;
      });
    }
    return std::move(found_);
  }

  // Leaves the engine as it was, whatever happened.
  ~Embedder() {
    for (const Open& o : open_) engine_.drop(o.sequence);
  }
  Embedder(const Embedder&) = delete;
  Embedder& operator=(const Embedder&) = delete;

 private:
  struct Open {
    SequenceId sequence;
    size_t text;
  };

  Result<> start(size_t text) {
    open_.push_back({TRY(engine_.create_sequence()), text});
    const SequenceId id = open_.back().sequence;
    const bool pooled = engine_.model().output.pooling != Pooling::kNone;
    engine_.want_logits(id, pooled ? LogitRows::kLast : LogitRows::kAll);
    TRY_VOID(engine_.sync(id, texts_[text]));
    return {};
  }

  Result<> take(const StepRows& rows) {
    const auto open = std::ranges::find(open_, rows.sequence, &Open::sequence);
    ENSURE(open != open_.end(), "sequence {} is not a text's", rows.sequence);
    Embedding& e = found_[open->text];
    for (uint32_t i = 0; i < rows.count; i++) {
      const std::span<const float> row = engine_.embedding(rows.first_row + i);
      e.width = static_cast<uint32_t>(row.size());
      e.rows++;
      if (!std::ranges::all_of(row, [](float x) { return std::isfinite(x); }))
        return fail("text {}: its embedding is not finite", open->text);
      e.values.insert(e.values.end(), row.begin(), row.end());
    }
    return {};
  }

  Engine& engine_;
  std::span<const std::vector<int32_t>> texts_;
  std::vector<Embedding> found_;
  std::vector<Open> open_;
};

}  // namespace

Result<std::vector<Embedding>> embed(Engine& engine, std::span<const std::vector<int32_t>> texts) {
  return Embedder(engine, texts).run();
}

}  // namespace brass
