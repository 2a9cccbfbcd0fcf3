// Sequences over one model on one device.
//
// Owns: the model, the device, the page pools, every sequence's tokens and page tables, the plan cache.
// Must not know: text, sampling, clients. One thread uses an Engine.
// Invariants: a sequence's pages hold exactly its `processed` tokens; callers give full prefixes and never
// manage the cache; step() is the only call that computes. A step carries rows of any number of sequences;
// the bits of a row's output do not depend on which others share it, nor on how the tokens were cut into
// steps (plan.md, Determinism). Drafts write memory of their own groups only. Where the graph needs whole texts, a step takes all tokens of a sequence or none. Nothing is allocated in a step once its plan has been used before.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/device.h"
#include "model/model.h"
#include "plan/plan.h"
#include "runtime/memory_plan.h"
#include "runtime/page_pool.h"
#include "runtime/state_history.h"

namespace brass {

using SequenceId = int32_t;

// What sync() found.
struct SyncInfo {
  uint32_t reused;            // tokens whose memory is kept
  uint32_t first_difference;  // first position where the cached text differs from the wanted one
  uint32_t to_process;        // tokens that coming steps will process
  // Why no more could be reused: "", "text differs", "window passed", "no state kept", "whole text"
  std::string_view cause;
};

// kChoice: of the last row the likeliest token (choice()), and no logits. kCandidates: of the last row the likeliest tokens
// with their logits (candidates()) where a step makes no more than these, else all logits.
enum class LogitRows : uint8_t { kNone, kLast, kAll, kChoice, kCandidates };

// The kMostCandidates highest logits of a row, or all of a smaller vocabulary, by ascending id; of equal ones those of lower
// id. One that is not finite counts as highest. Good until the next call.
struct Candidates {
  std::span<const int32_t> ids;
  std::span<const float> logits;
};

// What a block that predicts further tokens is given (model/draft.h): rows of one sequence from position `first` on.
struct DraftRows {
  uint32_t block = 0;  // index in Model::drafts
  uint32_t first = 0;  // at most drafted(): no position is left out
  std::span<const int32_t>
      tokens;  // [n] of row i: the one at position first + i + 1 + block; past the text, a guess
  std::span<const float> hidden;  // [n][embedding_length] of row i: hidden row of position first + i
  LogitRows logits = LogitRows::kLast;
  bool want_hidden = false;  // for the next block, or the next step of a chain
};

// Rows of output that the last step made: positions [first_position, first_position + count) of a sequence.
struct StepRows {
  SequenceId sequence;
  uint32_t first_position, count, first_row;
};

class Engine {
 public:
  // Uploads weights and allocates pages, unless the device has too little memory: then nothing is allocated, and the error
  // says what would fit (Error::no_room). The device must outlive nothing: the engine keeps it.
  static Result<std::unique_ptr<Engine>> create(std::unique_ptr<Model> model, std::unique_ptr<Device> device,
                                                const EngineOptions& options, const Progress& progress);

  const Model& model() const { return *model_; }
  const Device& device() const { return *device_; }
  Device& device() { return *device_; }
  uint32_t context() const { return options_.context; }
  uint32_t sequences() const { return options_.sequences; }
  uint64_t kv_bytes() const;  // of all pools

  // ---- sequences
  Result<SequenceId> create_sequence();
  void drop(SequenceId id);
  Result<SequenceId> fork(SequenceId id);  // shares the pages; the first to write a shared page copies it
  // The sequence shall hold `prefix`: keeps what it can, schedules the rest. At least the last token is
  // processed again, so that its logits exist. Fails when the prefix is empty, holds an id out of range, or
  // exceeds the context.
  Result<SyncInfo> sync(SequenceId id, std::span<const int32_t> prefix);
  // One more token at the end: sync() of a prefix longer by one, without comparing. Not where the graph needs whole
  // texts.
  Result<> append(SequenceId id, int32_t token);
  void want_logits(SequenceId id, LogitRows rows);  // or embeddings
  // Of a sequence that wants choices: up to so many tokens will be appended, each what choice() gave of the row before
  // it. So a step may be begun before they are asked for; where the text goes another way it leaves no trace.
  void expect_choices(SequenceId id, uint32_t tokens);
  // Whether the device chooses, and finds candidates; else choice() reads the logits, and there are no candidates.
  bool device_chooses() const { return device_->caps().operations.contains(OpKind::kChoose); }
  uint64_t steps_ahead() const {
    return taken_ahead_;
  }  // that were begun before they were asked for, and taken
  uint32_t length(SequenceId id) const;   // tokens held and scheduled
  uint32_t pending(SequenceId id) const;  // scheduled, not processed
  // Whether steps make the hidden rows that the first draft reads. Only of a model that was loaded for drafts.
  void want_hidden(SequenceId id, bool wanted);
  // Rows from position 0 on that a draft holds: none of a token that the text has not, or has no longer.
  uint32_t drafted(SequenceId id, uint32_t block) const;

  // ---- computing
  // Processes up to `chunk` scheduled tokens: first those of sequences that wait for one, then the others in
  // turn. Returns the rows of output that it made (valid until the next step); empty when only the inside of a
  // prompt was done.
  Result<std::span<const StepRows>> step();
  bool has_work() const;
  std::span<const float> logits(uint32_t row);  // [vocabulary]; not of sequences that want choices
  // The likeliest token of a row, the lowest of equal ones. Error: a logit that is not finite, by its token.
  Result<int32_t> choice(uint32_t row);
  // Of a sequence that wants candidates. Nothing: the step made all logits, and logits() has them.
  std::optional<Candidates> candidates(uint32_t row);
  std::span<const float> embedding(uint32_t row);  // [embedding_length]
  // Rows of all tokens that the last step processed of sequences that want them; hidden(row) reads them, [width].
  std::span<const StepRows> hidden_rows() const { return made_hidden_; }
  std::span<const float> hidden(uint32_t row);

  // A step of a draft: its logits are logits(i), of the last row or of row i, its hidden rows hidden(i); what the step
  // before made is gone. The rows stay in the draft's memory, in place of those from `first` on (which are gone for the
  // blocks behind it, too), until the text has another token there. At most `chunk` rows. Fails when the context is full.
  Result<> draft(SequenceId id, const DraftRows& rows);

  // The plan for a step of t tokens and r rows, as it will run; the same of a draft.
  Result<std::shared_ptr<const Plan>> plan_for(uint32_t t, uint32_t r);
  Result<std::shared_ptr<const Plan>> draft_plan_for(uint32_t block, uint32_t t, uint32_t r, bool hidden);

 private:
  struct Sequence {
    bool alive = false;
    LogitRows want = LogitRows::kLast;
    std::vector<int32_t> tokens;  // processed, then scheduled
    uint32_t processed = 0;
    uint32_t window_floor = 0;                // positions below it are gone from the window groups
    std::vector<std::vector<PageId>> tables;  // [group]
    StateHistory states{0, 1};                // where the model has recurrent layers
    bool want_hidden = false;
    uint32_t expected = 0;                      // tokens that will be what was chosen
    std::vector<std::vector<int32_t>> drafted;  // [draft] the tokens of the rows in its memory
  };
  struct Prepared {
    std::shared_ptr<const Plan> plan;
    PlanHandle handle;
  };
  struct Compiled {  // a graph and its plans
    std::shared_ptr<const Graph> graph;
    std::vector<bool> groups;  // that it touches
    std::map<PlanKey, Prepared> plans;
  };

  Engine(std::unique_ptr<Model> model, std::unique_ptr<Device> device, const EngineOptions& options);
  Sequence& at(SequenceId id);
  const Sequence& at(SequenceId id) const;
  Result<> upload(const Progress& progress);
  Result<> allocate();
  Result<Prepared> prepared(size_t graph, uint32_t t, uint32_t r, bool hidden, uint32_t choose = 0);
  Batch batch() const;
  Result<> run(const Prepared& plan);
  void end_step();
  // engine_ahead.cpp
  uint32_t choices_wanted() const;
  Result<> run_ahead();
  Result<> begin_ahead();
  bool can_go_ahead(const Sequence& s) const;
  bool is_as_expected() const;
  void take_ahead();
  void drop_ahead();
  void put_row(int32_t token, uint32_t position, int32_t owner, bool wanted);
  void take_rows(SequenceId id, uint32_t count);
  void hold_pages(Sequence& s, uint32_t group, uint32_t begin, uint32_t end);
  void release_passed(Sequence& s);
  void cut(Sequence& s, uint32_t length);
  void match_drafts(Sequence& s, uint32_t from);
  uint32_t restorable(const Sequence& s, uint32_t length) const;
  std::span<const float> output(uint32_t row);
  void clear_batch();
  PagePool& state_pool() { return pools_[static_cast<size_t>(state_group_)]; }

  std::unique_ptr<Model> model_;
  std::unique_ptr<Device> device_;
  EngineOptions options_;
  std::vector<PagePool> pools_;  // [group]
  std::vector<PoolSpec> specs_;  // [group]
  int32_t state_group_ = -1;     // −1: the model has no recurrent layers
  bool whole_texts_ = false;     // as the graph says
  std::vector<Sequence> sequences_;
  std::vector<Compiled> graphs_;  // the trunk, then the drafts
  uint32_t turn_ = 0;             // where the next step starts to look for prompts

  // The batch of the step under construction; reserved once.
  std::vector<int32_t> ids_, positions_, owners_, rows_;
  std::vector<PageTable> tables_;
  std::vector<StatePages> states_;
  std::vector<PageId> snapshots_;
  std::vector<StepRows> made_, made_hidden_;
  std::vector<float> hidden_;  // that the batch brings
  std::vector<SequenceId> in_batch_;
  // The same of the step that was begun behind the last one, of the same sequences, where they differ.
  bool ahead_ = false;
  uint64_t taken_ahead_ = 0;
  std::vector<int32_t> ahead_positions_;
  std::vector<PageTable> ahead_tables_;
  std::vector<StatePages> ahead_states_;
  std::vector<int32_t> chosen_;  // [sequence of the step] what choice() gave of its row since; −1: nothing
  std::vector<int32_t> candidate_ids_;
  Prepared last_{nullptr, -1};
};

}  // namespace brass
