// Blocks that predict further tokens: tiny random models against a float64 reference of the published formulas, what
// must not change a bit of them, their memory, and speculation with them, which must not change a text.
#include <cmath>

#include "draft_fixture.h"
#include "guard_bands.h"
#include "sanitized.h"

namespace brass {
namespace {

constexpr ModelPurpose kDraft{.draft = true};

TEST(Drafts, RefAgreesWithTheFormulas) {
  for (const DraftReference& r : draft_references()) {
    SCOPED_TRACE(r.name);
    const auto engine = open(r.path, {.device = "ref", .kv_type = KvType::kF32}, kDraft);
    expect_reference(r, *engine, 1e-4);
  }
}

// With experts the cache's rounding can choose another one where two are nearly equal, which costs any bound.
TEST(Drafts, CpuAgreesWithTheFormulas) {
  for (const DraftReference& r : draft_references()) {
    SCOPED_TRACE(r.name);
    expect_reference(r, *open(r.path, {.kv_type = KvType::kF32}, kDraft), 2e-2);
    if (!r.has_experts()) expect_reference(r, *open(r.path, {}, kDraft), 2e-2);
  }
}

// ---- loading

TEST(Drafts, AreLoadedWhereTheyAreAskedFor) {
  for (const DraftReference& r : draft_references()) {
    SCOPED_TRACE(r.name);
    const auto plain = load_model(r.path), full = load_model(r.path, kDraft);
    ASSERT_TRUE(plain.has_value() && full.has_value());
    EXPECT_TRUE((*plain)->drafts.empty());
    EXPECT_LT((*plain)->graph->hidden, 0);
    EXPECT_EQ((*full)->drafts.size(), r.values["drafts"].size());
    uint64_t left_out = 0;  // bytes of the blocks behind the trunk
    for (const Weight& w : (*full)->graph->weights) {
      const bool in_trunk =
          std::ranges::any_of((*plain)->graph->weights, [&](const Weight& p) { return p.name == w.name; });
      if (!in_trunk) left_out += w.bytes();
    }
    uint64_t in_file = 0;
    const std::string first = fmt::format("blk.{}.", (*full)->info.layers - (*full)->drafts.size());
    const std::string second = fmt::format("blk.{}.", (*full)->info.layers - 1);
    for (const gguf::TensorInfo& t : (*full)->file->tensors())
      if (t.name.starts_with(first) || t.name.starts_with(second)) in_file += t.bytes;
    EXPECT_EQ(left_out, in_file);
    for (const auto& draft : (*full)->drafts) {
      EXPECT_EQ(draft->weights.size(), (*full)->graph->weights.size());
      EXPECT_EQ(draft->groups.size(), (*full)->graph->groups.size());
    }
  }
}

std::string message(const Result<std::unique_ptr<Model>>& loaded) {
  return loaded ? "loaded" : loaded.error().message;
}

// A copy of the file with every `from` overwritten by `to`.
std::string patched(const TempFolder& folder, const std::string& path, const std::string& from,
                    const std::string& to) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  size_t found = 0;
  for (size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + 1), found++)
    bytes.replace(at, from.size(), to);
  EXPECT_GT(found, 0u);
  const std::string out = folder / "patched.gguf";
  std::ofstream(out, std::ios::binary) << bytes;
  return out;
}

TEST(Drafts, WhatAFileLacksIsNamed) {
  const TempFolder folder;
  const std::string without = message(load_model(quantized_llama(folder), kDraft));
  EXPECT_NE(without.find("llama.nextn_predict_layers"), std::string::npos) << without;

  const DraftReference r = draft_reference("qwen35-mtp-a");
  const std::string missing = patched(folder, r.path, "nextn.eh_proj", "nextn.eh_pro_");
  EXPECT_NE(message(load_model(missing, kDraft)).find("blk.4.nextn.eh_proj.weight"), std::string::npos);
  EXPECT_TRUE(load_model(missing).has_value());  // the trunk alone needs nothing of it

  const std::string unknown = patched(folder, r.path, "nextn.enorm", "nextn.xnorm");
  EXPECT_NE(message(load_model(unknown, kDraft)).find("nextn.enorm.weight"), std::string::npos);

  const std::string both = message(load_model(r.path, {.embeddings = true, .draft = true}));
  EXPECT_NE(both.find("not with embeddings"), std::string::npos) << both;
}

TEST(Drafts, OfOtherArchitecturesAreRefusedByName) {
  const TempFolder folder;
  gguf::SynthSpec spec{.architecture = "llama", .metadata = {}, .tensors = {}, .seed = 2, .magnitude = 0.1f};
  for (const auto& [key, n] : {std::pair{"llama.block_count", 2u},
                               {"llama.context_length", 64u},
                               {"llama.embedding_length", 32u},
                               {"llama.feed_forward_length", 32u},
                               {"llama.nextn_predict_layers", 1u},
                               {"llama.attention.head_count", 2u}})
    spec.metadata.emplace_back(key, gguf::MetaValue(n));
  spec.metadata.emplace_back("llama.attention.layer_norm_rms_epsilon", gguf::MetaValue(1e-5f));
  spec.metadata.emplace_back("tokenizer.ggml.model", gguf::MetaValue("none"));
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"})
    spec.tensors.push_back({fmt::format("blk.0.{}.weight", name), {32, 32}, Type::F32});
  for (const char* name : {"blk.0.attn_norm.weight", "blk.0.ffn_norm.weight", "output_norm.weight"})
    spec.tensors.push_back({name, {32}, Type::F32});
  spec.tensors.push_back({"token_embd.weight", {32, 48}, Type::F32});
  const std::string path = folder / "nextn.gguf";
  ASSERT_TRUE(gguf::synthesize(spec, path).has_value());
  ASSERT_TRUE(load_model(path).has_value());
  const std::string refused = message(load_model(path, kDraft));
  EXPECT_NE(refused.find("not supported in architecture 'llama'"), std::string::npos) << refused;
}

// ---- determinism

TEST(Drafts, TheTrunkIsTheSameBitsWithThem) {
  for (const DraftReference& r : draft_references()) {
    SCOPED_TRACE(r.name);
    const LogitTable expected = logits_of(*open(r.path, {}), r.ids());
    for (const uint32_t chunk : {512u, 3u}) {
      const auto engine = open(r.path, {.chunk = chunk}, kDraft);
      EXPECT_EQ(logits_of(*engine, r.ids()), expected);
      const SequenceId id = *engine->create_sequence();
      engine->want_hidden(id, true);
      engine->want_logits(id, LogitRows::kAll);
      ASSERT_TRUE(engine->sync(id, r.ids()).has_value());
      const TrunkRows rows = run_trunk(*engine);
      EXPECT_EQ(rows.hidden.size(), r.ids().size());
      for (const auto& [position, logits] : rows.logits) EXPECT_EQ(logits, expected[position]) << position;
    }
  }
}

std::vector<std::string> usable_tiers() {
  std::vector<std::string> names;
  const std::string all = cpu_tier_names();
  for (size_t at = 0; at < all.size();) {
    const size_t comma = std::min(all.find(", ", at), all.size());
    names.push_back(all.substr(at, comma - at));
    at = comma + 2;
  }
  std::erase_if(
      names, [](const std::string& isa) { return !make_cpu_device({.threads = 1, .isa = isa}).has_value(); });
  return names;
}

// The last block's rows of the reference's tokens.
Drafted last_block(Engine& engine, SequenceId id, const DraftReference& r, LogitTable given, uint32_t cut) {
  Drafted made;
  for (uint32_t block = 0; block < r.values["drafts"].size(); block++) {
    const auto tokens = r.values["drafts"][block]["tokens"].get<std::vector<int32_t>>();
    given.resize(tokens.size());
    made = run_draft(engine, id, block, 0, tokens, given, cut);
    given = made.hidden;
  }
  return made;
}

TEST(Drafts, ThreadsAndCutsChangeNothing) {
  for (const DraftReference& r : draft_references()) {
    for (const std::string& isa : usable_tiers()) {
      SCOPED_TRACE(r.name + " " + isa);
      const auto base = open(r.path, {.isa = isa, .threads = 1}, kDraft);
      const auto [id, hidden] = hidden_text(*base, r.ids());
      const Drafted expected = last_block(*base, id, r, hidden, 512);
      for (const uint32_t threads : {1u, 2u})
        for (const uint32_t cut : {1u, 5u}) {
          const auto engine = open(r.path, {.isa = isa, .threads = threads, .chunk = cut}, kDraft);
          const auto [other, rows] = hidden_text(*engine, r.ids());
          EXPECT_EQ(rows, hidden);
          const Drafted made = last_block(*engine, other, r, rows, cut);
          EXPECT_EQ(made.logits, expected.logits) << threads << " threads, " << cut << " rows";
          EXPECT_EQ(made.hidden, expected.hidden) << threads << " threads, " << cut << " rows";
        }
    }
  }
}

// Guesses that came to nothing, forks and other sequences: what a draft held before does not show.
TEST(Drafts, HistoryAndNeighboursChangeNothing) {
  for (const DraftReference& r : draft_references()) {
    SCOPED_TRACE(r.name);
    const auto engine = open(r.path, {.sequences = 3}, kDraft);
    const auto [id, hidden] = hidden_text(*engine, r.ids());
    const Drafted expected = last_block(*engine, id, r, hidden, 512);
    const auto tokens = r.values["drafts"][0]["tokens"].get<std::vector<int32_t>>();
    // Past the text the first block guesses on for two pages, with another sequence's pages between.
    const SequenceId other = *engine->fork(id);
    const auto guess = [&](SequenceId sequence, uint32_t from, uint32_t to, int32_t token) {
      for (uint32_t at = from; at < to; at++)
        run_draft(*engine, sequence, 0, at, {token}, {hidden[at % hidden.size()]});
    };
    const auto text = static_cast<uint32_t>(tokens.size());
    guess(id, text, 80, 1);
    guess(other, text, 130, 2);
    const SequenceId third = *engine->fork(other);
    guess(third, text - 1, 100, 3);
    for (const SequenceId sequence : {other, id, third}) {
      const Drafted made = last_block(*engine, sequence, r, hidden, 3);
      EXPECT_EQ(made.logits, expected.logits);
      EXPECT_EQ(made.hidden, expected.hidden);
    }
  }
}

// ---- what a sequence holds

TEST(Drafts, RowsGoWithTheTextThatTheyKnow) {
  const DraftReference r = draft_reference("glm4moe-mtp-b");  // two blocks
  const auto engine = open(r.path, {.device = "ref", .kv_type = KvType::kF32}, kDraft);
  const auto [id, hidden] = hidden_text(*engine, r.ids());
  last_block(*engine, id, r, hidden, 512);
  std::vector<int32_t> text = r.ids();
  const auto n = static_cast<uint32_t>(text.size());
  EXPECT_EQ(engine->drafted(id, 0), n);
  EXPECT_EQ(engine->drafted(id, 1), n);

  // The guesses come true, then one does not.
  const auto guesses = r.values["drafts"][1]["tokens"].get<std::vector<int32_t>>();
  text.push_back(guesses[n - 2]);
  ASSERT_TRUE(engine->append(id, text.back()).has_value());
  EXPECT_EQ(engine->drafted(id, 0), n);
  EXPECT_EQ(engine->drafted(id, 1), n);
  text.push_back((guesses[n - 1] + 1) % 100);
  ASSERT_TRUE(engine->append(id, text.back()).has_value());
  EXPECT_EQ(engine->drafted(id, 0), n);
  EXPECT_EQ(engine->drafted(id, 1), n - 1);

  // Another token at position 9: the first block's row 8 knew it, the second's row 7.
  text[9] = (text[9] + 1) % 100;
  ASSERT_TRUE(engine->sync(id, text).has_value());
  EXPECT_EQ(engine->drafted(id, 0), 8u);
  EXPECT_EQ(engine->drafted(id, 1), 7u);
  engine->drop(id);
  const SequenceId again = *engine->create_sequence();
  EXPECT_EQ(engine->drafted(again, 0), 0u);
}

// No chain ends past the context.
TEST(Drafts, TheContextEndsThem) {
  const DraftReference r = draft_reference("glm4moe-mtp-a");
  const auto n = static_cast<uint32_t>(r.ids().size());
  const auto engine = open(r.path, {.context = n}, kDraft);
  const auto [id, hidden] = hidden_text(*engine, r.ids());
  last_block(*engine, id, r, hidden, 512);
  const int32_t token = 1;
  const Result<> done = engine->draft(id, {.first = n, .tokens = {&token, 1}, .hidden = hidden[0]});
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().message.find("context"), std::string::npos);
}

// ---- plans

TEST(Drafts, TheLedgerCountsTheirTensors) {
  for (const DraftReference& r : draft_references()) {
    if (r.has_experts()) continue;  // experts are counted as a step is expected to use them
    SCOPED_TRACE(r.name);
    const auto engine = open(r.path, {}, kDraft);
    const gguf::File& file = *engine->model().file;
    const auto bytes = [&](const std::string& name) {
      return file.find(name) == nullptr ? 0 : file.find(name)->bytes;
    };
    const uint64_t embedding = bytes("token_embd.weight");
    const uint64_t head = file.find("output.weight") != nullptr ? bytes("output.weight") : embedding;
    const auto drafts = static_cast<uint32_t>(engine->model().drafts.size());
    for (uint32_t block = 0; block < drafts; block++) {
      const std::string prefix = fmt::format("blk.{}.", engine->model().info.layers - drafts + block);
      uint64_t expected = head + embedding / engine->model().info.vocabulary;
      bool own_norm = false;
      for (const gguf::TensorInfo& t : file.tensors()) {
        if (!t.name.starts_with(prefix)) continue;
        expected += t.bytes;
        own_norm = own_norm || t.name.ends_with("shared_head_norm.weight");
      }
      if (!own_norm) expected += bytes("output_norm.weight");
      const auto plan = engine->draft_plan_for(block, 1, 1, true);
      ASSERT_TRUE(plan.has_value());
      EXPECT_EQ(plan_cost(**plan, {.t = 1, .r = 1, .s = 8}).weight_bytes, expected);
      // A row that nobody reads anything of only leaves its keys and values.
      const auto silent = engine->draft_plan_for(block, 8, 0, false);
      ASSERT_TRUE(silent.has_value());
      EXPECT_LT(plan_cost(**silent, {.t = 8, .r = 0, .s = 8}).weight_bytes, expected / 2);
      EXPECT_GT(plan_cost(**silent, {.t = 8, .r = 0, .s = 8}).kv_written, 0u);
    }
  }
}

TEST(Drafts, StepsTouchOnlyWhatTheyDeclare) {
  for (const DraftReference& r : draft_references()) {
    SCOPED_TRACE(r.name);
    const auto model = load_model(r.path, kDraft);
    ASSERT_TRUE(model.has_value()) << model.error().message;
    const std::vector<std::pair<KvType, std::function<std::unique_ptr<Device>()>>> devices = {
        {KvType::kF32, [] { return make_ref_device({.threads = 2}); }},
        {KvType::kF16, [] { return std::move(*make_cpu_device({.threads = 2})); }}};
    for (const auto& [kv_type, make] : devices)
      for (const auto& draft : (*model)->drafts)
        expect_guarded(make, make()->caps(), draft, (*model)->info.vocabulary, kv_type);
    if (kSanitized) return;  // every access is checked there anyway
  }
}

TEST(Drafts, ADeviceWithoutTheirInputSaysSo) {
  const auto model = load_model(draft_reference("qwen35-mtp-a").path, kDraft);
  ASSERT_TRUE(model.has_value());
  Caps caps = make_ref_device({})->caps();
  caps.operations.erase(OpKind::kHiddenIn);
  const auto plan = compile((*model)->drafts[0], {1, 1}, caps);
  ASSERT_FALSE(plan.has_value());
  EXPECT_NE(plan.error().message.find("cannot run hidden_in"), std::string::npos) << plan.error().message;
  EXPECT_TRUE(compile((*model)->graph, {1, 1}, caps).has_value());
}

// ---- speculation

int32_t likeliest(std::span<const float> logits) {
  return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
}

std::vector<int32_t> greedy_text(Engine& engine, std::vector<int32_t> text, size_t length) {
  const SequenceId id = *engine.create_sequence();
  EXPECT_TRUE(engine.sync(id, text).has_value());
  for (;;) {
    text.push_back(likeliest(run_all(engine, 1)[0].back()));
    if (text.size() == length) break;
    EXPECT_TRUE(engine.append(id, text.back()).has_value());
  }
  engine.drop(id);
  return text;
}

// Greedy text by guesses of the drafts, of which the trunk keeps those that it would have chosen itself.
class Speculation {
 public:
  // `known`: the text that comes; in every other round it is guessed from, so that some guesses are right.
  Speculation(Engine& engine, uint32_t guesses, std::vector<int32_t> known)
      : engine_(engine),
        blocks_(static_cast<uint32_t>(engine.model().drafts.size())),
        known_(std::move(known)) {
    guesses_ = blocks_ == 1 ? guesses : std::min(guesses, blocks_);
    block_hidden_.resize(blocks_);
    id_ = *engine.create_sequence();
    engine.want_hidden(id_, true);
  }

  std::vector<int32_t> run(std::vector<int32_t> text, size_t length) {
    text_ = std::move(text);
    process(text_, LogitRows::kLast);
    text_.push_back(likeliest(last_.logits.rbegin()->second));
    while (text_.size() < length) round(length);
    text_.resize(length);
    engine_.drop(id_);
    return text_;
  }

  uint32_t accepted = 0, rejected = 0;

 private:
  void process(const std::vector<int32_t>& text, LogitRows want) {
    engine_.want_logits(id_, want);
    ASSERT_TRUE(engine_.sync(id_, text).has_value());
    last_ = run_trunk(engine_);
    for (const auto& [position, row] : last_.hidden) hidden_[position] = row;
  }

  // Rows of a block that are missing, up to the last position that has a hidden row; the guess behind them.
  int32_t guess(uint32_t block, const std::vector<int32_t>& tokens) {
    const auto first = std::min(engine_.drafted(id_, block), static_cast<uint32_t>(text_.size() - 2));
    std::vector<int32_t> given;
    LogitTable rows;
    const auto& source = block == 0 ? hidden_ : block_hidden_[block - 1];
    for (uint32_t at = first; at + 1 < text_.size(); at++) {
      given.push_back(tokens[at + 1 + block]);
      rows.push_back(source.at(at));
    }
    const Drafted made = run_draft(engine_, id_, block, first, given, rows);
    for (uint32_t i = 0; i < made.hidden.size(); i++) block_hidden_[block][first + i] = made.hidden[i];
    return likeliest(made.logits.back());
  }

  std::vector<int32_t> guesses() {
    std::vector<int32_t> tokens = text_;
    for (uint32_t i = 0; i < guesses_; i++) {
      if (i == 0 || blocks_ > 1) {
        tokens.push_back(guess(i, tokens));
        continue;
      }
      const auto at = static_cast<uint32_t>(tokens.size() - 2);
      const Drafted made = run_draft(engine_, id_, 0, at, {tokens.back()}, {block_hidden_[0].at(at - 1)});
      block_hidden_[0][at] = made.hidden[0];
      tokens.push_back(likeliest(made.logits[0]));
    }
    return tokens;
  }

  void round(size_t length) {
    // The last token of the text is not processed yet.
    ASSERT_TRUE(engine_.sync(id_, text_).has_value());
    std::vector<int32_t> tokens = guesses();
    rounds_++;
    if (!known_.empty() && rounds_ % 2 == 0)
      for (size_t i = text_.size(); i < std::min(tokens.size(), known_.size()); i++) tokens[i] = known_[i];
    tokens.resize(std::min(tokens.size(), std::max(length, text_.size())));
    process(tokens, LogitRows::kAll);
    for (size_t at = text_.size(); at < tokens.size(); at++) {
      const bool right = likeliest(last_.logits.at(static_cast<uint32_t>(at - 1))) == tokens[at];
      (right ? accepted : rejected)++;
      if (!right) break;
      text_.push_back(tokens[at]);
    }
    text_.push_back(likeliest(last_.logits.at(static_cast<uint32_t>(text_.size() - 1))));
  }

  Engine& engine_;
  uint32_t blocks_, guesses_ = 1, rounds_ = 0;
  std::vector<int32_t> known_, text_;
  SequenceId id_ = -1;
  TrunkRows last_;
  std::map<uint32_t, std::vector<float>> hidden_;                     // of the trunk, by position
  std::vector<std::map<uint32_t, std::vector<float>>> block_hidden_;  // [block]
};

TEST(Drafts, SpeculationWritesTheSameText) {
  constexpr size_t kLength = 70;
  for (const DraftReference& r : draft_references()) {
    for (const char* device : {"ref", "cpu"}) {
      const Setting setting{.device = device, .kv_type = KvType::kF32};
      const std::vector<int32_t> expected = greedy_text(*open(r.path, setting), r.ids(), kLength);
      for (const uint32_t guesses : {1u, 2u, 3u}) {
        SCOPED_TRACE(fmt::format("{} {} {}", r.name, device, guesses));
        const auto engine = open(r.path, setting, kDraft);
        Speculation speculation(*engine, guesses, expected);
        EXPECT_EQ(speculation.run(r.ids(), kLength), expected);
        EXPECT_GT(speculation.accepted, 0u);
        EXPECT_GT(speculation.rejected + speculation.accepted, 5u);
      }
    }
  }
}

// Of a model whose blocks are good at guessing, by themselves.
TEST(Drafts, GoodGuessesAreKept) {
  const DraftReference r = draft_reference("qwen35-mtp-c");
  const std::vector<int32_t> expected = greedy_text(*open(r.path, {}), r.ids(), 90);
  for (const uint32_t guesses : {1u, 2u, 3u}) {
    const auto engine = open(r.path, {}, kDraft);
    Speculation speculation(*engine, guesses, {});
    EXPECT_EQ(speculation.run(r.ids(), 90), expected);
    EXPECT_GT(speculation.accepted, speculation.rejected) << guesses;
  }
}

}  // namespace
}  // namespace brass
