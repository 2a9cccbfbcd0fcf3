#include "runtime/divergence.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace brass {
namespace {

constexpr uint32_t kPiece = 64;  // tokens of which the base's logits are kept at once

// log Σ exp(x), in f64.
double log_sum_exp(std::span<const float> x) {
  const double top = *std::ranges::max_element(x);
  double sum = 0;
  for (const float v : x) sum += std::exp(static_cast<double>(v) - top);
  return top + std::log(sum);
}

ptrdiff_t best_of(std::span<const float> x) { return std::ranges::max_element(x) - x.begin(); }

// The sequence is dropped whatever happens.
struct Reading {
  Engine& engine;
  SequenceId id;
  Reading(Engine& e, SequenceId i) : engine(e), id(i) { engine.want_logits(id, LogitRows::kAll); }
  Reading(const Reading&) = delete;
  ~Reading() { engine.drop(id); }
};

// Goes on with `piece` and hands over its rows, numbered from 0.
template <class F>
Result<> read_rows(Reading& reading, std::span<const int32_t> piece, F row) {
  const uint32_t begin = reading.engine.length(reading.id);
  if (begin == 0) {
    TRY_VOID(reading.engine.sync(reading.id, piece));
  } else {
    for (const int32_t token : piece) TRY_VOID(reading.engine.append(reading.id, token));
  }
  while (reading.engine.has_work()) {
    for (const StepRows& made : TRY(reading.engine.step())) {
      for (uint32_t i = 0; i < made.count; i++) {
        const uint32_t position = made.first_position + i;
        const std::span<const float> logits = reading.engine.logits(made.first_row + i);
        if (!std::ranges::all_of(logits, [](float x) { return std::isfinite(x); }))
          return fail("the logits of position {} are not finite", position);
        row(position - begin, logits);
      }
    }
  }
  return {};
}

}  // namespace

void Divergence::add(const Divergence& more) {
  positions += more.positions;
  kl_sum += more.kl_sum;
  kl_largest = std::max(kl_largest, more.kl_largest);
  same_top += more.same_top;
}

double kl_divergence(std::span<const float> base, std::span<const float> other) {
  ENSURE(base.size() == other.size() && !base.empty(), "{} and {} logits", base.size(), other.size());
  const double base_sum = log_sum_exp(base), other_sum = log_sum_exp(other);
  double kl = 0;
  for (size_t i = 0; i < base.size(); i++) {
    const double p = base[i] - base_sum, q = other[i] - other_sum;
    kl += std::exp(p) * (p - q);
  }
  return kl;
}

Result<Divergence> measure_divergence(Engine& base, Engine& other, std::span<const int32_t> ids) {
  const uint32_t vocabulary = base.model().info.vocabulary;
  if (other.model().info.vocabulary != vocabulary)
    return fail("the vocabularies differ: {} and {} tokens", vocabulary, other.model().info.vocabulary);
  const uint32_t context = std::min(base.context(), other.context());
  if (ids.size() > context) return fail("the text has {} tokens, the contexts hold {}", ids.size(), context);
  Reading first(base, TRY(base.create_sequence()));
  Reading second(other, TRY(other.create_sequence()));
  std::vector<float> kept(size_t{kPiece} * vocabulary);
  const auto kept_row = [&](uint32_t i) {
    return std::span(kept).subspan(size_t{i} * vocabulary, vocabulary);
  };
  Divergence sum;
  for (size_t begin = 0; begin < ids.size(); begin += kPiece) {
    const auto piece = ids.subspan(begin, std::min<size_t>(kPiece, ids.size() - begin));
    TRY_VOID(read_rows(first, piece, [&](uint32_t i, std::span<const float> logits) {
      std::ranges::copy(logits, kept_row(i).begin());
    }));
    TRY_VOID(read_rows(second, piece, [&](uint32_t i, std::span<const float> logits) {
      const double kl = kl_divergence(kept_row(i), logits);
      sum.add({.positions = 1,
               .kl_sum = kl,
               .kl_largest = kl,
               .same_top = best_of(kept_row(i)) == best_of(logits) ? 1u : 0u});
    }));
  }
  return sum;
}

}  // namespace brass
