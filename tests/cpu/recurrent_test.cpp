// Recurrent operations on the CPU device, on each tier that this machine has: against ref, and bit for bit over cuts of
// a text into steps, threads and neighbours in a batch.
#include "backend/cpu/device.h"
#include "backend/ref/ref.h"
#include "state_harness.h"

namespace brass {
namespace {

std::vector<std::string> tiers() {
  std::vector<std::string> found;
  const std::string all = cpu_tier_names();
  for (size_t at = 0; at < all.size();) {
    const size_t comma = std::min(all.find(", ", at), all.size());
    const std::string isa = all.substr(at, comma - at);
    at = comma + 2;
    if (make_cpu_device({.threads = 1, .isa = isa})) found.push_back(isa);
  }
  return found;
}

std::unique_ptr<Device> cpu(const std::string& isa, uint32_t threads) {
  return std::move(*make_cpu_device({.threads = threads, .isa = isa}));
}

// The state group holds pages of its own size, which are copied whole, whatever is asked of a part.
TEST(CpuStates, PagesAreCopiedWhole) {
  const std::shared_ptr<const Graph> graph = delta_graph(1, 2, 7, 41, true);
  StateRunner r(cpu("", 1), graph);
  const uint64_t values = 21 + 2 * 7 * 41;
  EXPECT_EQ(r.device().page_bytes(graph->groups[0], KvType::kF16, KvType::kF16), 128u + 2304u);
  const std::vector<float> state = random_floats(values, 3), none(values, 0.0f);
  EXPECT_EQ(r.state(1), none);
  r.device().import_page(0, 1, state);
  r.device().copy_page(0, 1, 0);
  r.device().copy_part(0, 0, 2, 5);
  for (const PageId page : {0, 1, 2}) EXPECT_EQ(bits_of(r.state(page)), bits_of(state));
  r.device().import_page(0, 0, none);
  EXPECT_EQ(r.state(0), none);
  EXPECT_EQ(bits_of(r.state(2)), bits_of(state));
}

class CpuRecurrent : public testing::TestWithParam<StateCase> {};

// Several sequences with padding between them, from nothing, in place, from page to page, from a shared state and from
// snapshots.
std::vector<std::vector<StateRows>> episode() {
  return {
      {{0, 17, {-1, 0}, {{3, 5}, {16, 6}}}, {100, 105, {-1, 1}, {{100, 7}}, 2}, {200, 201, {-1, 2}, {}, 1}},
      {{17, 18, {0, 0}},
       {4, 74, {5, 3}, {{20, 10}}, 3},
       {105, 108, {1, 4}},
       {201, 203, {2, 8}, {{201, 11}}},
       {220, 221, {2, 9}}},
      {{203, 230, {8, 2}, {{203, 8}}}, {30, 33, {9, 9}}}};
}

double largest_of(const Logits& rows) {
  double most = 0;
  for (const auto& row : rows)
    for (const float x : row) most = std::max(most, std::fabs(static_cast<double>(x)));
  return most;
}

void expect_close(const Logits& found, const Logits& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  const double most = largest_of(expected);
  for (size_t i = 0; i < found.size(); i++)
    for (size_t j = 0; j < found[i].size(); j++)
      ASSERT_NEAR(found[i][j], expected[i][j], tolerance * most) << "row " << i << ", value " << j;
}

TEST_P(CpuRecurrent, FollowsRef) {
  const auto graph = GetParam().graph();
  for (const std::string& isa : tiers()) {
    SCOPED_TRACE(isa);
    StateRunner ref(make_ref_device({}), graph), r(cpu(isa, 2), graph);
    for (const std::vector<StateRows>& step : episode()) {
      const Logits expected = ref.step(step);
      expect_close(r.step(step), expected, 4e-6);
      for (PageId page = 0; page < static_cast<PageId>(StateRunner::kPages); page++)
        expect_close({r.state(page)}, {ref.state(page)}, 4e-6);
    }
  }
}

TEST_P(CpuRecurrent, ThreadsDoNotMatter) {
  const auto graph = GetParam().graph();
  for (const std::string& isa : tiers()) {
    SCOPED_TRACE(isa);
    StateRunner one(cpu(isa, 1), graph), two(cpu(isa, 2), graph), five(cpu(isa, 5), graph);
    for (const std::vector<StateRows>& step : episode()) {
      const Logits expected = one.step(step);
      EXPECT_TRUE(same_bits(expected, two.step(step)));
      EXPECT_TRUE(same_bits(expected, five.step(step)));
    }
    for (PageId page = 0; page < static_cast<PageId>(StateRunner::kPages); page++) {
      EXPECT_EQ(bits_of(one.state(page)), bits_of(two.state(page)));
      EXPECT_EQ(bits_of(one.state(page)), bits_of(five.state(page)));
    }
  }
}

// One text whole, and cut: the same outputs, and the same states as the snapshots of the whole.
TEST_P(CpuRecurrent, CutsAndNeighboursDoNotMatter) {
  constexpr int32_t kEnd = 70;
  const auto graph = GetParam().graph();
  for (const std::string& isa : tiers()) {
    SCOPED_TRACE(isa);
    StateRunner r(cpu(isa, 2), graph);
    const Logits whole = r.step({{0, kEnd, {-1, 0}, {{0, 1}, {6, 2}, {13, 3}, {34, 4}}}});
    const std::vector<std::pair<int32_t, PageId>> kept = {{0, 1}, {6, 2}, {13, 3}, {34, 4}, {kEnd - 1, 0}};
    for (const int32_t cut : {1, 7, 35}) {
      for (const bool in_place : {true, false}) {
        for (const bool neighbours : {true, false}) {
          Logits parts;
          StatePages pages{-1, 5};
          for (int32_t begin = 0; begin < kEnd; begin += cut) {
            std::vector<StateRows> step = {{begin, std::min(begin + cut, kEnd), pages}};
            if (neighbours) {
              step.insert(step.begin(), {90 + begin, 93 + begin, {begin == 0 ? -1 : 7, 7}});
              step.push_back({91, 95, {-1, 8}, {{92, 9}}, 2});
            }
            const Logits rows = r.step(step);
            const size_t first = neighbours ? 3 : 0;
            for (int32_t i = 0; i < step[first == 0 ? 0 : 1].end - begin; i++)
              parts.push_back(rows[first + static_cast<size_t>(i)]);
            for (const auto& [row, page] : kept) {
              if (row == step[first == 0 ? 0 : 1].end - 1) {
                EXPECT_EQ(bits_of(r.state(pages.out)), bits_of(r.state(page))) << "after row " << row;
              }
            }
            pages = {pages.out, in_place ? pages.out : 11 - pages.out};
          }
          EXPECT_TRUE(same_bits(parts, whole)) << "in parts of " << cut;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CpuRecurrent, testing::ValuesIn(state_cases()),
                         [](const testing::TestParamInfo<StateCase>& c) { return c.param.name; });

TEST(CpuStatesDeathTest, SharedPagesThatAreWrittenAbort) {
  StateRunner r(cpu("", 1), conv_graph(5, 3, false, false));
  EXPECT_DEATH(r.step({{0, 1, {-1, 0}}, {5, 6, {0, 1}}}), "share state 0");
  EXPECT_DEATH(r.step({{0, 1, {2, 0}}, {5, 6, {3, 0}}}), "share state 0");
  EXPECT_DEATH(r.step({{0, 1, {2, 0}, {{0, 3}}}, {5, 6, {3, 1}}}), "snapshot 3 is a state of sequence 1");
  EXPECT_DEATH(r.step({{0, 1, {-1, 12}}}), "states -1, 12 of 12");
}

}  // namespace
}  // namespace brass
