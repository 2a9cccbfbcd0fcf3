#include <gtest/gtest.h>

#include "report/article.h"
#include "report/format.h"
#include "report/ledger.h"
#include "report/workload.h"

namespace brass::report {
namespace {

// The golden figures all come from the article's rates; each is compared at the precision in which it is stated.
TEST(Phases, AChatTurnOfTheArticle) {
  const Phases p = phases_at(2000, 2000, 962, 39.6);
  EXPECT_NEAR(p.prefill, 2.08, 0.005);
  EXPECT_NEAR(p.decode, 50.5, 0.05);
  EXPECT_NEAR(p.total(), 52.6, 0.05);
  EXPECT_NEAR(p.prefill_share(), 0.04, 0.005);
}

TEST(Phases, TheCrossoverIsTheRatioOfTheRates) {
  EXPECT_NEAR(*crossover(962, 39.6), 24.3, 0.05);
  EXPECT_NEAR(phases_at(24.2929, 1, 962, 39.6).prefill_share(), 0.5, 1e-4);
  EXPECT_NEAR(phases_at(4.5, 1, 962, 39.6).prefill_share(), 0.156, 0.0005);
  EXPECT_FALSE(crossover(0, 1));
  EXPECT_FALSE(crossover(1, 0));
}

TEST(Phases, DoublingAPhaseSavesHalfOfIt) {
  const struct {
    double prompt, reply, prefill, decode;  // saved, in % of the request
  } rows[] = {{256, 512, 1, 49},
              {2000, 2000, 2, 48},
              {16000, 1000, 20, 30},
              {32000, 512, 36, 14},
              {32000, 256, 42, 8}};
  for (const auto& r : rows) {
    const Phases p = phases_at(r.prompt, r.reply, 962, 39.6);
    EXPECT_NEAR(saved_by_prefill(p, 2) / p.total() * 100, r.prefill, 0.5) << r.prompt << "/" << r.reply;
    EXPECT_NEAR(saved_by_decode(p, 2) / p.total() * 100, r.decode, 0.5) << r.prompt << "/" << r.reply;
  }
}

TEST(Phases, NoTimeHasNoShare) { EXPECT_EQ(Phases{}.prefill_share(), 0); }

TEST(Ledger, CeilingsOfTheArticle) {
  EXPECT_NEAR(bandwidth_ceiling_tps(5.5e9, 640e9), 116, 0.5);
  EXPECT_NEAR(bandwidth_ceiling_tps(4.3e9, 640e9), 149, 0.5);
  EXPECT_NEAR(5.5e9 / 640e9, 8.6e-3, 0.05e-3);
  // What is streamed is less than what the file holds.
  EXPECT_GE(bandwidth_ceiling_tps(5.1e9, 640e9), 124);
  EXPECT_LE(bandwidth_ceiling_tps(5.1e9, 640e9), 126);
}

TEST(Ledger, TheTighterBoundIsTheCeiling) {
  const DeviceRates rates{.bandwidth = 10e9, .int8_ops = 1e12, .f32_ops = 1e11};
  const auto decode = phase_ceiling(1e9, 2e9, rates, 5);
  ASSERT_TRUE(decode);
  EXPECT_EQ(decode->bound, "bandwidth");
  EXPECT_DOUBLE_EQ(decode->ceiling_tps, 10);
  EXPECT_DOUBLE_EQ(decode->achieved(), 0.5);
  const auto prefill = phase_ceiling(1e9 / 512, 2e9, rates, 250);
  ASSERT_TRUE(prefill);
  EXPECT_EQ(prefill->bound, "arithmetic");
  EXPECT_DOUBLE_EQ(prefill->ceiling_tps, 500);
  EXPECT_FALSE(phase_ceiling(1e9, 1e9, {}, 5)) << "no rates, no ceiling";
}

TEST(Article, CorrectedRowsUseTheDecodeRateOfTheirDepth) {
  const auto rows = article_rows();
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_NEAR(rows[3].corrected.total(), 52.2, 0.05);
  EXPECT_NEAR(rows[3].corrected.prefill_share(), 0.64, 0.005);
  EXPECT_NEAR(rows[4].corrected.total(), 42.7, 0.05);
  EXPECT_NEAR(rows[4].corrected.prefill_share(), 0.78, 0.005);
  // The first three are as published, up to its rounding.
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(rows[i].corrected.total(), rows[i].published.total(), 0.06);
    EXPECT_NEAR(rows[i].corrected.prefill_share(), rows[i].published_share, 0.005);
  }
}

TEST(Article, EachStepSavesWhatItSays) {
  const double golden[] = {4.48, 1.40, 0.80, 0.37};
  const auto steps = article_steps();
  ASSERT_EQ(steps.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(steps[i].corrected_saved, golden[i], 0.005);
    EXPECT_NEAR(steps[i].published_saved, golden[i], 0.001);
  }
  EXPECT_NEAR(steps[0].corrected_saved / steps[3].corrected_saved, 12, 0.5) << "a twelfth, not an eighth";
}

std::string corrected_of(const std::string& about) {
  for (const ArticleDifference& d : article_differences())
    if (d.about == about) return d.corrected;
  return "not named";
}

TEST(Article, EverySlipIsNamed) {
  EXPECT_EQ(corrected_of("crossover"), "24.3 : 1");
  EXPECT_EQ(corrected_of("RAG answer 32k/512"), "52.2 s, 64 % prefill");
  EXPECT_EQ(corrected_of("Doc summary 32k/256"), "42.7 s, 78 % prefill");
  EXPECT_EQ(corrected_of("last fix against first"), "1/12");
  EXPECT_EQ(corrected_of("decode ceiling of the 5.5 GB file"), "125 tok/s");
  EXPECT_EQ(corrected_of("the month's worth for a chat turn"), "11.8 % of the wall clock");
}

TEST(Article, BothFiguresShowTheirOwnNumbers) {
  const std::string published = figure_text(article_figure(false), 100, false),
                    corrected = figure_text(article_figure(true), 100, false);
  EXPECT_NE(published.find("46.2 s"), std::string::npos) << published;
  EXPECT_NE(corrected.find("52.2 s *"), std::string::npos) << corrected;
  EXPECT_EQ(corrected.find("46.2 s"), std::string::npos) << corrected;
}

TEST(Workloads, AreTheFiveOfTheArticleWithAKOf1024) {
  ASSERT_EQ(named_workloads().size(), 5u);
  const Workload w = *parse_workload("code-review");
  EXPECT_EQ(w.prompt, 16384u);
  EXPECT_EQ(w.reply, 1024u);
  EXPECT_EQ(format_shape(w), "16k/1k");
}

TEST(Workloads, AreReadAsWritten) {
  EXPECT_EQ(parse_workload("2k/300")->prompt, 2048u);
  EXPECT_EQ(parse_workload("2K/300")->reply, 300u);
  EXPECT_EQ(format_shape(*parse_workload("1025/1")), "1025/1");
  for (const char* wrong :
       {"", "16k", "/", "16k/", "0/5", "5/0", "-1/5", "1.5k/1", "16k/1k/1", "99999999k/1", "chat"}) {
    const auto w = parse_workload(wrong);
    ASSERT_FALSE(w) << wrong;
    EXPECT_TRUE(w.error().wrong_use);
    EXPECT_NE(w.error().hint.find("short-chat"), std::string::npos);
  }
}

}  // namespace
}  // namespace brass::report
