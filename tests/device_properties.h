// What every device must hold, whatever its kernels: bits of a row depend on that row alone, fusion is exact,
// pages can be copied. A test program includes this and instantiates DeviceProperties with its devices.
#pragma once

#include "device_case.h"
#include "sanitized.h"

namespace brass {

class DeviceProperties : public DeviceTest {
 protected:
  static std::vector<std::pair<std::string, TinyModel>> models() {
    return {{"plain", plain_model()},
            {"qwen", qwen_like()},
            {"gemma", gemma_like()},
            {"sinks", sink_like()},
            {"ragged", ragged_model()},
            {"experts", expert_model()},
            {"ragged experts", ragged_expert_model()}};
  }

  // A prompt in one step, three tokens one by one, then two sequences in one step: every bucket's plan has
  // run.
  static Logits episode(Runner& r, const TinyModel& model) {
    const std::vector<int32_t> ids = random_ids(30, model.vocab, 5);
    Logits all = r.text(0, {ids.begin(), ids.begin() + 21});
    const auto append = [&](Logits more) { all.insert(all.end(), more.begin(), more.end()); };
    for (int32_t p = 21; p < 24; p++) append(r.text(0, {ids[static_cast<size_t>(p)]}, p));
    append(r.step({{0, ids[24], 24}, {1, ids[25], 0}, {1, ids[26], 1}}));
    return all;
  }
};

TEST_P(DeviceProperties, ChunksAreBitEqual) {
  for (const auto& [name, model] : models()) {
    for (const KvType kv_type : GetParam().kv_types) {
      SCOPED_TRACE(name);
      const auto graph = build_tiny(model);
      Runner r = runner(graph, 1, {}, {}, kv_type);
      const std::vector<int32_t> ids = random_ids(kSanitized ? 70 : 140, model.vocab, 3);
      const Logits whole = r.text(0, ids);
      const std::vector<size_t> chunks =
          kSanitized ? std::vector<size_t>{3, 64} : std::vector<size_t>{1, 3, 8, 64, 100};
      for (const size_t chunk : chunks) {
        r.clear_memory();
        Logits parts;
        for (size_t i = 0; i < ids.size(); i += chunk) {
          const std::vector<int32_t> some(
              ids.begin() + static_cast<ptrdiff_t>(i),
              ids.begin() + static_cast<ptrdiff_t>(std::min(i + chunk, ids.size())));
          for (auto& row : r.text(2, some, static_cast<int32_t>(i))) parts.push_back(std::move(row));
        }
        EXPECT_TRUE(same_bits(whole, parts)) << "chunks of " << chunk;
      }
    }
  }
}

// Three sequences of different lengths, all at once with padding between, against each alone.
TEST_P(DeviceProperties, BatchEqualsAlone) {
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    const auto graph = build_tiny(model);
    const std::vector<int32_t> ids = random_ids(100, model.vocab, 4);
    const std::vector<size_t> lengths = {17, 1, 40};
    Runner alone = runner(graph), together = runner(graph);
    Logits expected;
    std::vector<TokenRow> batch;
    for (int32_t s = 0; s < 3; s++) {
      std::vector<TokenRow> rows;
      for (size_t p = 0; p < lengths[static_cast<size_t>(s)]; p++)
        rows.push_back({s, ids[p + static_cast<size_t>(s) * 20], static_cast<int32_t>(p), p % 3 == 0});
      batch.insert(batch.end(), rows.begin(), rows.end());
      batch.push_back({-1, 0, 0, false});
      for (auto& row : alone.step(rows)) expected.push_back(std::move(row));
    }
    EXPECT_TRUE(same_bits(expected, together.step(batch)));
    // And one more token of each, on what that step wrote.
    Logits next;
    for (int32_t s = 0; s < 3; s++)
      next.push_back(alone.text(s, {ids[90]}, static_cast<int32_t>(lengths[static_cast<size_t>(s)]))[0]);
    EXPECT_TRUE(same_bits(next, together.step({{0, ids[90], 17}, {1, ids[90], 1}, {2, ids[90], 40}})));
  }
}

TEST_P(DeviceProperties, ThreadsAreBitEqual) {
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    const auto graph = build_tiny(model);
    Runner one = runner(graph, 1), two = runner(graph, 2), three = runner(graph, 3);
    const Logits expected = episode(one, model);
    EXPECT_TRUE(same_bits(expected, episode(two, model)));
    EXPECT_TRUE(same_bits(expected, episode(three, model)));
  }
}

TEST_P(DeviceProperties, FusionIsExact) {
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    const auto graph = build_tiny(model);
    Runner fused = runner(graph), unfused = runner(graph, 1, [](Caps& caps) { caps.rules.clear(); });
    const Logits expected = episode(fused, model);
    EXPECT_TRUE(same_bits(expected, episode(unfused, model)));
    for (const std::string_view rule : GetParam().caps(fused.device().caps()).rules) {
      Runner without = runner(graph, 2, [&](Caps& caps) { caps.rules.erase(rule); });
      EXPECT_TRUE(same_bits(expected, episode(without, model))) << "without " << rule;
      Runner only = runner(graph, 2, [&](Caps& caps) { caps.rules = {rule}; });
      EXPECT_TRUE(same_bits(expected, episode(only, model))) << "only " << rule;
    }
  }
}

TEST_P(DeviceProperties, BarrierEverywhereIsBitEqual) {
  const auto everywhere = [](Plan& plan) {
    for (Step& step : plan.steps) step.barrier = true;
  };
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    const auto graph = build_tiny(model);
    Runner usual = runner(graph, 2), slow = runner(graph, 2, {}, everywhere);
    EXPECT_TRUE(same_bits(episode(usual, model), episode(slow, model)));
  }
}

TEST_P(DeviceProperties, RunsRepeat) {
  const auto graph = build_tiny(gemma_like());
  Runner r = runner(graph, 2);
  const Logits first = episode(r, gemma_like());
  r.clear_memory();
  EXPECT_TRUE(same_bits(first, episode(r, gemma_like())));
}

TEST_P(DeviceProperties, PaddingWritesNothing) {
  const TinyModel model = gemma_like();
  const auto graph = build_tiny(model);
  Runner r = runner(graph);
  r.text(0, random_ids(70, model.vocab, 1));
  const auto contents = [&] {
    std::vector<std::vector<uint32_t>> pages;
    for (uint32_t g = 0; g < graph->groups.size(); g++)
      for (PageId page = 0; page < 32; page++) pages.push_back(bits_of(r.device().export_page(g, page)));
    return pages;
  };
  const auto before = contents();
  r.step({{-1, 3, 5, false}, {-1, 4, 70, false}, {-1, 4, 0, false}});
  EXPECT_EQ(before, contents());
}

// A copied prefix continues like the original, and does not follow it.
TEST_P(DeviceProperties, CopiedPagesContinue) {
  const TinyModel model = gemma_like();
  const auto graph = build_tiny(model);
  for (const KvType kv_type : GetParam().kv_types) {
    Runner r = runner(graph, 1, {}, {}, kv_type);
    const std::vector<int32_t> ids = random_ids(100, model.vocab, 8);
    r.text(0, ids);
    for (uint32_t g = 0; g < graph->groups.size(); g++) {
      r.device().copy_page(g, r.table(0, g)[0], r.table(1, g)[0]);
      r.device().copy_part(g, r.table(0, g)[1], r.table(1, g)[1], 36);
    }
    const Logits other = r.text(1, {5, 6, 7}, 100);  // another continuation, which must not reach sequence 0
    const Logits original = r.text(0, {9, 10, 11}, 100);
    const Logits copy = r.text(1, {9, 10, 11}, 100);
    EXPECT_TRUE(same_bits(original, copy));
    EXPECT_FALSE(same_bits(original, other));
  }
}

TEST_P(DeviceProperties, PartOfAPageIsCopied) {
  const auto graph = build_tiny(plain_model());
  Runner r = runner(graph);
  const std::vector<int32_t> ids = random_ids(128, plain_model().vocab, 8);
  r.text(0, {ids.begin(), ids.begin() + 64});
  r.text(1, {ids.begin() + 64, ids.end()});
  const PageId from = r.table(0, 0)[0], to = r.table(1, 0)[0];
  const std::vector<float> source = r.device().export_page(0, from);
  r.device().copy_part(0, from, to, 23);
  const std::vector<float> after = r.device().export_page(0, to);
  ASSERT_EQ(after.size(), source.size());
  const size_t row = 2 * 64;  // kv_heads · head_dim, of K and of V alike
  for (size_t i = 0; i < after.size(); i++) {
    if (i / row % kPageTokens < 23) {
      ASSERT_EQ(after[i], source[i]) << "value " << i;
    }
  }
  EXPECT_EQ(r.device().export_page(0, from), source);
}

TEST_P(DeviceProperties, ImportedPagesContinue) {
  const TinyModel model = gemma_like();
  const auto graph = build_tiny(model);
  for (const KvType kv_type : GetParam().kv_types) {
    Runner from = runner(graph, 1, {}, {}, kv_type), to = runner(graph, 1, {}, {}, kv_type);
    from.text(0, random_ids(100, model.vocab, 8));
    for (uint32_t g = 0; g < graph->groups.size(); g++) {
      for (size_t i = 0; i < 2; i++) {
        const std::vector<float> page = from.device().export_page(g, from.table(0, g)[i]);
        size_t values = 0;
        for (const KvLayer& l : graph->groups[g].layers)
          values += kPageTokens * l.heads * (l.k_dim + l.v_dim);
        ASSERT_EQ(page.size(), values);
        to.device().import_page(g, to.table(3, g)[i], page);
        EXPECT_EQ(bits_of(page), bits_of(to.device().export_page(g, to.table(3, g)[i])));
      }
    }
    EXPECT_TRUE(same_bits(from.text(0, {1, 2, 3}, 100), to.text(3, {1, 2, 3}, 100)));
  }
}

// Pages that a window has passed may be gone.
TEST_P(DeviceProperties, PassedWindowPagesAreNotRead) {
  const TinyModel model = gemma_like();
  const auto graph = build_tiny(model);
  Runner whole = runner(graph), gone = runner(graph);
  const std::vector<int32_t> ids = random_ids(100, model.vocab, 8);
  EXPECT_TRUE(same_bits(whole.text(0, ids), gone.text(0, ids)));
  gone.table(0, 1)[0] = -1;
  EXPECT_TRUE(same_bits(whole.text(0, {1, 2}, 100), gone.text(0, {1, 2}, 100)));
}

TEST_P(DeviceProperties, TimesEveryStep) {
  const auto graph = build_tiny(plain_model());
  Runner r = runner(graph);
  r.device().set_timing(true);
  r.text(0, {1});
  EXPECT_EQ(r.device().step_seconds().size(), r.plan({1, 1}).steps.size());
  for (const double seconds : r.device().step_seconds()) EXPECT_GE(seconds, 0);
}

}  // namespace brass
