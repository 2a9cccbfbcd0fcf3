#include "runtime/memory_plan.h"

#include <algorithm>

#include "base/check.h"
#include "runtime/state_history.h"

namespace brass {

std::vector<std::shared_ptr<const Graph>> fitted_graphs(const Model& model, uint32_t context) {
  std::vector<std::shared_ptr<const Graph>> graphs = {model.graph};
  graphs.insert(graphs.end(), model.drafts.begin(), model.drafts.end());
  for (std::shared_ptr<const Graph>& graph : graphs)
    if (Graph fitted = *graph; fitted.fit_context(context))
      graph = std::make_shared<const Graph>(std::move(fitted));
  return graphs;
}

Result<EngineOptions> settle(const Model& model, EngineOptions options) {
  const uint32_t length = model.info.context_length;
  if (options.context == 0) options.context = std::min(length, kDefaultContext);
  if (options.context > length)
    return wrong_use("flag --context: {} is more than the {} tokens that {} was made for", options.context,
                     length, model.file->path());
  ENSURE(options.sequences > 0 && options.chunk > 0);
  if (model.graph->needs_whole_texts()) options.chunk = std::max(options.chunk, options.context);
  if (options.outputs == 0) options.outputs = options.sequences;
  return options;
}

std::vector<PoolSpec> pool_specs(const Graph& graph, const EngineOptions& o) {
  constexpr uint32_t kPagesOfAFork = 2;
  const uint32_t pages = (o.context + kPageTokens - 1) / kPageTokens;
  const uint32_t full = o.full_sequences == 0 ? o.sequences : std::min(o.full_sequences, o.sequences);
  std::vector<PoolSpec> specs;
  for (const MemoryGroup& group : graph.groups) {
    uint32_t each = pages;
    if (group.kind == GroupKind::kState) each = StateHistory::most_pages(o.checkpoints);
    // A window needs its own span, what one step adds, and the page that both ends cut.
    if (group.kind == GroupKind::kWindow)
      each = std::min<uint32_t>(pages, (static_cast<uint32_t>(group.window) + o.chunk) / kPageTokens + 2);
    // Only what stays as it is can be shared: a window moves on, a state is written anew.
    const bool shared = group.kind == GroupKind::kKv;
    const uint32_t own = shared ? std::min(each, kPagesOfAFork) : each;
    specs.push_back({each * full + own * (o.sequences - full), o.k_type, o.v_type});
  }
  return specs;
}

Result<MemoryPlan> MemoryPlan::create(std::vector<std::shared_ptr<const Graph>> graphs, Device& device,
                                      const EngineOptions& settled) {
  MemoryPlan out;
  out.graphs_ = std::move(graphs);
  out.options_ = settled;
  if (!device.caps().own_memory) return out;
  for (size_t g = 0; g < out.graphs_.size(); g++) {
    // Other programs run steps of few rows, so the largest step need not be the one that needs most.
    const bool hidden = out.graphs_.size() > 1;
    for (uint32_t t = 1;; t = std::min(2 * t, settled.chunk)) {
      const PlanKey key{t, std::min(bucket(settled.outputs), bucket(t)), hidden};
      out.plans_.push_back({g, TRY(device.compile(out.graphs_[g], key))});
      if (t == settled.chunk) break;
    }
  }
  // Steps that choose one, or candidates: a row of each sequence.
  if (!device.caps().operations.contains(OpKind::kChoose) || out.graphs_.front()->logits < 0) return out;
  for (uint32_t n = 1;; n = std::min(2 * n, settled.sequences)) {
    const uint32_t t = std::min(bucket(n), std::max(settled.chunk, n));
    for (const uint32_t choose : {1u, kMostCandidates}) {
      const PlanKey key{.t = t, .r = n <= 1 ? n : std::min(bucket(n), bucket(t)), .choose = choose};
      out.plans_.push_back({0, TRY(device.compile(out.graphs_.front(), key))});
    }
    if (n == settled.sequences) break;
  }
  return out;
}

template <class Fn>
auto MemoryPlan::with_use(const EngineOptions& options, const Fn& fn) const {
  std::vector<const Graph*> graphs;
  for (const auto& graph : graphs_) graphs.push_back(graph.get());
  std::vector<std::shared_ptr<const Plan>> plans;
  for (const Compiled& compiled : plans_) plans.push_back(compiled.plan);
  const std::vector<PoolSpec> pools = pool_specs(*graphs.front(), options);
  return fn(MemoryUse{.graphs = graphs,
                      .pools = pools,
                      .plans = plans,
                      .sequences = options.sequences,
                      .positions = options.context});
}

Result<MemoryNeed> MemoryPlan::need(const Device& device, const EngineOptions& options) const {
  return with_use(options, [&](const MemoryUse& use) { return device.memory_need(use); });
}

Result<> MemoryPlan::reserve(Device& device) const {
  return with_use(options_, [&](const MemoryUse& use) { return device.reserve(use); });
}

Result<uint32_t> MemoryPlan::largest_context(const Device& device, KvType k, KvType v, uint32_t most) const {
  EngineOptions o = options_;
  o.k_type = k, o.v_type = v;
  uint32_t fits = 0, beyond = most / kPageTokens + 1;  // in pages
  while (beyond - fits > 1) {
    const uint32_t middle = fits + (beyond - fits) / 2;
    o.context = middle * kPageTokens;
    (TRY(need(device, o)).fits() ? fits : beyond) = middle;
  }
  return fits * kPageTokens;
}

namespace {
std::string text_of(uint64_t bytes) {
  const auto n = static_cast<double>(bytes);
  return n < 1e6   ? fmt::format("{:.1f} kB", n / 1e3)
         : n < 1e9 ? fmt::format("{:.1f} MB", n / 1e6)
                   : fmt::format("{:.2f} GB", n / 1e9);
}
}  // namespace

// What would fit, of what a flag can change.
Result<std::string> MemoryPlan::remedies(const Device& device) const {
  // Steps of whole texts are as long as the context, and their plans with them.
  if (graphs_.front()->needs_whole_texts()) return std::string("a smaller --context needs less");
  std::string out;
  const uint32_t most = options_.context;
  const auto offer = [&](KvType k, KvType v, std::string_view flag) -> Result<> {
    const uint32_t context = TRY(largest_context(device, k, v, most));
    if (context == 0) return {};
    if (!out.empty()) out += ", or ";
    out += context + kPageTokens > most ? fmt::format("{}the whole context", flag)
                                        : fmt::format("{}--context {}", flag, context);
    return {};
  };
  TRY_VOID(offer(options_.k_type, options_.v_type, ""));
  if (options_.k_type != KvType::kInt8 || options_.v_type != KvType::kInt8)
    TRY_VOID(offer(KvType::kInt8, KvType::kInt8, "--kv-type int8 with "));
  return out.empty() ? "no context fits" : out + " fits";
}

Result<> MemoryPlan::check(const Device& device) const {
  const MemoryNeed found = TRY(need(device));
  if (found.fits()) return {};
  std::string parts;
  for (const MemoryNeed::Part& part : found.parts)
    if (!part.elsewhere)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", part.name, text_of(part.bytes));
  Error error{
      fmt::format("{}: {} of memory are needed, and there are {} ({}; a context of {})", device.describe(),
                  text_of(found.total()), text_of(found.available), parts, options_.context),
      TRY(remedies(device))};
  error.no_room = true;
  return std::unexpected(std::move(error));
}

}  // namespace brass
