#include "runtime/engine.h"

#include <algorithm>

#include "base/check.h"

namespace brass {

Engine::Engine(std::unique_ptr<Model> model, std::unique_ptr<Device> device, const EngineOptions& options)
    : model_(std::move(model)), device_(std::move(device)), options_(options) {}

Result<std::unique_ptr<Engine>> Engine::create(std::unique_ptr<Model> model, std::unique_ptr<Device> device,
                                               const EngineOptions& options, const Progress& progress) {
  const EngineOptions settled = TRY(settle(*model, options));
  std::unique_ptr<Engine> engine(new Engine(std::move(model), std::move(device), settled));
  Device& on = *engine->device_;
  const auto graphs = fitted_graphs(*engine->model_, settled.context);
  for (const auto& graph : graphs) engine->graphs_.push_back({graph, graph->touched_groups(), {}});
  engine->whole_texts_ = graphs.front()->needs_whole_texts();
  const MemoryPlan memory = TRY(MemoryPlan::create(graphs, on, settled));
  TRY_VOID(within(engine->model_->file->path(), memory.check(on)));
  TRY_VOID(engine->upload(progress));
  TRY_VOID(engine->allocate());
  TRY_VOID(memory.reserve(on));
  for (const MemoryPlan::Compiled& compiled : memory.plans())
    engine->graphs_[compiled.graph].plans.emplace(compiled.plan->key, Prepared{compiled.plan, -1});
  return engine;
}

Result<> Engine::upload(const Progress& progress) {
  std::vector<const Graph*> graphs;
  for (const Compiled& compiled : graphs_) graphs.push_back(compiled.graph.get());
  const gguf::File& file = *model_->file;
  TRY_VOID(within(file.path(), device_->upload(graphs, progress, [&](const Weight& w) {
    const gguf::TensorInfo* t = file.find(w.name);
    if (const Mapping* mapping = file.mapping(t->file_index)) mapping->drop(t->file_offset, t->bytes);
  })));
  return file.check();
}

// Pages, and room for every step's batch.
Result<> Engine::allocate() {
  const EngineOptions& o = options_;
  const Graph& graph = *model_->graph;
  specs_ = pool_specs(graph, o);
  for (const PoolSpec& spec : specs_) pools_.emplace_back(spec.pages);
  for (size_t g = 0; g < graph.groups.size(); g++)
    if (graph.groups[g].kind == GroupKind::kState) state_group_ = static_cast<int32_t>(g);
  TRY_VOID(device_->allocate(graph, specs_));

  sequences_.resize(o.sequences);
  for (auto* list : {&ids_, &positions_, &owners_, &rows_}) list->reserve(o.chunk);
  tables_.reserve(o.sequences * graph.groups.size());
  states_.reserve(o.sequences);
  snapshots_.reserve(o.chunk);
  for (auto* list : {&made_, &made_hidden_}) list->reserve(o.sequences);
  in_batch_.reserve(o.sequences);
  ahead_positions_.reserve(o.sequences);
  ahead_tables_.reserve(o.sequences * graph.groups.size());
  ahead_states_.reserve(o.sequences);
  chosen_.reserve(o.sequences);
  candidate_ids_.reserve(kMostCandidates);
  if (!model_->drafts.empty()) hidden_.reserve(size_t{o.chunk} * model_->info.embedding_length);
  return {};
}

uint64_t Engine::kv_bytes() const {
  uint64_t total = 0;
  for (size_t g = 0; g < specs_.size(); g++)
    total +=
        device_->page_bytes(model_->graph->groups[g], specs_[g].k_type, specs_[g].v_type) * specs_[g].pages;
  return total;
}

// ---- sequences

Engine::Sequence& Engine::at(SequenceId id) {
  ENSURE(id >= 0 && static_cast<size_t>(id) < sequences_.size() && sequences_[static_cast<size_t>(id)].alive,
         "no sequence {}", id);
  return sequences_[static_cast<size_t>(id)];
}
const Engine::Sequence& Engine::at(SequenceId id) const { return const_cast<Engine*>(this)->at(id); }

Result<SequenceId> Engine::create_sequence() {
  for (size_t i = 0; i < sequences_.size(); i++) {
    Sequence& s = sequences_[i];
    if (s.alive) continue;
    s = Sequence{.alive = true};
    s.tokens.reserve(options_.context);
    s.tables.resize(pools_.size());
    for (auto& table : s.tables) table.reserve(options_.context / kPageTokens + 1);
    s.drafted.resize(model_->drafts.size());
    for (auto& tokens : s.drafted) tokens.reserve(options_.context);
    if (state_group_ >= 0) s.states = StateHistory(options_.checkpoints, options_.checkpoint_interval);
    return static_cast<SequenceId>(i);
  }
  return fail("all {} sequences are in use", sequences_.size());
}

void Engine::drop(SequenceId id) {
  Sequence& s = at(id);
  cut(s, 0);
  s.alive = false;
}

Result<SequenceId> Engine::fork(SequenceId id) {
  const SequenceId copy = TRY(create_sequence());
  const Sequence& from = at(id);
  Sequence& to = at(copy);
  to.tokens.assign(from.tokens.begin(), from.tokens.end());
  to.processed = from.processed;
  to.window_floor = from.window_floor;
  for (size_t d = 0; d < from.drafted.size(); d++)
    to.drafted[d].assign(from.drafted[d].begin(), from.drafted[d].end());
  for (size_t g = 0; g < pools_.size(); g++) {
    to.tables[g].assign(from.tables[g].begin(), from.tables[g].end());
    for (const PageId page : to.tables[g])
      if (page >= 0) pools_[g].share(page);
  }
  if (state_group_ >= 0) to.states = from.states.fork(state_pool());
  return copy;
}

// Forgets everything from position `length` on.
void Engine::cut(Sequence& s, uint32_t length) {
  drop_ahead();
  const size_t pages = (length + kPageTokens - 1) / kPageTokens;
  for (size_t g = 0; g < pools_.size(); g++) {
    while (s.tables[g].size() > pages) {
      if (s.tables[g].back() >= 0) pools_[g].release(s.tables[g].back());
      s.tables[g].pop_back();
    }
  }
  if (state_group_ >= 0) s.states.cut(state_pool(), length);
  s.tokens.resize(std::min<size_t>(s.tokens.size(), length));
  s.processed = std::min(s.processed, length);
  for (auto& tokens : s.drafted) tokens.resize(std::min<size_t>(tokens.size(), length));
  if (length == 0) s.window_floor = 0;
}

// The longest prefix of at most `length` tokens from which the sequence can go on.
uint32_t Engine::restorable(const Sequence& s, uint32_t length) const {
  if (whole_texts_) return 0;
  length = std::min(length, s.processed);
  if (state_group_ >= 0) length = s.states.restorable(length);
  for (const MemoryGroup& group : model_->graph->groups) {
    if (group.kind != GroupKind::kWindow || s.window_floor == 0) continue;
    // The next token, at `length`, looks back to length − window + 1.
    const int64_t reach = int64_t{length} - group.window + 1;
    if (reach < int64_t{s.window_floor}) return 0;
  }
  return length;
}

Result<SyncInfo> Engine::sync(SequenceId id, std::span<const int32_t> prefix) {
  Sequence& s = at(id);
  if (prefix.empty()) return fail("the prompt is empty");
  if (prefix.size() > options_.context)
    return fail_hint("shorten the prompt or give a larger --context",
                     "the prompt has {} tokens, and the maximum context length is {} tokens", prefix.size(),
                     options_.context);
  for (const int32_t token : prefix)
    if (token < 0 || static_cast<uint32_t>(token) >= model_->info.vocabulary)
      return fail("token id {} is not in the vocabulary of {} tokens", token, model_->info.vocabulary);

  uint32_t same = 0;
  const auto limit = static_cast<uint32_t>(std::min<size_t>(s.processed, prefix.size()));
  while (same < limit && s.tokens[same] == prefix[same]) same++;
  const auto wanted = std::min(same, static_cast<uint32_t>(prefix.size() - 1));
  const uint32_t reused = restorable(s, wanted);
  SyncInfo info{.reused = reused, .first_difference = same, .cause = ""};
  if (reused < wanted)
    info.cause = whole_texts_ ? "whole text" : state_group_ >= 0 ? "no state kept" : "window passed";
  else if (same < s.processed && same < prefix.size())
    info.cause = "text differs";
  cut(s, reused);
  s.tokens.assign(prefix.begin(), prefix.end());
  match_drafts(s, reused);
  // The same prompt again, or one with another reply behind it, goes on before the last token, whose logits it needs.
  if (state_group_ >= 0) s.states.mark(static_cast<uint32_t>(prefix.size() - 1));
  info.to_process = static_cast<uint32_t>(prefix.size()) - reused;
  return info;
}

Result<> Engine::append(SequenceId id, int32_t token) {
  Sequence& s = at(id);
  if (whole_texts_) return fail("the model reads whole texts: none can go on");
  if (s.tokens.size() >= options_.context) return fail("the context of {} tokens is full", options_.context);
  ENSURE(token >= 0 && static_cast<uint32_t>(token) < model_->info.vocabulary, "token id {}", token);
  s.tokens.push_back(token);
  if (s.expected > 0) s.expected--;
  match_drafts(s, static_cast<uint32_t>(s.tokens.size() - 1));
  return {};
}

void Engine::want_logits(SequenceId id, LogitRows rows) { at(id).want = rows; }
uint32_t Engine::length(SequenceId id) const { return static_cast<uint32_t>(at(id).tokens.size()); }
uint32_t Engine::pending(SequenceId id) const { return length(id) - at(id).processed; }

bool Engine::has_work() const {
  return std::ranges::any_of(sequences_,
                             [](const Sequence& s) { return s.alive && s.processed < s.tokens.size(); });
}

// ---- computing

// `graph`: index in graphs_.
Result<Engine::Prepared> Engine::prepared(size_t graph, uint32_t t, uint32_t r, bool hidden,
                                          uint32_t choose) {
  const PlanKey key{std::min(bucket(t), std::max(options_.chunk, t)),
                    r <= 1 ? r : std::min(bucket(r), bucket(t)), hidden, choose};
  Compiled& compiled = graphs_[graph];
  const auto found = compiled.plans.find(key);
  if (found != compiled.plans.end() && found->second.handle >= 0) return found->second;
  drop_ahead();  // the device may have to make room
  Prepared made{nullptr, -1};
  made.plan = found != compiled.plans.end() ? found->second.plan : TRY(device_->compile(compiled.graph, key));
  made.handle = TRY(device_->prepare(made.plan));
  compiled.plans.insert_or_assign(key, made);
  return made;
}

Result<std::shared_ptr<const Plan>> Engine::plan_for(uint32_t t, uint32_t r) {
  return TRY(prepared(0, t, r, false)).plan;
}

void Engine::clear_batch() {
  for (auto* list : {&ids_, &positions_, &owners_, &rows_}) list->clear();
  tables_.clear();
  states_.clear();
  snapshots_.clear();
  for (auto* list : {&made_, &made_hidden_}) list->clear();
  hidden_.clear();
  in_batch_.clear();
}

void Engine::put_row(int32_t token, uint32_t position, int32_t owner, bool wanted) {
  if (wanted) rows_.push_back(static_cast<int32_t>(ids_.size()));
  ids_.push_back(token);
  positions_.push_back(static_cast<int32_t>(position));
  owners_.push_back(owner);
}

Batch Engine::batch() const {
  return {.ids = ids_,
          .positions = positions_,
          .sequences = owners_,
          .rows = rows_,
          .page_tables = tables_,
          .states = states_,
          .snapshots = snapshots_,
          .hidden = hidden_};
}

Result<> Engine::run(const Prepared& plan) {
  TRY_VOID(device_->run(plan.handle, batch()));
  last_ = plan;
  return {};
}

// Pages of positions [begin, end), each held by this sequence alone: a shared one that will be written is
// copied.
void Engine::hold_pages(Sequence& s, uint32_t group, uint32_t begin, uint32_t end) {
  std::vector<PageId>& table = s.tables[group];
  PagePool& pool = pools_[group];
  for (uint32_t index = begin / kPageTokens; index * kPageTokens < end; index++) {
    while (table.size() <= index) table.push_back(pool.take());
    if (!pool.is_shared(table[index])) continue;
    const PageId own = pool.take();
    device_->copy_part(group, table[index], own, std::max(begin, index * kPageTokens) - index * kPageTokens);
    pool.release(table[index]);
    table[index] = own;
  }
}

void Engine::take_rows(SequenceId id, uint32_t count) {
  Sequence& s = at(id);
  const auto owner = static_cast<int32_t>(in_batch_.size());
  in_batch_.push_back(id);
  for (uint32_t g = 0; g < pools_.size(); g++) {
    if (graphs_[0].groups[g] && static_cast<int32_t>(g) != state_group_)
      hold_pages(s, g, s.processed, s.processed + count);
    tables_.emplace_back(s.tables[g]);
  }
  if (state_group_ >= 0) states_.push_back(s.states.begin_step(state_pool(), s.processed, count));
  const bool ends = s.processed + count == s.tokens.size();
  const uint32_t wanted = s.want == LogitRows::kAll ? count : s.want != LogitRows::kNone && ends ? 1 : 0;
  if (wanted > 0)
    made_.push_back({id, s.processed + count - wanted, wanted, static_cast<uint32_t>(rows_.size())});
  if (s.want_hidden) made_hidden_.push_back({id, s.processed, count, static_cast<uint32_t>(ids_.size())});
  for (uint32_t i = 0; i < count; i++) {
    put_row(s.tokens[s.processed + i], s.processed + i, owner, i >= count - wanted);
    if (state_group_ >= 0) snapshots_.push_back(s.states.checkpoint_behind(state_pool(), s.processed + i));
  }
}

// Pages that no later position can see go back to the pool.
void Engine::release_passed(Sequence& s) {
  for (size_t g = 0; g < pools_.size(); g++) {
    const MemoryGroup& group = model_->graph->groups[g];
    if (group.kind != GroupKind::kWindow) continue;
    const int64_t floor = int64_t{s.processed} - group.window + 1;
    for (size_t i = 0; i < s.tables[g].size() && static_cast<int64_t>((i + 1) * kPageTokens) <= floor; i++) {
      if (s.tables[g][i] < 0) continue;
      pools_[g].release(s.tables[g][i]);
      s.tables[g][i] = -1;
      s.window_floor = std::max(s.window_floor, static_cast<uint32_t>((i + 1) * kPageTokens));
    }
  }
}

Result<std::span<const StepRows>> Engine::step() {
  if (ahead_ && is_as_expected()) {
    take_ahead();
    TRY_VOID(run_ahead());
    end_step();
    return std::span<const StepRows>(made_);
  }
  drop_ahead();
  clear_batch();
  uint32_t left = options_.chunk;
  const auto count = static_cast<uint32_t>(sequences_.size());
  const auto take = [&](bool single) {
    for (uint32_t i = 0; i < count && left > 0; i++) {
      const uint32_t index = (turn_ + i) % count;
      const Sequence& s = sequences_[index];
      const uint32_t waiting = s.alive ? static_cast<uint32_t>(s.tokens.size()) - s.processed : 0;
      if (waiting == 0 || (waiting == 1) != single) continue;
      if (whole_texts_ && waiting > left) continue;
      const uint32_t n = std::min(waiting, left);
      take_rows(static_cast<SequenceId>(index), n);
      left -= n;
    }
  };
  take(true);
  take(false);
  ENSURE(!ids_.empty(), "step() without work");
  turn_ = (turn_ + 1) % count;

  const uint32_t choose = choices_wanted();
  const Prepared plan = TRY(prepared(0, static_cast<uint32_t>(ids_.size()),
                                     static_cast<uint32_t>(rows_.size()), !made_hidden_.empty(), choose));
  if (choose == 1 && device_->caps().runs_ahead) {
    ENSURE(TRY(device_->begin(plan.handle, batch(), false)), "a first step can begin");
    last_ = plan;
    TRY_VOID(run_ahead());
  } else {
    TRY_VOID(run(plan));
  }
  end_step();
  return std::span<const StepRows>(made_);
}

void Engine::end_step() {
  for (size_t i = 0, row = 0; i < in_batch_.size(); i++) {
    Sequence& s = at(in_batch_[i]);
    while (row < owners_.size() && owners_[row] == static_cast<int32_t>(i)) {
      s.processed++;
      row++;
    }
    release_passed(s);
    if (state_group_ >= 0) s.states.end_step(state_pool());
  }
}

std::span<const float> Engine::output(uint32_t row) {
  ENSURE(last_.handle >= 0 && row < rows_.size() && last_.plan->key.choose == 0, "row {}", row);
  return device_->read(last_.handle, last_.plan->source->output(), row);
}

std::span<const float> Engine::logits(uint32_t row) {
  ENSURE(model_->graph->logits >= 0, "the graph makes no logits");
  return output(row);
}

std::span<const float> Engine::embedding(uint32_t row) {
  ENSURE(model_->graph->embeddings >= 0, "the graph makes no embeddings");
  return output(row);
}

}  // namespace brass
