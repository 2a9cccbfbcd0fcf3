// Runs a plan step by step and finds what a step touches outside the ranges that it declares.
//
// Each step runs three times from the same state: on that state, and twice with every byte that it does not
// declare to read replaced, by NaN and by a small number. What it does not declare to write must stay as it
// was, in front of the arena, behind it, and between its values; what it writes must be the same all three
// times. Cached keys and values are judged by layer, as they are declared, for the steps that know of pages;
// for the others, at the end.
#pragma once

#include <array>
#include <limits>

#include "device_harness.h"

namespace brass {

class GuardBands {
 public:
  using Faults = std::vector<std::string>;
  // What step `s` does wrong if its ranges are those of `declared`.
  using Judge = std::function<Faults(const Step& declared)>;
  using Visit = std::function<void(const Plan& plan, size_t s, const Judge& judge)>;

  // `choose`: of the logits (PlanKey::choose).
  GuardBands(std::unique_ptr<Device> device, std::shared_ptr<const Graph> graph, const Caps& caps,
             KvType kv_type, uint32_t choose = 0)
      : device_(std::move(device)), graph_(std::move(graph)), caps_(caps), choose_(choose) {
    EXPECT_TRUE(device_->upload(*graph_, {}, [](const Weight&) {}).has_value());
    const std::vector<PoolSpec> pools(graph_->groups.size(), {kSequences * kPages, kv_type, kv_type});
    EXPECT_TRUE(device_->allocate(*graph_, pools).has_value());
    for (int32_t s = 0; s < kSequences; s++)
      for (size_t g = 0; g < graph_->groups.size(); g++) tables_.push_back({kSequences + s, s});
  }

  // The logits of the wanted rows, or what is chosen of them; `visit` is called for every step, before the state moves on.
  Logits run(const std::vector<TokenRow>& rows, const Visit& visit) {
    const BatchRows r(rows);
    const PlanKey key{bucket(static_cast<uint32_t>(r.ids.size())),
                      bucket(static_cast<uint32_t>(r.wanted.size())), graph_->hidden >= 0,
                      r.wanted.empty() ? 0 : choose_};
    const std::shared_ptr<const Plan> plan = surrounded(key);
    const std::vector<PageTable> tables(tables_.begin(), tables_.end());
    batch_ = {r.ids, r.positions, r.sequences, r.wanted, tables};
    const std::vector<float> hidden = hidden_rows(*graph_, r.ids.size());
    batch_.hidden = hidden;

    std::vector<PlanHandle> handles;
    for (const Step& step : plan->steps) {
      auto part = std::make_shared<Plan>(*plan);
      part->steps = {step};
      const Result<PlanHandle> handle = device_->prepare(std::move(part));
      EXPECT_TRUE(handle.has_value()) << (handle ? "" : handle.error().message);
      handles.push_back(*handle);
    }

    State state{std::vector<std::byte>(plan->arena_bytes, kPoisons[0].byte), pages()};
    for (size_t s = 0; s < handles.size(); s++) {
      visit(*plan, s, [&](const Step& declared) { return judge(*plan, handles[s], declared, state); });
      state = ran(handles[s], state, knows_pages(*plan, plan->steps[s]));
    }
    EXPECT_TRUE(same(pages(), state.pages)) << "a step that knows of no pages wrote to one";

    Logits logits;
    for (uint32_t row = 0; row < r.wanted.size(); row++) {
      const std::span<const float> values = device_->read(handles.back(), plan->outputs().front(), row);
      logits.emplace_back(values.begin(), values.end());
    }
    return logits;
  }

 private:
  static constexpr int32_t kSequences = 3, kPages = 2;
  static constexpr uint64_t kBand = 4096;  // around the arena's values
  struct Poison {
    std::byte byte;
    float number;
  };
  // Every float type of cached values keeps these.
  static constexpr Poison kPoisons[] = {{std::byte{0xff}, std::numeric_limits<float>::quiet_NaN()},
                                        {std::byte{0x3f}, 0.75f}};

  using Pages = std::vector<std::vector<std::vector<float>>>;  // [group][page], canonical rows
  struct State {
    std::vector<std::byte> arena;
    Pages pages;
  };

  struct BatchRows {
    explicit BatchRows(const std::vector<TokenRow>& rows) {
      for (const TokenRow& row : rows) {
        if (row.want) wanted.push_back(static_cast<int32_t>(ids.size()));
        ids.push_back(row.id);
        positions.push_back(row.position);
        sequences.push_back(row.sequence);
      }
    }
    std::vector<int32_t> ids, positions, sequences, wanted;
  };

  // The compiled plan with bands around its values, and one value more that covers the whole arena, through
  // which read() shows it.
  std::shared_ptr<const Plan> surrounded(PlanKey key) {
    const Result<std::shared_ptr<const Plan>> compiled = compile(graph_, key, caps_);
    EXPECT_TRUE(compiled.has_value()) << (compiled ? "" : compiled.error().message);
    auto plan = std::make_shared<Plan>(**compiled);
    for (Placed& p : plan->placed)
      if (p.storage != Storage::kInternal) p.offset += kBand;
    plan->arena_bytes = (plan->arena_bytes + 2 * kBand) / sizeof(float) * sizeof(float);
    declare_ranges(*plan);
    const auto floats = static_cast<uint32_t>(plan->arena_bytes / sizeof(float));
    whole_ = static_cast<ValueId>(plan->values.size());
    plan->values.push_back({.name = "the arena", .rows = Rows::kT, .width = floats});
    plan->placed.push_back({.storage = Storage::kArena,
                            .offset = 0,
                            .bytes = plan->arena_bytes,
                            .stride = floats,
                            .first = 0,
                            .last = UINT32_MAX});
    for (const ValueId v : plan->outputs()) plan->placed[static_cast<size_t>(v)].last = UINT32_MAX;
    return plan;
  }

  static bool knows_pages(const Plan& plan, const Step& step) {
    return std::ranges::any_of(step.ops, [&](uint32_t o) {
      return plan.ops[o].kind == OpKind::kKvWrite || plan.ops[o].kind == OpKind::kAttention;
    });
  }

  // ---- states

  std::span<std::byte> arena(PlanHandle handle) {
    const std::span<const float> values = device_->read(handle, whole_, 0);
    return {reinterpret_cast<std::byte*>(const_cast<float*>(values.data())), values.size_bytes()};
  }

  Pages pages() {
    Pages all(graph_->groups.size());
    for (uint32_t g = 0; g < all.size(); g++)
      for (PageId page = 0; page < kSequences * kPages; page++)
        all[g].push_back(device_->export_page(g, page));
    return all;
  }

  void put(PlanHandle handle, const State& state, bool with_pages) {
    std::ranges::copy(state.arena, arena(handle).begin());
    if (!with_pages) return;
    for (uint32_t g = 0; g < state.pages.size(); g++)
      for (PageId page = 0; page < kSequences * kPages; page++)
        device_->import_page(g, page, state.pages[g][static_cast<size_t>(page)]);
  }

  // What the step makes of a state.
  State ran(PlanHandle handle, const State& before, bool with_pages) {
    put(handle, before, with_pages);
    const Result<> done = device_->run(handle, batch_);
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
    const std::span<std::byte> bytes = arena(handle);
    return {{bytes.begin(), bytes.end()}, with_pages ? pages() : before.pages};
  }

  static bool same(const Pages& a, const Pages& b) {
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return same_bits(x, y); });
  }

  // ---- ranges

  // Which bytes of the arena.
  static std::vector<bool> declared_bytes(const std::vector<Range>& ranges, size_t arena_bytes) {
    std::vector<bool> in(arena_bytes, false);
    for (const Range& r : ranges)
      if (r.space == Range::Space::kArena)
        std::fill(in.begin() + static_cast<ptrdiff_t>(r.begin), in.begin() + static_cast<ptrdiff_t>(r.end),
                  true);
    return in;
  }
  static bool declares(const std::vector<Range>& ranges, uint32_t group, uint32_t layer) {
    return std::ranges::any_of(ranges, [&](const Range& r) {
      return r.space == Range::Space::kKv && r.begin == group && r.end == layer;
    });
  }

  // [begin, end) of a layer in a page's canonical rows.
  std::pair<size_t, size_t> layer_values(uint32_t group, uint32_t layer) const {
    size_t begin = 0;
    for (uint32_t l = 0;; l++) {
      const KvLayer& k = graph_->groups[group].layers[l];
      const size_t end = begin + size_t{kPageTokens} * k.heads * (k.k_dim + k.v_dim);
      if (l == layer) return {begin, end};
      begin = end;
    }
  }

  void each_layer(const std::function<void(uint32_t group, uint32_t layer, size_t begin, size_t end)>& f) {
    for (uint32_t g = 0; g < graph_->groups.size(); g++)
      for (uint32_t l = 0; l < graph_->groups[g].layers.size(); l++) {
        const auto [begin, end] = layer_values(g, l);
        f(g, l, begin, end);
      }
  }

  // `state` with everything replaced that is not declared to be read.
  State poisoned(const State& state, const Step& declared, const Poison& poison) {
    State out = state;
    const std::vector<bool> read = declared_bytes(declared.reads, out.arena.size());
    for (size_t i = 0; i < out.arena.size(); i++)
      if (!read[i]) out.arena[i] = poison.byte;
    each_layer([&](uint32_t group, uint32_t layer, size_t begin, size_t end) {
      if (declares(declared.reads, group, layer)) return;
      for (std::vector<float>& page : out.pages[group])
        std::fill(page.begin() + static_cast<ptrdiff_t>(begin), page.begin() + static_cast<ptrdiff_t>(end),
                  poison.number);
    });
    return out;
  }

  // ---- judgement

  // One place in three runs: where `writable`, all wrote the same or none wrote; elsewhere none wrote.
  template <class T>
  static bool sound(bool writable, const std::array<T, 3>& before, const std::array<T, 3>& after) {
    if (before == after) return true;
    return writable && after[0] == after[1] && after[1] == after[2];
  }

  Faults judge(const Plan& plan, PlanHandle handle, const Step& declared, const State& state) {
    const bool with_pages = knows_pages(plan, declared);
    const std::array<State, 3> before = {state, poisoned(state, declared, kPoisons[0]),
                                         poisoned(state, declared, kPoisons[1])};
    std::array<State, 3> after;
    for (size_t i = 0; i < 3; i++) after[i] = ran(handle, before[i], with_pages);
    put(handle, state, with_pages);

    Faults faults;
    const std::string name = plan.ops[declared.ops[0]].name;
    const std::vector<bool> writable = declared_bytes(declared.writes, state.arena.size());
    for (size_t i = 0; i < state.arena.size(); i++) {
      const auto at = [&](const std::array<State, 3>& s) {
        return std::array{s[0].arena[i], s[1].arena[i], s[2].arena[i]};
      };
      if (sound<std::byte>(writable[i], at(before), at(after))) continue;
      faults.push_back(fmt::format("'{}' ({}): byte {} of {}", name, declared.rule,
                                   static_cast<int64_t>(i) - static_cast<int64_t>(kBand),
                                   state.arena.size() - 2 * kBand));
      break;
    }
    if (with_pages) judge_pages(declared, before, after, name, faults);
    return faults;
  }

  void judge_pages(const Step& declared, const std::array<State, 3>& before,
                   const std::array<State, 3>& after, const std::string& name, Faults& faults) {
    each_layer([&](uint32_t group, uint32_t layer, size_t begin, size_t end) {
      const bool writable = declares(declared.writes, group, layer);
      for (size_t page = 0; page < before[0].pages[group].size(); page++)
        for (size_t i = begin; i < end; i++) {
          const auto at = [&](const std::array<State, 3>& s) {
            return std::array{std::bit_cast<uint32_t>(s[0].pages[group][page][i]),
                              std::bit_cast<uint32_t>(s[1].pages[group][page][i]),
                              std::bit_cast<uint32_t>(s[2].pages[group][page][i])};
          };
          if (sound<uint32_t>(writable, at(before), at(after))) continue;
          faults.push_back(fmt::format("'{}' ({}): value {} of page {} of group {}, layer {}", name,
                                       declared.rule, i - begin, page, group, layer));
          return;
        }
    });
  }

  std::unique_ptr<Device> device_;
  std::shared_ptr<const Graph> graph_;
  Caps caps_;
  std::vector<std::vector<PageId>> tables_;  // [sequence · groups + group]
  Batch batch_;
  ValueId whole_ = -1;
  uint32_t choose_;
};

// Steps of every kind over `vocab` tokens: prefill, decode, verification of a draft, no logits, several
// sequences with padding between, positions that cross a page.
inline std::vector<std::vector<TokenRow>> guarded_steps(uint32_t vocab) {
  const std::vector<int32_t> ids = random_ids(120, vocab, 6);
  const auto rows = [&](int32_t sequence, int32_t from, int32_t to, bool want_all, bool want_last = true) {
    std::vector<TokenRow> made;
    for (int32_t p = from; p < to; p++)
      made.push_back({sequence, ids[static_cast<size_t>(p)], p, want_all || (want_last && p == to - 1)});
    return made;
  };
  std::vector<std::vector<TokenRow>> steps = {
      rows(0, 0, 21, false),         // prefill:21
      rows(0, 21, 22, true),         // decode
      rows(0, 22, 26, true),         // verify:4
      rows(1, 0, 8, false, false),   // no logits
      rows(1, 8, 70, false, false),  // across a page
  };
  std::vector<TokenRow> mixed = rows(0, 26, 27, true);
  for (const TokenRow& row : rows(1, 70, 75, false)) mixed.push_back(row);
  mixed.push_back({-1, 0, 0, false});
  for (const TokenRow& row : rows(2, 0, 2, true)) mixed.push_back(row);
  steps.push_back(mixed);
  steps.push_back({{0, ids[27], 27}, {1, ids[75], 75}, {2, ids[2], 2}});  // three decode together
  return steps;
}

// No step of the plans touches what it does not declare, and the logits are those of whole plans.
inline void expect_guarded(const std::function<std::unique_ptr<Device>()>& make, const Caps& caps,
                           const std::shared_ptr<const Graph>& graph, uint32_t vocab, KvType kv_type,
                           uint32_t choose = 0) {
  GuardBands guarded(make(), graph, caps, kv_type, choose);
  Runner usual(make(), graph, caps, {}, 3, 2, kv_type);
  usual.choose(choose);
  for (const auto& rows : guarded_steps(vocab)) {
    const Logits logits = guarded.run(rows, [](const Plan& plan, size_t s, const GuardBands::Judge& judge) {
      EXPECT_EQ(judge(plan.steps[s]), GuardBands::Faults{})
          << "T=" << plan.key.t << " R=" << plan.key.r << " step " << s;
    });
    EXPECT_TRUE(same_bits(logits, usual.step(rows))) << rows.size() << " rows";
  }
}

}  // namespace brass
