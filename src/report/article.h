// The article whose method this program takes over: its figures as published, and as its own rates give them.
//
// Owns: the published rates, rows and claims; what is wrong with them. Must not know: terminals.
// Invariants: "published" figures are the article's words; "corrected" ones are computed here from its rates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/figure.h"

namespace brass::report {

// Qwen3.5-9B Q4_K_M on one RX 9070 XT.
struct ArticleRates {
  double prefill_tps = 962, decode_tps = 39.6;
  double deep_decode_tps = 27, deep = 32000;  // decode at a depth of 32k
  double bandwidth = 640e9, file_bytes = 5.5e9, small_file_bytes = 4.3e9;
  double streamed_bytes = 5.1e9;  // without the embedding table, of which a token reads one row
};

struct ArticleRow {
  std::string name, shape;
  double prompt, reply;  // tokens; the article's k is 1000
  Phases published;      // as printed, in seconds
  double published_share;
  Phases corrected;
};

struct ArticleStep {
  double from_tps, to_tps;
  double published_saved, corrected_saved;  // seconds of a 2k/2k turn
};

struct ArticleDifference {
  std::string about, published, corrected, why;
};

std::vector<ArticleRow> article_rows();
std::vector<ArticleStep> article_steps();
std::vector<ArticleDifference> article_differences();
Figure article_figure(bool corrected);

}  // namespace brass::report
