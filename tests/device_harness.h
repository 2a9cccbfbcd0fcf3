// Drives any Device with a graph: pages, plans, batches.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "backend/device.h"
#include "graph_builder.h"

namespace brass {

// One token of a step.
struct TokenRow {
  int32_t sequence;  // −1: padding
  int32_t id;
  int32_t position;
  bool want = true;  // its logits
};

inline std::vector<uint32_t> bits_of(std::span<const float> values) {
  std::vector<uint32_t> bits(values.size());
  std::ranges::transform(values, bits.begin(), [](float v) { return std::bit_cast<uint32_t>(v); });
  return bits;
}

using Logits = std::vector<std::vector<float>>;  // [wanted row][width]

// Bits, so that NaN equals NaN and −0 is not 0.
inline bool same_bits(const Logits& a, const Logits& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return bits_of(x) == bits_of(y); });
}

// What a graph reads of another one, where it does (hidden_in): as many rows.
inline std::vector<float> hidden_rows(const Graph& graph, size_t rows) {
  std::vector<float> values;
  for (const Op& op : graph.ops)
    if (op.kind == OpKind::kHiddenIn)
      values.resize(rows * graph.values[static_cast<size_t>(op.out[0])].width);
  Rng rng(17);
  for (float& x : values) x = static_cast<float>(rng.normal());
  return values;
}

// A device with one graph uploaded, pages dealt to `sequences` sequences in an order that is not their own,
// and plans compiled for `caps` as steps need them.
class Runner {
 public:
  using Change = std::function<void(Plan&)>;  // made to every plan before it is prepared

  Runner(std::unique_ptr<Device> device, std::shared_ptr<const Graph> graph, const Caps& caps,
         Change change = {}, uint32_t sequences = 4, uint32_t pages = 8, KvType kv_type = KvType::kF32,
         std::optional<KvType> v_type = {})
      : device_(std::move(device)), graph_(std::move(graph)), caps_(caps), change_(std::move(change)) {
    const Result<> valid = graph_->validate();
    EXPECT_TRUE(valid.has_value()) << (valid ? "" : valid.error().message);
    const Result<> uploaded = device_->upload(*graph_, {}, [](const Weight&) {});
    EXPECT_TRUE(uploaded.has_value()) << (uploaded ? "" : uploaded.error().message);
    pools_.assign(graph_->groups.size(), {sequences * pages, kv_type, v_type.value_or(kv_type)});
    clear_memory();
    Rng rng(7);
    for (uint32_t s = 0; s < sequences; s++) {
      for (size_t g = 0; g < graph_->groups.size(); g++) {
        std::vector<PageId>& table = tables_.emplace_back(pages);
        for (uint32_t i = 0; i < pages; i++) table[i] = static_cast<PageId>(i * sequences + s);
        for (uint32_t i = pages; i > 1; i--) std::swap(table[i - 1], table[rng.below(i)]);
      }
    }
  }

  Device& device() { return *device_; }
  // From now on plans choose so much of the logits (PlanKey::choose), and that is what steps give for a row.
  void choose(uint32_t wanted) { choose_ = wanted; }
  std::vector<PageId>& table(uint32_t sequence, uint32_t group) {
    return tables_[sequence * graph_->groups.size() + group];
  }

  void clear_memory() {
    const Result<> allocated = device_->allocate(*graph_, pools_);
    EXPECT_TRUE(allocated.has_value()) << (allocated ? "" : allocated.error().message);
  }

  Logits step(const std::vector<TokenRow>& rows) {
    Result<Logits> logits = try_step(rows);
    EXPECT_TRUE(logits.has_value()) << (logits ? "" : logits.error().message);
    return logits ? std::move(*logits) : Logits{};
  }

  // As step(); what the device refuses is for the caller to judge.
  Result<Logits> try_step(const std::vector<TokenRow>& rows) {
    std::vector<int32_t> ids, positions, sequences, wanted;
    for (const TokenRow& row : rows) {
      if (row.want) wanted.push_back(static_cast<int32_t>(ids.size()));
      ids.push_back(row.id);
      positions.push_back(row.position);
      sequences.push_back(row.sequence);
    }
    const std::vector<PageTable> tables(tables_.begin(), tables_.end());
    const PlanKey key{bucket(static_cast<uint32_t>(ids.size())),
                      bucket(static_cast<uint32_t>(wanted.size()))};
    const PlanHandle handle = prepared(key);
    const std::vector<float> hidden = hidden_rows(*graph_, ids.size());
    Batch batch{ids, positions, sequences, wanted, tables};
    batch.hidden = hidden;
    if (Result<> ran = device_->run(handle, batch); !ran) return std::unexpected(ran.error());
    const ValueId output = choose_ > 0 && !wanted.empty() ? plan(key).choice : graph_->output();
    // A graph of T rows and no gather_rows: every row is there.
    const bool all = plan(key).value(output).rows == Rows::kT;
    Logits logits;
    for (uint32_t r = 0; r < (all ? ids.size() : wanted.size()); r++) {
      const std::span<const float> row = device_->read(handle, output, r);
      logits.emplace_back(row.begin(), row.end());
    }
    return logits;
  }

  // Tokens `ids` of one sequence from `position` on, in one step.
  Logits text(int32_t sequence, const std::vector<int32_t>& ids, int32_t position = 0) {
    return step(rows_of(sequence, ids, position));
  }

  static std::vector<TokenRow> rows_of(int32_t sequence, const std::vector<int32_t>& ids, int32_t position) {
    std::vector<TokenRow> rows;
    for (const int32_t id : ids) rows.push_back({sequence, id, position++});
    return rows;
  }

  const Plan& plan(PlanKey key) {
    prepared(key);
    return *plans_.at(asked(key)).first;
  }

 private:
  PlanKey asked(PlanKey key) const {
    if (key.r > 0) key.choose = choose_;
    return key;
  }
  PlanHandle prepared(PlanKey key) {
    key = asked(key);
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second.second;
    Result<std::shared_ptr<const Plan>> plan = compile(graph_, key, caps_);
    EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
    if (change_) {
      auto changed = std::make_shared<Plan>(**plan);
      change_(*changed);
      *plan = std::move(changed);
    }
    const Result<PlanHandle> handle = device_->prepare(*plan);
    EXPECT_TRUE(handle.has_value()) << (handle ? "" : handle.error().message);
    plans_[key] = {*plan, *handle};
    return *handle;
  }

  std::unique_ptr<Device> device_;
  std::shared_ptr<const Graph> graph_;
  Caps caps_;
  Change change_;
  std::vector<PoolSpec> pools_;
  std::vector<std::vector<PageId>> tables_;  // [sequence · groups + group]
  std::map<PlanKey, std::pair<std::shared_ptr<const Plan>, PlanHandle>> plans_;
  uint32_t choose_ = 0;
};

inline std::vector<int32_t> random_ids(size_t n, uint32_t vocab, uint64_t seed) {
  Rng rng(seed);
  std::vector<int32_t> ids(n);
  for (int32_t& id : ids) id = static_cast<int32_t>(rng.below(vocab));
  return ids;
}

}  // namespace brass
