#include "report/article.h"

#include <fmt/format.h>

#include "report/ledger.h"

namespace brass::report {
namespace {

constexpr ArticleRates kRates;
constexpr double kSteps[] = {219, 430, 615, 815, 962};
constexpr double kPublishedSaved[] = {4.48, 1.40, 0.80, 0.37};
constexpr double kTurn = 2000;  // tokens of the prompt, and of the reply

// The rate at the two depths that the article gives; it gives none between, so other rows keep the shallow one.
double decode_tps_at(double prompt) {
  return prompt >= kRates.deep ? kRates.deep_decode_tps : kRates.decode_tps;
}

ArticleRow row(const char* name, const char* shape, double prompt, double reply, Phases published,
               double share) {
  return {name,
          shape,
          prompt,
          reply,
          published,
          share,
          phases_at(prompt, reply, kRates.prefill_tps, decode_tps_at(prompt))};
}

}  // namespace

std::vector<ArticleRow> article_rows() {
  return {row("Short chat", "256/512", 256, 512, {0.27, 12.9}, 0.02),
          row("Chat turn", "2k/2k", 2000, 2000, {2.08, 50.5}, 0.04),
          row("Code review", "16k/1k", 16000, 1000, {16.6, 25.3}, 0.40),
          row("RAG answer", "32k/512", 32000, 512, {33.3, 12.9}, 0.72),
          row("Doc summary", "32k/256", 32000, 256, {33.3, 6.5}, 0.84)};
}

std::vector<ArticleStep> article_steps() {
  std::vector<ArticleStep> steps;
  for (size_t i = 0; i + 1 < std::size(kSteps); ++i)
    steps.push_back(
        {kSteps[i], kSteps[i + 1], kPublishedSaved[i], kTurn / kSteps[i] - kTurn / kSteps[i + 1]});
  return steps;
}

std::vector<ArticleDifference> article_differences() {
  const auto rows = article_rows();
  const auto steps = article_steps();
  const double equal = *crossover(kRates.prefill_tps, kRates.decode_tps);
  const Phases at_45 = phases_at(4.5, 1, kRates.prefill_tps, kRates.decode_tps);
  const double deep_equal = *crossover(kRates.prefill_tps, kRates.deep_decode_tps);
  const double decode = kTurn / kRates.decode_tps;
  const double before = kTurn / kSteps[0] + decode, after = kTurn / kRates.prefill_tps + decode;
  const auto deep_row = [&](const ArticleRow& r) {
    return ArticleDifference{
        r.name + " " + r.shape,
        fmt::format("{:.1f} s, {:.0f} % prefill", r.published.total(), r.published_share * 100),
        fmt::format("{:.1f} s, {:.0f} % prefill", r.corrected.total(), r.corrected.prefill_share() * 100),
        fmt::format("decode runs at {:.0f} tok/s at a depth of 32k, by the article itself, not at {}",
                    kRates.deep_decode_tps, kRates.decode_tps)};
  };
  return {{"crossover", "prompt four to five times the reply", fmt::format("{:.1f} : 1", equal),
           fmt::format(
               "both phases are equal at prefill ÷ decode = {} ÷ {}; at 4.5 : 1 prefill has {:.1f} % of the "
               "time. At the 32k rate of decode it is {:.1f} : 1",
               kRates.prefill_tps, kRates.decode_tps, at_45.prefill_share() * 100, deep_equal)},
          deep_row(rows[3]),
          deep_row(rows[4]),
          {"last fix against first", "an eighth",
           fmt::format("1/{:.0f}", steps[0].corrected_saved / steps[3].corrected_saved),
           fmt::format("{:.2f} s ÷ {:.2f} s", steps[0].corrected_saved, steps[3].corrected_saved)},
          {"decode ceiling of the 5.5 GB file",
           fmt::format("{:.0f} tok/s", bandwidth_ceiling_tps(kRates.file_bytes, kRates.bandwidth)),
           fmt::format("{:.0f} tok/s", bandwidth_ceiling_tps(kRates.streamed_bytes, kRates.bandwidth)),
           "the embedding table is in the file, but a token reads one row of it: about 5.1 GB are streamed "
           "(124 to "
           "126 tok/s). The 4.3 GB file's 149 is low for the same reason"},
          {"the month's worth for a chat turn", "13 % of the wall clock",
           fmt::format("{:.1f} % of the wall clock", (1 - after / before) * 100),
           fmt::format("{:.1f} s became {:.1f} s: {:.0f} % faster, which is not the same", before, after,
                       (before / after - 1) * 100)}};
}

Figure article_figure(bool corrected) {
  Figure figure{.title = corrected ? "Corrected: what the article's own rates give" : "As published",
                .shares_title = "Wall clock by workload, Qwen3.5-9B on one RX 9070 XT",
                .saved_title = "Seconds that each prefill speedup removed from a 2k/2k chat turn",
                .shares = {},
                .saved = {},
                .notes = {}};
  for (const ArticleRow& r : article_rows()) {
    const bool differs = r.prompt >= kRates.deep;
    figure.shares.push_back(
        {r.name + " " + r.shape, corrected ? r.corrected : r.published, corrected && differs ? "*" : ""});
  }
  for (const ArticleStep& s : article_steps())
    figure.saved.push_back({fmt::format("{:.0f} → {:.0f} tok/s", s.from_tps, s.to_tps),
                            corrected ? s.corrected_saved : s.published_saved, SavedKind::kPrefill});
  if (corrected) {
    figure.notes = {"Prefill 962 tok/s; decode 39.6 tok/s. k = 1000 tokens, as in the article.",
                    "* decode at 27 tok/s: the article's rate at a depth of 32k.",
                    fmt::format("Both phases are equal at a prompt of {:.1f} times the reply.",
                                *crossover(kRates.prefill_tps, kRates.decode_tps))};
  } else {
    figure.notes = {"All decode at 39.6 tok/s, prefill at 962 tok/s.",
                    "\"The crossover sits where the prompt is roughly four to five times the reply.\""};
  }
  return figure;
}

}  // namespace brass::report
