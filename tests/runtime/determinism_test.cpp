// The determinism contract, end to end: threads, chunks, batch-mates and cache history change no bit of any
// logit.
#include "model_fixture.h"
#include "sanitized.h"

namespace brass {
namespace {

std::vector<std::string> tiers() {
  std::vector<std::string> names;
  std::string all = cpu_tier_names();
  for (size_t at = 0; at < all.size();) {
    const size_t comma = std::min(all.find(", ", at), all.size());
    names.push_back(all.substr(at, comma - at));
    at = comma + 2;
  }
  return names;
}

bool supported(const std::string& isa) { return make_cpu_device({.threads = 1, .isa = isa}).has_value(); }

TEST(Determinism, ThreadsAndChunksChangeNothing) {
  const TempFolder folder;
  for (const std::string& path : all_models(folder)) {
    for (const std::string& isa : tiers()) {
      if (!supported(isa)) {
        std::printf("[  SKIPPED ] tier %s: this machine lacks it\n", isa.c_str());
        continue;
      }
      SCOPED_TRACE(path + " " + isa);
      const auto base = open(path, {.isa = isa, .threads = 1});
      const std::vector<int32_t> ids = random_ids(*base, kSanitized ? 80 : 150, 3);
      const LogitTable expected = logits_of(*base, ids);
      ASSERT_EQ(expected.size(), ids.size());
      for (const uint32_t threads : {1u, 2u}) {
        if (kSanitized && threads == 1) continue;  // that is `base`
        for (const uint32_t chunk : {1u, 5u, 64u})
          EXPECT_EQ(logits_of(*open(path, {.isa = isa, .threads = threads, .chunk = chunk}), ids), expected)
              << threads << " threads, chunks of " << chunk;
      }
    }
  }
}

TEST(Determinism, BatchMatesChangeNothing) {
  const TempFolder folder;
  for (const std::string& path : all_models(folder)) {
    SCOPED_TRACE(path);
    const auto alone = open(path, {});
    const auto together = open(path, {.chunk = 96, .sequences = 3});
    std::vector<std::vector<int32_t>> texts;
    std::vector<SequenceId> ids;
    for (const uint32_t n : {130u, 1u, 77u}) {
      texts.push_back(random_ids(*alone, n, 100 + n));
      ids.push_back(*together->create_sequence());
      together->want_logits(ids.back(), LogitRows::kAll);
      ASSERT_TRUE(together->sync(ids.back(), texts.back()).has_value());
    }
    std::vector<LogitTable> first = run_all(*together, 3);
    // Then all three decode side by side.
    for (int step = 0; step < 4; step++) {
      for (size_t i = 0; i < 3; i++) {
        texts[i].push_back(static_cast<int32_t>(7 * i + static_cast<size_t>(step)));
        ASSERT_TRUE(together->append(ids[i], texts[i].back()).has_value());
      }
      const std::vector<LogitTable> more = run_all(*together, 3);
      for (size_t i = 0; i < 3; i++) first[i].insert(first[i].end(), more[i].begin(), more[i].end());
    }
    for (size_t i = 0; i < 3; i++) EXPECT_EQ(first[i], logits_of(*alone, texts[i])) << "sequence " << i;
  }
}

TEST(Determinism, CacheHistoryChangesNothing) {
  const TempFolder folder;
  for (const std::string& path : all_models(folder)) {
    SCOPED_TRACE(path);
    const auto engine = open(path, {.sequences = 2});
    const std::vector<int32_t> ids = random_ids(*engine, 140, 9);
    const LogitTable expected = logits_of(*engine, ids);
    // A first text that shares 70 tokens, then the wanted one over its cache.
    std::vector<int32_t> other(ids.begin(), ids.begin() + 70);
    for (const int32_t id : random_ids(*engine, 40, 10)) other.push_back(id);
    other[70] = (ids[70] + 1) % 300;
    const SequenceId id = *engine->create_sequence();
    ASSERT_TRUE(engine->sync(id, other).has_value());
    run_all(*engine, 2);
    const SyncInfo info = *engine->sync(id, ids);
    engine->want_logits(id, LogitRows::kAll);
    const LogitTable rest = run_all(*engine, 2)[static_cast<size_t>(id)];
    ASSERT_EQ(rest.size(), ids.size() - info.reused);
    EXPECT_EQ(rest, LogitTable(expected.begin() + static_cast<ptrdiff_t>(info.reused), expected.end()));
  }
}

TEST(Determinism, ForksShareAndThenDiffer) {
  const TempFolder folder;
  for (const std::string& path : all_models(folder)) {
    SCOPED_TRACE(path);
    const auto engine = open(path, {.sequences = 3});
    const std::vector<int32_t> ids = random_ids(*engine, 90, 12);
    const SequenceId a = *engine->create_sequence();
    ASSERT_TRUE(engine->sync(a, ids).has_value());
    run_all(*engine, 3);
    const SequenceId b = *engine->fork(a);
    std::vector<int32_t> left = ids, right = ids;
    for (int32_t i = 0; i < 10; i++) {
      left.push_back(i);
      right.push_back(200 + i);
      ASSERT_TRUE(engine->append(a, left.back()).has_value());
      ASSERT_TRUE(engine->append(b, right.back()).has_value());
      const std::vector<LogitTable> rows = run_all(*engine, 3);
      if (i < 9) continue;
      engine->drop(a);
      engine->drop(b);
      EXPECT_EQ(rows[static_cast<size_t>(a)].back(), logits_of(*engine, left).back());
      EXPECT_EQ(rows[static_cast<size_t>(b)].back(), logits_of(*engine, right).back());
    }
  }
}

}  // namespace
}  // namespace brass
