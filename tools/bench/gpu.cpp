// bench_gpu: single operations over many rows on a Vulkan device, by its own clock.
//
//   bench_gpu [--tokens N] [--prompt-products LIST] [NAME…]     only the cases whose names begin so
//
// What is chosen of logits ("choose", "candidates") is of one row, whatever --tokens says.
// A case is a graph of a few operations, run nine times; printed is the median of the one that is named, with what its plan counts.
// LIST: what products go by, of auto, matrix, dots, plain, one behind another for each case: "matrix,dots,plain".
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <string>

#include "backend/vulkan/device.h"
#include "quant/random_blocks.h"

namespace brass {
namespace {

constexpr uint32_t kRuns = 9;

// A graph of rows that are looked up, then operations.
struct Case {
  std::string name;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::deque<std::vector<std::byte>> bytes;
  uint32_t choose = 0;  // PlanKey::choose

  WeightId weight(WeightKind kind, Type type, uint32_t rows, uint32_t cols, float magnitude) {
    const Format& format = *find_format(type);
    std::vector<std::byte>& data = bytes.emplace_back(rows * row_bytes(format, cols));
    // Some megabytes of random blocks, again and again: what is timed does not depend on the values.
    const size_t block = format.block_bytes, part = std::min(data.size(), size_t{4} << 20) / block * block;
    random_blocks(format, data.data(), part / block * format.block_values, 7 + bytes.size(), magnitude);
    for (size_t at = part; at < data.size(); at += part)
      std::copy_n(data.begin(), std::min(part, data.size() - at), data.begin() + static_cast<ptrdiff_t>(at));
    graph->weights.push_back({fmt::format("w{}", bytes.size()), kind, type, rows, cols, data});
    return static_cast<WeightId>(graph->weights.size() - 1);
  }
  ValueId op(OpKind kind, std::vector<ValueId> in, uint32_t width, std::vector<WeightId> weights = {},
             Attrs attrs = {}) {
    std::vector<ValueId> out;
    if (width > 0) {
      out.push_back(static_cast<ValueId>(graph->values.size()));
      graph->values.push_back({fmt::format("v{}", out[0]), Rows::kT, width});
    }
    graph->ops.push_back(
        {kind, 0, std::string(op_name(kind)), std::move(in), out, std::move(weights), std::move(attrs)});
    return width > 0 ? out[0] : -1;
  }
  ValueId rows(uint32_t width) {
    return op(OpKind::kEmbed, {}, width, {weight(WeightKind::kMatrix, Type::F16, 64, width, 1)},
              EmbedAttrs{});
  }
};

Case product(Type type, uint32_t rows, uint32_t cols) {
  Case c;
  c.name = fmt::format("product {} {}x{}", find_format(type)->name, rows, cols);
  const ValueId x = c.rows(cols);
  c.graph->logits = c.op(OpKind::kLinear, {x}, rows, {c.weight(WeightKind::kMatrix, type, rows, cols, 0.02f)},
                         LinearAttrs{});
  return c;
}

Case experts(Type type, uint32_t rows, uint32_t cols, bool own_input) {
  Case c;
  constexpr uint32_t kExperts = 128, kUsed = 8;
  c.name =
      fmt::format("experts {} {}x{}{}", find_format(type)->name, rows, cols, own_input ? " own input" : "");
  const ValueId scores = c.rows(kExperts);
  const ValueId route = c.op(OpKind::kMoeRoute, {scores}, 2 * kUsed, {},
                             RouteAttrs{.experts = kExperts, .used = kUsed, .renormalize = true});
  const ValueId x = c.rows(own_input ? kUsed * cols : cols);
  c.graph->logits = c.op(OpKind::kMoeLinear, {x, route}, kUsed * rows,
                         {c.weight(WeightKind::kMatrix, type, kExperts * rows, cols, 0.02f)},
                         ExpertAttrs{.experts = kExperts, .used = kUsed, .own_input = own_input});
  return c;
}

Case attention(uint32_t q_heads, uint32_t kv_heads, uint32_t dim) {
  Case c;
  c.name = fmt::format("attention {}/{} heads of {}", q_heads, kv_heads, dim);
  c.graph->groups.push_back({.name = "kv", .kind = GroupKind::kKv, .layers = {{kv_heads, dim, dim}}});
  const ValueId k = c.rows(kv_heads * dim), q = c.rows(q_heads * dim);
  c.op(OpKind::kKvWrite, {k, k}, 0, {}, KvAttrs{0, 0, kv_heads, dim, dim});
  c.graph->logits = c.op(
      OpKind::kAttention, {q}, q_heads * dim, {},
      AttentionAttrs{.q_heads = q_heads, .kv_heads = kv_heads, .k_dim = dim, .v_dim = dim, .scale = 0.1f});
  return c;
}

Case delta(uint32_t k_heads, uint32_t v_heads, uint32_t dim) {
  Case c;
  c.name = fmt::format("delta_net {}/{} heads of {}", k_heads, v_heads, dim);
  c.graph->groups.push_back({.name = "state", .kind = GroupKind::kState, .states = {v_heads * dim * dim}});
  const ValueId qkv = c.rows((2 * k_heads + v_heads) * dim), b = c.rows(v_heads), a = c.rows(v_heads);
  const auto vector = [&] { return c.weight(WeightKind::kVector, Type::F32, 1, v_heads, 0.1f); };
  const WeightId decay = vector(), bias = vector();
  c.graph->logits =
      c.op(OpKind::kDeltaNet, {qkv, b, a}, v_heads * dim, {decay, bias},
           DeltaAttrs{.k_heads = k_heads, .v_heads = v_heads, .k_dim = dim, .v_dim = dim, .tiled = true});
  return c;
}

Case chosen(uint32_t choose, uint32_t vocabulary) {
  Case c;
  c.choose = choose;
  c.name = choose == 1 ? fmt::format("choose of {}", vocabulary)
                       : fmt::format("candidates {} of {}", choose, vocabulary);
  c.graph->logits = c.rows(vocabulary);
  return c;
}

struct Timed {
  double seconds;  // of the plan's last step
  Cost cost;       // its
};

Result<Timed> time_of(const Case& c, uint32_t tokens, Prompts prompts) {
  TRY_VOID(c.graph->validate());
  const std::unique_ptr<Device> device = TRY(make_vulkan_device({.prompts = prompts}));
  const std::shared_ptr<const Graph> graph = c.graph;
  TRY_VOID(device->upload(*graph, {}, [](const Weight&) {}));
  const bool state = !graph->groups.empty() && graph->groups[0].kind == GroupKind::kState;
  const auto pages = static_cast<uint32_t>((tokens + kPageTokens - 1) / kPageTokens);
  std::vector<PoolSpec> pools(graph->groups.size(), {std::max(pages, 2u), KvType::kF16, KvType::kF16});
  TRY_VOID(device->allocate(*graph, pools));
  const std::shared_ptr<const Plan> plan =
      TRY(compile(graph, {.t = tokens, .r = tokens, .choose = c.choose}, device->caps()));
  const PlanHandle handle = TRY(device->prepare(plan));
  std::vector<int32_t> ids(tokens), positions(tokens), sequences(tokens, 0);
  for (uint32_t t = 0; t < tokens; t++) ids[t] = static_cast<int32_t>(t * 37 % 64);
  std::iota(positions.begin(), positions.end(), 0);
  std::vector<PageId> table(pages);
  std::iota(table.begin(), table.end(), 0);
  const std::vector<PageTable> tables(pools.size(), state ? PageTable{} : PageTable(table));
  const std::vector<StatePages> states = {{.in = -1, .out = 1}};
  Batch batch{.ids = ids, .positions = positions, .sequences = sequences, .page_tables = tables};
  if (c.choose > 0) batch.rows = positions;
  if (state) batch.states = states;
  device->set_timing(true);
  std::vector<double> all;
  for (uint32_t i = 0; i < kRuns; i++) {
    TRY_VOID(device->run(handle, batch));
    if (device->step_seconds().empty()) return fail("{} has no timestamps", device->describe());
    all.push_back(device->step_seconds().back());
  }
  std::ranges::sort(all);
  return Timed{all[kRuns / 2], step_cost(*plan, plan->steps.back(), {tokens, tokens, 0})};
}

std::deque<Case> all_cases() {  // weights point into their case: it must not move
  std::deque<Case> cases;
  for (const Type type :
       {Type::Q4_K, Type::Q5_K, Type::Q6_K, Type::Q8_0, Type::Q4_0, Type::IQ4_XS, Type::F16})
    for (const auto& [rows, cols] :
         {std::pair{4096u, 4096u}, {12288u, 4096u}, {4096u, 12288u}, {1024u, 4096u}})
      cases.push_back(product(type, rows, cols));
  cases.push_back(product(Type::F32, 128, 2048));
  for (const Type type : {Type::Q4_K, Type::Q6_K, Type::Q4_0}) {
    cases.push_back(experts(type, 768, 2048, false));
    cases.push_back(experts(type, 2048, 768, true));
  }
  for (const auto& [q, kv, dim] : {std::tuple{32u, 8u, 128u}, {32u, 4u, 128u}, {16u, 4u, 256u}})
    cases.push_back(attention(q, kv, dim));
  cases.push_back(delta(16, 32, 128));
  for (const uint32_t vocabulary : {151936u, 262144u})
    for (const uint32_t choose : {1u, 2u, 40u, kMostCandidates}) cases.push_back(chosen(choose, vocabulary));
  return cases;
}

Result<std::vector<Prompts>> prompts_of(std::string_view list) {
  std::vector<Prompts> all;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const auto found = find_prompts(list.substr(at, comma - at));
    if (!found)
      return fail("--prompt-products: '{}' holds what is none of {}", list, fmt::join(kPromptsNames, ", "));
    all.push_back(*found);
    at = comma + 1;
  }
  return all;
}

Result<> run(std::span<char*> words) {
  uint32_t tokens = 2048;
  std::vector<Prompts> prompts = {Prompts::kAutomatic};
  std::vector<std::string> only;
  for (size_t i = 0; i < words.size(); i++) {
    const std::string_view word = words[i];
    if (word == "--tokens" && i + 1 < words.size()) {
      tokens = static_cast<uint32_t>(std::strtoul(words[++i], nullptr, 10));
    } else if (word == "--prompt-products" && i + 1 < words.size()) {
      prompts = TRY(prompts_of(words[++i]));
    } else {
      only.emplace_back(word);
    }
  }
  std::deque<Case> cases = all_cases();
  for (const Case& c : cases) {
    if (!only.empty() &&
        std::ranges::none_of(only, [&](const std::string& o) { return c.name.starts_with(o); }))
      continue;
    const uint32_t rows = c.choose > 0 ? 1 : tokens;
    for (const Prompts p : prompts) {
      const Timed timed = TRY(time_of(c, rows, p));
      fmt::print("{:36} {:6} {:6} tokens {:9.1f} us {:7.1f} TFLOP/s\n", c.name,
                 kPromptsNames[static_cast<size_t>(p)], rows, timed.seconds * 1e6,
                 static_cast<double>(timed.cost.flops) / timed.seconds * 1e-12);
      std::fflush(stdout);
    }
  }
  return {};
}

}  // namespace
}  // namespace brass

int main(int argc, char** argv) {
  const brass::Result<> done = brass::run(std::span(argv + 1, static_cast<size_t>(argc - 1)));
  if (!done) fmt::print(stderr, "bench_gpu: {}\n", done.error().message);
  return done ? 0 : 1;
}
