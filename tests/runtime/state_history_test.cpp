// Which states of recurrent layers are kept, and what a text can go on from.
#include "runtime/state_history.h"

#include <gtest/gtest.h>

namespace brass {
namespace {

// A pool just large enough, so that a page too many is an ENSURE.
struct Fixture {
  static constexpr uint32_t kCheckpoints = 4, kInterval = 10;
  PagePool pool{2 * StateHistory::most_pages(kCheckpoints)};
  StateHistory history{kCheckpoints, kInterval};
  uint32_t length = 0;

  // One step of `count` tokens; how many checkpoints it made.
  uint32_t step(uint32_t count) {
    uint32_t made = 0;
    const StatePages pages = history.begin_step(pool, length, count);
    EXPECT_EQ(pages.in < 0, length == 0);
    EXPECT_GE(pages.out, 0);
    for (uint32_t i = 0; i < count; i++) {
      const PageId page = history.checkpoint_behind(pool, length + i);
      EXPECT_NE(page, pages.out);
      if (page < 0) continue;
      EXPECT_NE(page, pages.in) << "what the step reads must stay as it is";
      made++;
    }
    history.end_step(pool);
    length += count;
    return made;
  }
  void cut(uint32_t to) {
    history.cut(pool, to);
    length = to;
  }
};

TEST(StateHistory, AStepAheadIsTakenOrDropped) {
  Fixture f;
  f.step(12);
  const StatePages step = f.history.begin_step(f.pool, 12, 1);
  const uint32_t free = f.pool.free_pages();
  EXPECT_TRUE(f.history.can_go_ahead(f.pool, 13));
  const StatePages ahead = f.history.begin_ahead(f.pool);
  EXPECT_EQ(ahead.in, step.out);
  EXPECT_NE(ahead.out, ahead.in);
  f.history.end_step(f.pool);
  f.history.drop_ahead(f.pool);
  EXPECT_EQ(f.pool.free_pages(), free);
  EXPECT_EQ(f.history.restorable(100), 13u);
  EXPECT_EQ(f.history.begin_ahead(f.pool).in, step.out);
  f.history.accept_ahead();
  EXPECT_EQ(f.history.restorable(100), 14u);
  EXPECT_EQ(f.pool.free_pages(), free - 1) << "what the step reads is held until it has run";
  f.history.end_step(f.pool);
  EXPECT_EQ(f.pool.free_pages(), free);
  EXPECT_FALSE(f.history.can_go_ahead(f.pool, 19)) << "behind token 19 comes a checkpoint";
  EXPECT_TRUE(f.history.can_go_ahead(f.pool, 18));
  while (f.pool.free_pages() > 0) f.pool.take();
  EXPECT_FALSE(f.history.can_go_ahead(f.pool, 18));
}

TEST(StateHistory, GoesOnFromTheEndOrFromACheckpoint) {
  Fixture f;
  f.history.mark(34);
  EXPECT_EQ(f.step(35), 4u);  // behind 10, 20, 30 and 34 tokens
  EXPECT_EQ(f.history.restorable(100), 35u);
  EXPECT_EQ(f.history.restorable(35), 35u);
  EXPECT_EQ(f.history.restorable(34), 34u);
  EXPECT_EQ(f.history.restorable(33), 30u);
  EXPECT_EQ(f.history.restorable(9), 0u);
  f.cut(30);
  EXPECT_EQ(f.history.restorable(34), 30u);
  EXPECT_EQ(f.history.checkpoints(), 3u);
  // The checkpoint stays a checkpoint: the step reads it and writes elsewhere.
  const StatePages pages = f.history.begin_step(f.pool, 30, 1);
  EXPECT_NE(pages.in, pages.out);
  f.history.end_step(f.pool);
  EXPECT_EQ(f.history.restorable(30), 30u);
  // From then on the running state is written in place.
  const StatePages next = f.history.begin_step(f.pool, 31, 1);
  EXPECT_EQ(next.in, pages.out);
  EXPECT_EQ(next.out, pages.out);
}

TEST(StateHistory, ThinsOutTowardsTheBeginning) {
  Fixture f;
  for (uint32_t i = 0; i < 400; i++) f.step(1);
  EXPECT_EQ(f.history.checkpoints(), Fixture::kCheckpoints);
  EXPECT_GE(f.history.restorable(399), 370u);
  EXPECT_GE(f.history.restorable(370), 300u);
  EXPECT_GE(f.history.restorable(300), 100u) << "something older must be left too";
}

TEST(StateHistory, KeepsTheEndsOfPrompts) {
  Fixture f;
  f.history.mark(103);
  for (uint32_t i = 0; i < 250; i++) f.step(1);
  EXPECT_EQ(f.history.restorable(109), 103u);
}

TEST(StateHistory, GivesEveryPageBack) {
  Fixture f;
  const uint32_t all = f.pool.free_pages();
  for (uint32_t i = 0; i < 7; i++) f.step(13);
  f.cut(f.history.restorable(60));
  f.step(5);
  StateHistory copy = f.history.fork(f.pool);
  EXPECT_EQ(copy.restorable(1000), f.length);
  // The first of the two to go on leaves the other's state alone.
  const StatePages pages = copy.begin_step(f.pool, f.length, 1);
  EXPECT_NE(pages.in, pages.out);
  copy.end_step(f.pool);
  f.cut(0);
  copy.cut(f.pool, 0);
  EXPECT_EQ(f.pool.free_pages(), all);
  EXPECT_EQ(f.step(3), 0u);
}

TEST(StateHistory, WorksWithoutCheckpoints) {
  PagePool pool(StateHistory::most_pages(0));
  StateHistory history(0, 1);
  history.mark(3);
  history.begin_step(pool, 0, 5);
  for (uint32_t i = 0; i < 5; i++) EXPECT_EQ(history.checkpoint_behind(pool, i), -1);
  history.end_step(pool);
  EXPECT_EQ(history.restorable(5), 5u);
  EXPECT_EQ(history.restorable(4), 0u);
}

}  // namespace
}  // namespace brass
