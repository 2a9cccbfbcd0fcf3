// Candidates found on the device: they are the largest logits, bit for bit, and a text that is sampled from them is the one
// that is sampled from all logits.
#include "backend/vulkan/candidates.h"

#include "choose_case.h"
#include "runtime/generation.h"
#include "runtime/model_fixture.h"
#include "source_dir.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

using Dispatches = std::map<std::string, uint64_t>;

std::unique_ptr<Device> gpu(Dispatches* dispatches = nullptr, bool poison = true) {
  auto device = make_vulkan_device({.check_finite = false, .poison = poison, .dispatches = dispatches});
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  return std::move(*device);
}

// Subgroups of the device that is taken without being asked for.
uint32_t lanes() {
  const auto all = vulkan_devices();
  const auto found = std::ranges::find_if(*all, [](const VulkanInfo& d) { return d.kind != "cpu"; });
  return found != all->end() ? found->subgroup : all->front().subgroup;
}

TEST(VulkanCandidates, RoundsEndWithOnePart) {
  for (const uint32_t lanes : {8u, 16u, 32u, 64u})
    for (const uint32_t values : {1u, 127u, 2048u, 2049u, 151936u, 262144u, kMostChoices})
      for (const uint32_t wanted : {1u, 2u, 40u, 128u}) {
        if (wanted > values) continue;
        uint32_t left = values;
        const auto rounds = vulkan::candidate_rounds(values, wanted, lanes);
        for (const auto& round : rounds) {
          EXPECT_EQ(round.values, left);
          EXPECT_LE(round.threads, std::min(1024u, 32 * lanes));
          EXPECT_GE(uint64_t{8} * round.threads * round.parts, round.values);
          EXPECT_LT(uint64_t{8} * round.threads * (round.parts - 1), round.values);
          EXPECT_EQ(round.parts == 1, &round == &rounds.back());
          left = round.left;
        }
        EXPECT_EQ(left, wanted) << wanted << " of " << values << ", subgroups of " << lanes;
      }
  EXPECT_EQ(vulkan::candidate_rounds(151936, 128, 32).size(), 2u);
}

TEST(VulkanCandidates, AreTheLargestLogits) {
  if (!vulkan_is_there()) GTEST_SKIP();
  Dispatches dispatches;
  expect_right_candidates([&] { return gpu(&dispatches); });
  uint64_t rounds = 0;
  for (const uint32_t width : kCandidateWidths)
    for (const uint32_t count : kCandidateCounts)
      rounds += vulkan::candidate_rounds(width, std::min(count, width), lanes()).size();
  EXPECT_EQ(dispatches["candidates"], rounds);
  EXPECT_EQ(dispatches["choose"], 0u);
}

// What lies between the rounds is in what was predicted.
TEST(VulkanCandidates, MemoryIsAsPredicted) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const Logits logits = difficult_logits(50021);
  const std::shared_ptr<const Graph> graph = graph_of(logits, 1);
  const auto device = gpu();
  const auto plan = device->compile(graph, {.t = 8, .r = 8, .choose = kMostCandidates});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_GT(vulkan::candidate_bytes(**plan, lanes()), 8u * 8 * kMostCandidates);
  const Graph* const graphs[] = {graph.get()};
  const MemoryUse use{
      .graphs = graphs, .pools = {}, .plans = {&*plan, 1}, .sequences = 1, .positions = kPageTokens};
  const auto need = device->memory_need(use);
  ASSERT_TRUE(need.has_value()) << need.error().message;
  load(*device, *graph);
  ASSERT_TRUE(device->reserve(use).has_value());
  EXPECT_EQ(device->memory_taken(), need->total());
  chosen_of(*device, graph, 8, kMostCandidates);
  EXPECT_EQ(device->memory_taken(), need->total()) << "after a step";
}

std::unique_ptr<Engine> open_engine(uint32_t sequences, Dispatches& dispatches) {
  const std::string path = source_dir() + "/tests/runtime/fixtures/llamabias-a.gguf";
  auto engine = Engine::create(std::move(*load_model(path)), gpu(&dispatches, false),
                               {.context = 128, .sequences = sequences, .chunk = 64}, {});
  EXPECT_TRUE(engine.has_value()) << (engine ? "" : engine.error().message);
  return std::move(*engine);
}

// Replies side by side, as many at a time as the engine has sequences beside `prompt`, whose pages they share.
std::vector<std::vector<int32_t>> replies(Engine& engine, SequenceId prompt, const std::vector<int32_t>& ids,
                                          const std::vector<SamplingParams>& wanted, ChosenBy by,
                                          uint32_t tokens) {
  std::vector<std::vector<int32_t>> texts;
  for (size_t begin = 0; begin < wanted.size(); begin += engine.sequences() - 1) {
    std::vector<std::unique_ptr<Generation>> some;
    for (size_t i = begin; i < std::min(wanted.size(), begin + engine.sequences() - 1); i++) {
      auto g = Generation::start(engine, *engine.fork(prompt), nullptr, ids,
                                 {.sampling = wanted[i], .max_tokens = tokens});
      EXPECT_TRUE(g.has_value()) << (g ? "" : g.error().message);
      EXPECT_EQ((*g)->chosen_by(), by);
      some.push_back(std::move(*g));
    }
    while (engine.has_work()) {
      const auto made = engine.step();
      EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
      for (const StepRows& rows : *made)
        for (const auto& g : some) {
          if (g->sequence() != rows.sequence) continue;
          EXPECT_TRUE(g->accept_row(rows.first_row).has_value());
        }
    }
    for (const auto& g : some) {
      EXPECT_EQ(g->ids().size(), tokens);
      texts.push_back(g->ids());
      engine.drop(g->sequence());
    }
  }
  return texts;
}

// Twenty seeds of each chain of filters.
std::vector<SamplingParams> sampled() {
  SamplingParams plain{.temperature = 1.2f, .top_k = 40, .top_p = 1, .min_p = 0};
  std::vector<SamplingParams> chains(7, plain);
  chains[1].top_p = 0.8f;
  chains[2].min_p = 0.1f;
  chains[3].typical_p = 0.5f;
  chains[4].xtc = {0.5f, 0.02f};
  chains[5] = {.temperature = 0.7f, .top_k = 128, .top_p = 0.9f, .min_p = 0.01f, .typical_p = 0.9f};
  chains[5].xtc = {0.3f, 0.01f};
  chains[6].top_k = 3;
  std::vector<SamplingParams> all;
  for (uint64_t seed = 0; seed < 20; seed++)
    for (SamplingParams& chain : chains) {
      chain.seed = seed;
      all.push_back(chain);
    }
  return all;
}

// The same without changing a logit, but so that the sampler wants to see all.
std::vector<SamplingParams> of_all_logits(std::vector<SamplingParams> all) {
  for (SamplingParams& params : all) params.logit_bias = {{1, 0.0f}};
  return all;
}

TEST(VulkanCandidates, TextsAreThoseOfAllLogits) {
  if (!vulkan_is_there()) GTEST_SKIP();
  Dispatches dispatches;
  const auto engine = open_engine(8, dispatches);
  const std::vector<int32_t> ids = random_ids(*engine, 6, 3);
  const SequenceId prompt = *engine->create_sequence();
  ASSERT_TRUE(engine->sync(prompt, ids).has_value());
  ASSERT_TRUE(engine->step().has_value());
  const std::vector<SamplingParams> wanted = sampled();
  const auto expected = replies(*engine, prompt, ids, of_all_logits(wanted), ChosenBy::kSampler, 5);
  EXPECT_EQ(dispatches["candidates"], 0u);
  EXPECT_EQ(replies(*engine, prompt, ids, wanted, ChosenBy::kCandidates, 5), expected);
  EXPECT_GT(dispatches["candidates"], 0u);
  EXPECT_EQ(dispatches["choose"], 0u);
  EXPECT_GT(std::set(expected.begin(), expected.end()).size(), 100u);  // texts, not one text
}

// Who takes the likeliest token, who samples and who looks at all logits, side by side and in changing company.
TEST(VulkanCandidates, CompanyChangesNoText) {
  if (!vulkan_is_there()) GTEST_SKIP();
  Dispatches dispatches;
  const auto engine = open_engine(4, dispatches);
  const std::vector<int32_t> ids = random_ids(*engine, 6, 3);
  const SequenceId prompt = *engine->create_sequence();
  ASSERT_TRUE(engine->sync(prompt, ids).has_value());
  ASSERT_TRUE(engine->step().has_value());
  const SamplingParams greedy{.greedy = true}, warm{.temperature = 2.0f, .seed = 5};
  const SamplingParams biased = of_all_logits({{.temperature = 2.0f, .top_k = 0, .seed = 6}})[0];
  struct Reply {
    SamplingParams params;
    ChosenBy by;
    uint32_t tokens;  // the shortest ends first, and leaves the others to themselves
    std::vector<int32_t> expected = {};
  };
  std::vector<Reply> all = {
      {greedy, ChosenBy::kDevice, 18}, {warm, ChosenBy::kCandidates, 12}, {biased, ChosenBy::kSampler, 6}};
  for (Reply& r : all) r.expected = replies(*engine, prompt, ids, {r.params}, r.by, r.tokens)[0];
  std::vector<std::unique_ptr<Generation>> together;
  for (const Reply& r : all)
    together.push_back(std::move(*Generation::start(*engine, *engine->fork(prompt), nullptr, ids,
                                                    {.sampling = r.params, .max_tokens = r.tokens})));
  const uint64_t ahead = engine->steps_ahead();
  dispatches.clear();
  while (engine->has_work()) {
    const auto made = engine->step();
    ASSERT_TRUE(made.has_value()) << made.error().message;
    for (const StepRows& rows : *made)
      for (const auto& g : together) {
        if (g->sequence() != rows.sequence) continue;
        ASSERT_TRUE(g->accept_row(rows.first_row).has_value());
      }
  }
  for (size_t i = 0; i < all.size(); i++) EXPECT_EQ(together[i]->ids(), all[i].expected) << i;
  EXPECT_GT(dispatches["candidates"], 0u);  // of two
  EXPECT_GT(engine->steps_ahead(), ahead);  // of one
}

}  // namespace
}  // namespace brass
