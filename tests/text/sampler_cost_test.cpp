// What a sampled token costs: no allocation, and times that are printed and loosely bounded.
#include <gtest/gtest.h>
#include <time.h>

#include <cstdlib>
#include <new>

#include "base/rng.h"
#include "text/sampler.h"
#include "text/stop_strings.h"

namespace {
thread_local size_t g_allocations = 0;  // of this test program; counted by the operators below
}

void* operator new(size_t size) {
  ++g_allocations;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++g_allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }

namespace brass {
namespace {

constexpr int kVocab = 151936;  // of Qwen2 and Qwen3

// Like a language model: a few tokens stand out of a broad mass.
std::vector<float> lifelike_logits(uint64_t seed) {
  Rng rng(seed);
  std::vector<float> logits(kVocab);
  for (float& x : logits) x = static_cast<float>(rng.normal() * 2.5);
  for (int i = 0; i < 30; ++i) logits[rng.below(kVocab)] = static_cast<float>(10 + rng.normal() * 3);
  return logits;
}

std::vector<std::pair<std::string, SamplingParams>> parameter_sets() {
  SamplingParams greedy, defaults, all_penalties, only_top_p, only_min_p, only_typical, heat, xtc, big_k;
  greedy.greedy = true;
  defaults.min_p = 0;
  all_penalties.repeat_penalty = 1.1f;
  all_penalties.frequency_penalty = 0.1f;
  all_penalties.repeat_last_n = 256;
  all_penalties.dry.multiplier = 0.8f;
  all_penalties.dry.penalty_last_n = 1024;
  all_penalties.dry.sequence_breakers = {{13}, {198, 198}};
  all_penalties.logit_bias = {{5, -1.0f}, {77, 3.0f}};
  for (SamplingParams* p : {&only_top_p, &only_min_p, &only_typical, &heat, &xtc}) {
    p->top_k = 0;
    p->top_p = 1;
    p->min_p = 0;
  }
  only_top_p.top_p = 0.95f;
  only_min_p.min_p = 0.05f;
  only_typical.typical_p = 0.9f;
  xtc.xtc = {.probability = 0.5f, .threshold = 0.05f};
  big_k.top_k = 20000;
  std::vector<std::pair<std::string, SamplingParams>> sets = {{"greedy", greedy},
                                                              {"top-k 40, top-p 0.95", defaults},
                                                              {"the same with all penalties", all_penalties},
                                                              {"top-p alone", only_top_p},
                                                              {"min-p alone", only_min_p},
                                                              {"typical alone", only_typical},
                                                              {"temperature alone", heat},
                                                              {"xtc alone", xtc},
                                                              {"top-k 20000", big_k}};
  for (auto& [name, params] : sets) params.seed = 3;
  return sets;
}

double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

TEST(SamplerCost, NoAllocationPerToken) {
  const auto logits = lifelike_logits(1);
  const std::vector<float> flat(kVocab, 0.25f);  // every selection meets nothing but ties
  for (const auto& [name, params] : parameter_sets()) {
    Sampler sampler(params, kVocab);
    const size_t before = g_allocations;
    for (int i = 0; i < 12; ++i) {
      for (int j = 0; j < 100; ++j) sampler.accept((i * 100 + j * j) % 50);
      sampler.accept(sampler.sample(i % 4 == 3 ? flat : logits).value());
    }
    EXPECT_EQ(g_allocations, before) << name;
  }
}

TEST(SamplerCost, NoAllocationPerPushOfAToken) {
  StopFilter filter({"</s>", "\n\nUser:", "xyz"});
  const size_t before = g_allocations;
  for (int i = 0; i < 1000; ++i) {
    filter.push(" token");
    filter.push("\n\nUse");
  }
  EXPECT_EQ(g_allocations, before);
}

// The figures are for a quiet machine; the bounds leave room for a busy one and for sanitizers.
TEST(SamplerCost, TimePerToken) {
  const auto logits = lifelike_logits(2);
  for (const auto& [name, params] : parameter_sets()) {
    Sampler sampler(params, kVocab);
    for (int i = 0; i < 2000; ++i) sampler.accept(i * i % 3001);
    double best = 1;
    for (int i = 0; i < 30; ++i) {
      const double start = thread_seconds();
      const int32_t token = sampler.sample(logits).value();
      best = std::min(best, thread_seconds() - start);
      sampler.accept(token);
    }
    std::printf("%-30s %8.1f us\n", name.c_str(), best * 1e6);
    EXPECT_LT(best, 0.2) << name;
  }
}

// A selection that is quadratic in ties, or a sort of the vocabulary for each filter, would take seconds.
TEST(SamplerCost, TiesAndFlatDistributionsStayLinear) {
  const std::vector<float> flat(kVocab, 0.25f);
  for (const auto& [name, params] : parameter_sets()) {
    Sampler sampler(params, kVocab);
    const double start = thread_seconds();
    EXPECT_TRUE(sampler.sample(flat)) << name;
    EXPECT_LT(thread_seconds() - start, 0.5) << name;
  }
}

// The longest window full of one token, the worst case of a naive search for repeats.
TEST(SamplerCost, DryIsLinearInItsWindow) {
  SamplingParams params;
  params.greedy = true;
  params.dry.multiplier = 1.0f;
  Sampler sampler(params, 100);
  for (int i = 0; i < DryParams::kMaxWindow + 100; ++i) sampler.accept(7);
  std::vector<float> logits(100, 0.0f);
  logits[7] = 3.0f;
  const double start = thread_seconds();
  EXPECT_EQ(sampler.sample(logits).value(), 0);
  EXPECT_LT(thread_seconds() - start, 0.1);
}

}  // namespace
}  // namespace brass
