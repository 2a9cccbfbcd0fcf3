#include <gtest/gtest.h>

#include <set>

#include "app/bench_machine.h"
#include "app/bench_prose.h"
#include "app/bench_requests.h"
#include "temp_folder.h"

namespace brass::app {
namespace {

TEST(BenchProse, IsAsLongAsWantedAndAPrefixOfItself) {
  const std::string text = bench_prose(200000);
  EXPECT_GE(text.size(), 200000u);
  EXPECT_EQ(bench_prose(5000), text.substr(0, bench_prose(5000).size()));
  // No two windows of a kilobyte are the same text: a paragraph returns in other company.
  std::set<std::string> windows;
  for (size_t i = 0; i + 1024 < 100000; i += 256)
    EXPECT_TRUE(windows.insert(text.substr(i, 1024)).second) << i;
}

TEST(BenchRequests, AreReadInEveryUsualForm) {
  EXPECT_EQ(parse_request(R"({"prompt_tokens":12,"completion_tokens":3})")->prompt, 12u);
  EXPECT_EQ(parse_request(R"({"usage":{"prompt_tokens":12,"completion_tokens":3},"id":"x"})")->reply, 3u);
  EXPECT_EQ(parse_request(R"({"prompt":7,"reply":9})")->positions(), 16u);
  for (const char* wrong :
       {"", "3", "[]", "{", R"({"prompt_tokens":12})", R"({"prompt_tokens":0,"completion_tokens":3})",
        R"({"prompt_tokens":"12","completion_tokens":3})", R"({"prompt_tokens":1e12,"completion_tokens":3})",
        R"({"prompt_tokens":-4,"completion_tokens":3})", R"({"prompt":"text","reply":3})"})
    EXPECT_FALSE(parse_request(wrong)) << wrong;
}

TEST(BenchRequests, ErrorsNameTheLine) {
  const TempFolder folder;
  const std::string path =
      folder.write("r.jsonl", std::string("{\"prompt\":1,\"reply\":1}\n\n{\"prompt\":1}\n"));
  const auto requests = read_requests(path);
  ASSERT_FALSE(requests);
  EXPECT_NE(requests.error().message.find("r.jsonl:3"), std::string::npos) << requests.error().message;
  EXPECT_FALSE(read_requests(folder / "missing.jsonl"));
  EXPECT_FALSE(read_requests(folder.write("empty.jsonl", std::string("\n"))));
}

TEST(BenchRequests, SumsSayWhichPhaseBindsHowMany) {
  const report::Speed speed{report::Curve({{0, {1e-3}}, {9000, {1e-3}}}),
                            report::Curve({{0, {10e-3}}, {9000, {10e-3}}}), 0};
  // The phases are equal at 10 : 1.
  const auto sum = sum_requests("logs/a.jsonl", {{"", 1000, 11}, {"", 1000, 300}, {"", 4000, 100}}, speed);
  EXPECT_EQ(sum.file, "a.jsonl");
  EXPECT_EQ(sum.count, 3u);
  EXPECT_EQ(sum.prefill_bound, 2u);
  EXPECT_NEAR(sum.phases.prefill, 6.0, 1e-9);
  EXPECT_NEAR(sum.phases.decode, 0.1 + 2.99 + 0.99, 1e-9);
}

TEST(BenchMachine, SaysOnlyWhatIsPlausible) {
  EXPECT_GT(timer_resolution(), 0);
  EXPECT_LT(timer_resolution(), 1e-3);
  EXPECT_LT(timer_cost(), 1e-4);
  Neighbours n;
  if (const auto share = n.share()) {
    EXPECT_GE(*share, 0);
    EXPECT_LE(*share, 1);
  }
}

}  // namespace
}  // namespace brass::app
