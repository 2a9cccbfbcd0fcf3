// The states of one sequence's recurrent layers: the running one, and checkpoints of earlier positions.
//
// Owns: which page of the state group holds the state after which token, and which checkpoints are worth their
// memory. Must not know: what a state is, tokens' text. The pages are a PagePool's, shared with forks.
// Invariants: a state cannot be cut back, so a text goes on only from a position that is kept; the running page is
// written by this sequence alone; a page that a step reads is held until that step has run.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/page_pool.h"

namespace brass {

class StateHistory {
 public:
  // At most `checkpoints` kept; one is made after every `interval` tokens, and where mark() says.
  StateHistory(uint32_t checkpoints, uint32_t interval);
  // Most pages that one history holds at a time, the one that a step reads included.
  static uint32_t most_pages(uint32_t checkpoints) { return checkpoints + 2; }

  // The longest prefix of at most `length` tokens whose state is kept; 0: the beginning.
  uint32_t restorable(uint32_t length) const;
  // Goes back to `length`, which restorable() gave.
  void cut(PagePool& pool, uint32_t length);
  StateHistory fork(PagePool& pool) const;

  // A checkpoint is wanted after the first `length` tokens, when they come by; it goes after the others.
  void mark(uint32_t length) { marked_ = length; }

  // The step that processes [begin, begin + count): the pages that it reads and writes; and, token by token, the page
  // for a checkpoint behind it, or −1. done() when the step has run.
  StatePages begin_step(PagePool& pool, uint32_t begin, uint32_t count);
  PageId checkpoint_behind(PagePool& pool, uint32_t token);
  void end_step(PagePool& pool);

  // The step behind the one under way, of one token, begun before it is known that the text goes on so. It writes a page of
  // its own, so that nothing is changed where it is dropped.
  bool can_go_ahead(const PagePool& pool, uint32_t token) const;
  StatePages begin_ahead(PagePool& pool);
  void accept_ahead();  // it is the step under way now
  void drop_ahead(PagePool& pool);

  uint32_t checkpoints() const { return static_cast<uint32_t>(kept_.size()); }

 private:
  struct Checkpoint {
    uint32_t length;  // tokens before it
    PageId page;
    bool marked;
  };
  void make_room(PagePool& pool);
  bool wants_checkpoint(uint32_t length) const;

  uint32_t most_, interval_;
  uint32_t marked_ = 0;
  uint32_t length_ = 0;           // tokens that the running state is behind
  PageId running_ = -1;           // −1: nothing processed
  PageId read_ = -1;              // what the step under way reads, where that is not the running page
  PageId ahead_ = -1;             // what the step behind it writes
  std::vector<Checkpoint> kept_;  // by length
};

}  // namespace brass
