// The generation loop: ends, held-back text, seeds, timings, and nothing allocated per token.
#include "runtime/generation.h"

#include <cstdlib>
#include <new>

#include "model_fixture.h"
#include "text/grammar/choices.h"

namespace {
std::atomic<size_t> allocations{0};

void* counted(size_t size) {
  allocations++;
  void* p = std::malloc(size == 0 ? 1 : size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
}  // namespace

void* operator new(size_t size) { return counted(size); }
void* operator new[](size_t size) { return counted(size); }
// std::stable_sort's buffer comes from this one, and goes back through the plain delete.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  allocations++;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }

namespace brass {
namespace {

// 400 pieces for the model made here: bytes, then two-letter pieces; the last one ends a text.
std::unique_ptr<Tokenizer> small_tokenizer() {
  VocabSpec spec{.model = "llama",
                 .pre = "",
                 .tokens = {"<unk>"},
                 .scores = {},
                 .kinds = {TokenKind::kUnknown},
                 .merges = {}};
  for (int i = 0; i < 256; i++) {
    spec.tokens.push_back(fmt::format("<0x{:02X}>", i));
    spec.kinds.push_back(TokenKind::kByte);
  }
  while (spec.tokens.size() < 399) {
    const size_t n = spec.tokens.size();
    spec.tokens.push_back(std::string{static_cast<char>('a' + n % 23), static_cast<char>('a' + n / 23)});
    spec.kinds.push_back(TokenKind::kNormal);
  }
  spec.tokens.push_back("</s>");
  spec.kinds.push_back(TokenKind::kControl);
  spec.scores.assign(spec.tokens.size(), 0.0f);
  spec.unk = 0;
  spec.eos = 399;
  Result<std::unique_ptr<Tokenizer>> made = Tokenizer::create(spec);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return std::move(*made);
}

class GenerationTest : public testing::Test {
 protected:
  void SetUp() override {
    engine_ = open(quantized_llama(folder_), {.context = 600});
    sequence_ = *engine_->create_sequence();
    prompt_ = random_ids(*engine_, 20, 5);
  }

  std::unique_ptr<Generation> start(GenerationOptions options) {
    auto made = Generation::start(*engine_, sequence_, tokenizer_.get(), prompt_, std::move(options));
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    return std::move(*made);
  }

  // The whole reply; what was shown must be its text.
  std::unique_ptr<Generation> reply(GenerationOptions options) {
    auto g = start(std::move(options));
    std::string shown;
    EXPECT_TRUE(run_alone(*engine_, *g, [&](std::string_view text) {
                  shown += text;
                  return true;
                }).has_value());
    EXPECT_EQ(shown, g->text());
    return g;
  }

  TempFolder folder_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Tokenizer> tokenizer_ = small_tokenizer();
  SequenceId sequence_ = -1;
  std::vector<int32_t> prompt_;
};

const SamplingParams kGreedy{.greedy = true};

TEST_F(GenerationTest, EndsAtTheLimit) {
  const auto g = reply({.sampling = kGreedy, .max_tokens = 12, .ignore_end = true});
  EXPECT_EQ(g->finish(), Finish::kLength);
  EXPECT_EQ(g->ids().size(), 12u);
  const Timings t = g->timings();
  EXPECT_EQ(t.prompt_tokens, 20u);
  EXPECT_EQ(t.decode_tokens, 12u);
  EXPECT_GT(t.prefill_s, 0);
  EXPECT_GT(t.decode_s, 0);
}

TEST_F(GenerationTest, FullContextIsALength) {
  const auto g = reply({.sampling = kGreedy, .ignore_end = true});
  EXPECT_EQ(g->finish(), Finish::kLength);
  // The last token needs no place: it is never read.
  EXPECT_EQ(prompt_.size() + g->ids().size(), 601u);
}

TEST_F(GenerationTest, EndTokenEndsAndIsNoText) {
  const auto g = reply({.sampling = {.logit_bias = {{399, 1000.0f}}, .greedy = true}, .max_tokens = 50});
  EXPECT_EQ(g->finish(), Finish::kStop);
  EXPECT_TRUE(g->ids().empty());
  EXPECT_EQ(g->text(), "");
}

TEST_F(GenerationTest, StopStringsCutAndAreHeldBack) {
  const std::string whole = reply({.sampling = kGreedy, .max_tokens = 40, .ignore_end = true})->text();
  ASSERT_GT(whole.size(), 12u);
  const std::string stop = whole.substr(6, 5);  // across tokens, most likely
  const auto g = reply({.sampling = kGreedy, .stops = {stop}, .max_tokens = 40, .ignore_end = true});
  EXPECT_EQ(g->finish(), Finish::kStop);
  EXPECT_EQ(g->text(), whole.substr(0, whole.find(stop)));
  // A stop string that only begins when the limit comes is text.
  const auto cut = reply({.sampling = kGreedy, .stops = {whole + "!"}, .max_tokens = 40, .ignore_end = true});
  EXPECT_EQ(cut->finish(), Finish::kLength);
  EXPECT_EQ(cut->text(), whole);
}

TEST_F(GenerationTest, SameSeedSameText) {
  const auto with_seed = [&](uint64_t seed) {
    return reply({.sampling = {.temperature = 1.5f, .seed = seed}, .max_tokens = 30, .ignore_end = true})
        ->ids();
  };
  EXPECT_EQ(with_seed(1), with_seed(1));
  EXPECT_NE(with_seed(1), with_seed(2));
}

// A device that chooses does so where nothing else has a say; candidates are enough for a chain that begins with a small top-k.
TEST_F(GenerationTest, WhoChooses) {
  const std::vector<std::string> words = {"a", "b"};
  const auto grammar =
      grammar::compile(*grammar::grammar_from_choices(words), grammar::TokenTrie::create(*tokenizer_));
  struct Case {
    GenerationOptions options;
    ChosenBy by;  // on a device that chooses
  };
  const std::vector<Case> all = {
      {{.sampling = kGreedy}, ChosenBy::kDevice},
      {{.sampling = {.temperature = 0}}, ChosenBy::kDevice},
      {{.sampling = {.top_k = 1}}, ChosenBy::kDevice},
      {{.sampling = {}}, ChosenBy::kCandidates},
      {{.sampling = {.top_k = 128, .typical_p = 0.5f, .xtc = {.probability = 0.5f}}}, ChosenBy::kCandidates},
      {{.sampling = {.top_k = 129}}, ChosenBy::kSampler},
      {{.sampling = {.top_k = 0}}, ChosenBy::kSampler},
      {{.sampling = {.repeat_penalty = 1.1f}}, ChosenBy::kSampler},
      {{.sampling = {.frequency_penalty = 0.1f}}, ChosenBy::kSampler},
      {{.sampling = {.presence_penalty = 0.1f}}, ChosenBy::kSampler},
      {{.sampling = {.dry = {.multiplier = 0.5f}}}, ChosenBy::kSampler},
      {{.sampling = {.logit_bias = {{3, 1.0f}}}}, ChosenBy::kSampler},
      {{.sampling = {.logit_bias = {{3, 1.0f}}, .greedy = true}}, ChosenBy::kSampler},
      {{.sampling = kGreedy, .constraint = {.grammar = grammar}}, ChosenBy::kSampler},
      {{.sampling = {}, .constraint = {.grammar = grammar}}, ChosenBy::kSampler}};
  for (const Case& c : all) EXPECT_EQ(start(c.options)->chosen_by(), ChosenBy::kSampler);
  engine_ = open(quantized_llama(folder_), {.device = "ref", .context = 600, .kv_type = KvType::kF32});
  sequence_ = *engine_->create_sequence();
  for (size_t i = 0; i < all.size(); i++)
    EXPECT_EQ(chosen_by_name(start(all[i].options)->chosen_by()), chosen_by_name(all[i].by)) << i;
}

TEST_F(GenerationTest, CandidatesGiveTheTextOfAllLogits) {
  engine_ = open(quantized_llama(folder_), {.device = "ref", .context = 600, .kv_type = KvType::kF32});
  sequence_ = *engine_->create_sequence();
  for (const int top_k : {2, 40, 128})
    for (uint64_t seed = 1; seed <= 3; seed++) {
      SamplingParams few{.temperature = 1.5f, .top_k = top_k, .seed = seed}, all = few;
      all.logit_bias = {{1, 0.0f}};
      const auto by_candidates = reply({.sampling = few, .max_tokens = 8, .ignore_end = true});
      const auto by_logits = reply({.sampling = all, .max_tokens = 8, .ignore_end = true});
      EXPECT_EQ(by_candidates->chosen_by(), ChosenBy::kCandidates);
      EXPECT_EQ(by_logits->chosen_by(), ChosenBy::kSampler);
      EXPECT_EQ(by_candidates->ids(), by_logits->ids());
    }
}

TEST_F(GenerationTest, CancelReleasesWhatWasHeldBack) {
  const std::string whole = reply({.sampling = kGreedy, .max_tokens = 6, .ignore_end = true})->text();
  auto g = start({.sampling = kGreedy, .stops = {whole + "!"}, .max_tokens = 40, .ignore_end = true});
  std::string shown;
  int calls = 0;
  ASSERT_TRUE(run_alone(*engine_, *g, [&](std::string_view text) {
                shown += text;
                return ++calls < 6;
              }).has_value());
  EXPECT_EQ(g->finish(), Finish::kCancel);
  EXPECT_EQ(shown, whole);
}

TEST_F(GenerationTest, TheSecondTurnReusesTheFirst) {
  const auto first = reply({.sampling = kGreedy, .max_tokens = 8, .ignore_end = true});
  prompt_.insert(prompt_.end(), first->ids().begin(), first->ids().end());
  prompt_.push_back(3);
  const auto second = reply({.sampling = kGreedy, .max_tokens = 4, .ignore_end = true});
  EXPECT_EQ(second->timings().cached_tokens,
            27u);  // all but the last sampled token, which was never processed
}

TEST_F(GenerationTest, NothingIsAllocatedPerToken) {
  auto g = start(
      {.sampling = {.temperature = 1.0f, .repeat_penalty = 1.1f, .dry = {.multiplier = 0.5f}, .seed = 1},
       .stops = {"never", "seen!"},
       .max_tokens = 300,
       .ignore_end = true});
  size_t before = 0;
  for (int i = 0; g->finish() == Finish::kNone; i++) {
    if (i == 8) before = allocations.load();  // plans and buffers exist
    const auto made = engine_->step();
    ASSERT_TRUE(made.has_value());
    ASSERT_TRUE(g->accept(engine_->logits((*made)[0].first_row)).has_value());
  }
  EXPECT_EQ(g->ids().size(), 300u);
  EXPECT_EQ(allocations.load() - before, 0u);
}

}  // namespace
}  // namespace brass
