#include "app/bench_ledger.h"

#include <algorithm>
#include <functional>
#include <map>

#include "plan/explain.h"
#include "report/statistics.h"

namespace brass::app {
namespace {

using GroupKey = std::pair<std::string, std::string>;  // group, type

std::string group_of(const Op& op, const Weight& w) {
  if (op.kind == OpKind::kEmbed) return "embedding, one row";
  if (op.kind == OpKind::kLmHead) return "output head";
  if (op.kind == OpKind::kMoeLinear) return "experts";
  if (op.kind == OpKind::kMoeRoute) return "expert routing";
  if (w.kind == WeightKind::kVector) return "norms and biases";
  if (w.name.find("ffn_gate_inp") != std::string::npos) return "expert routing";
  if (w.name.find("ffn") != std::string::npos) return "feed-forward";
  if (w.name.find("ssm") != std::string::npos || w.name.find("conv") != std::string::npos)
    return "recurrent layers";
  if (w.name.find("attn") != std::string::npos) return "attention";
  return "other matrices";
}

// An operation's bytes among its weights, by their size; what rounding leaves goes to the first.
void add_weights(const Plan& plan, const Op& op, uint64_t bytes, std::map<GroupKey, uint64_t>& groups) {
  uint64_t all = 0, given = 0;
  for (const WeightId id : op.weights) all += plan.weight(id).bytes();
  if (all == 0 || bytes == 0) return;
  for (size_t i = op.weights.size(); i-- > 0;) {
    const Weight& w = plan.weight(op.weights[i]);
    const uint64_t part =
        i == 0 ? bytes - given
               : static_cast<uint64_t>(static_cast<double>(bytes) * static_cast<double>(w.bytes()) /
                                       static_cast<double>(all));
    given += part;
    groups[{group_of(op, w), std::string(find_format(w.type)->name)}] += part;
  }
}

// "blk.12.ffn_down" → "ffn_down"
std::string without_layer(const std::string& name) {
  if (!name.starts_with("blk.")) return name;
  const size_t dot = name.find('.', 4);
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

struct Kind {
  double least = 0;
  size_t layers = 0;
  std::vector<double> seconds;  // one a token
};

}  // namespace

report::Ledger make_ledger(const Plan& plan, uint64_t depth) {
  const Sizes sizes{.t = 1, .r = 1, .s = depth};
  std::map<GroupKey, uint64_t> groups;
  each_part(plan, [&](const Plan& part) {
    for (const Step& step : part.steps)
      for (const uint32_t o : step.ops)
        add_weights(part, part.ops[o],
                    op_cost(*part.source, part.values, part.ops[o], sizes, part.caps.kv).weight_bytes,
                    groups);
  });
  report::Ledger ledger{.depth = depth, .weights = {}};
  for (const auto& [key, bytes] : groups) ledger.weights.push_back({key.first, key.second, bytes});
  std::ranges::sort(ledger.weights, std::greater(), &report::LedgerRow::bytes);
  const Cost total = plan_cost(plan, sizes);
  ledger.kv_read = total.kv_read;
  ledger.kv_written = total.kv_written;
  ledger.state = total.state_bytes;
  ledger.activations = total.activation_bytes;
  ledger.flops = total.flops;
  return ledger;
}

Result<std::vector<report::StepLoss>> find_losses(Meter& meter, SequenceId kept,
                                                  const report::DeviceRates& rates, size_t most) {
  constexpr uint32_t kTokens = 8;
  Engine& engine = meter.engine();
  const auto plan = TRY(engine.plan_for(1, 1));
  const std::vector<StepRow> rows = explain_rows(*plan, 1, 1, engine.length(kept));
  std::map<std::string, Kind> kinds;
  for (const StepRow& row : rows) {
    Kind& kind = kinds[without_layer(row.step)];
    const double bytes = static_cast<double>(row.cost.weight_bytes + row.cost.kv_read + row.cost.kv_written +
                                             row.cost.state_bytes);
    kind.least += report::least_seconds(bytes, static_cast<double>(row.cost.flops), rates).value_or(0);
    kind.layers++;
  }
  engine.device().set_timing(true);
  for (uint32_t token = 0; token < kTokens; token++) {
    const Result<std::vector<double>> step = meter.decode_together(kept, 1, 1);
    if (!step) {
      engine.device().set_timing(false);
      return std::unexpected(step.error());
    }
    const std::span<const double> seconds = engine.device().step_seconds();
    if (seconds.size() != rows.size()) break;  // a device that does not time its steps
    for (auto& [name, kind] : kinds) kind.seconds.push_back(0);
    for (size_t i = 0; i < rows.size(); i++) kinds[without_layer(rows[i].step)].seconds.back() += seconds[i];
  }
  engine.device().set_timing(false);
  std::vector<report::StepLoss> losses;
  for (const auto& [name, kind] : kinds) {
    if (kind.seconds.empty()) continue;
    const std::string label = kind.layers == 1 ? name : fmt::format("{}, {} ×", name, kind.layers);
    losses.push_back({label, report::median(kind.seconds), kind.least});
  }
  std::ranges::sort(losses, std::greater(), &report::StepLoss::lost);
  if (losses.size() > most) losses.resize(most);
  return losses;
}

}  // namespace brass::app
