#include "plan/predict.h"

#include <algorithm>

namespace brass {
namespace {

// hop: what a dependent step of decoding cost on an H200 (docs/gpu-notes.md); none of these cards was asked. Rates as AMD and
// NVIDIA publish them, but for the H200, where they were measured.
constexpr AssumedDevice kDevices[] = {
    {"rx9070xt", "AMD Radeon RX 9070 XT", 640e9, 0.92, 195e12, 48.7e12, 5.0e-6, 0.25e-6, true},
    {"rx7900xtx", "AMD Radeon RX 7900 XTX", 960e9, 0.92, 123e12, 61.4e12, 5.0e-6, 0.25e-6, true},
    {"rx6800xt", "AMD Radeon RX 6800 XT", 512e9, 0.92, 0, 20.7e12, 5.0e-6, 0.25e-6, false},
    {"h200", "NVIDIA H200", 4800e9, 0.96, 633e12, 67e12, 5.0e-6, 0.25e-6, false},
};

// Of a unit's rate, what programs reached on an H200 (docs/gpu-notes.md).
constexpr double kProducts = 0.45;   // 266 to 297 of 633 TFLOP/s, Q4_K
constexpr double kExperts = 0.16;    // 72 to 134
constexpr double kAttention = 0.13;  // 84
constexpr double kFewRows = 0.21;    // int8 products of one row: 3.9 TB/s of Q4_K at 67 TFLOP/s of f32
constexpr double kPlain = 0.45;      // products without a matrix unit, of f32
constexpr double kScans = 0.11;      // the delta rule: 1.19 ms of 2048 tokens
constexpr double kHalf = 2;          // bytes

bool is_product(OpKind kind) {
  return kind == OpKind::kLinear || kind == OpKind::kLmHead || kind == OpKind::kMoeLinear ||
         kind == OpKind::kHeadLinear;
}

bool is_scan(OpKind kind) {
  return kind == OpKind::kDeltaNet || kind == OpKind::kSsmScan || kind == OpKind::kConv1d;
}

// One operation of a step of t tokens.
class Work {
 public:
  Work(const Plan& plan, const AssumedDevice& device, const Op& op, const Sizes& sizes)
      : plan_(plan), device_(device), op_(op), sizes_(sizes) {}

  bool many() const { return rows() > plan_.caps.int8_rows; }

  // Flops a second.
  double rate() const {
    const bool matrix = device_.matrix_flops > 0 && many();
    if (op_.kind == OpKind::kMoeLinear && matrix) return kExperts * device_.matrix_flops;
    if (is_product(op_.kind))
      return matrix ? kProducts * device_.matrix_flops : (many() ? kPlain : kFewRows) * device_.f32_flops;
    if (op_.kind == OpKind::kAttention && matrix) return kAttention * device_.matrix_flops;
    return (is_scan(op_.kind) ? kScans : kPlain) * device_.f32_flops;
  }

  // Bytes besides those that the plan counts: tiles, written and read.
  double tile_bytes() const {
    if (!device_.tiles_made || device_.matrix_flops == 0 || !is_product(op_.kind) || !many()) return 0;
    const Weight& w = plan_.weight(op_.weights[0]);
    const double read_share =
        static_cast<double>(op_cost(*plan_.source, plan_.values, op_, sizes_, plan_.caps.kv).weight_bytes) /
        static_cast<double>(std::max<uint64_t>(w.bytes(), 1));
    return 2 * kHalf * static_cast<double>(w.rows) * w.cols * std::min(read_share, 1.0);
  }

  // Programs that each wait for the one before.
  uint32_t hops() const {
    if (op_.kind == OpKind::kAttention && !many()) return 2;  // by pages, then their sum
    if (op_.kind == OpKind::kChoose && op_.as<ChooseAttrs>().candidates > 0)
      return 2;  // of parts, then of all
    if (is_product(op_.kind) && many() && device_.matrix_flops > 0)
      return 2;  // rows as f16 and tiles, then the product
    return 1;
  }

 private:
  uint64_t rows() const {
    const Rows kind = op_.out.empty() ? Rows::kT : plan_.value(op_.out[0]).rows;
    return row_count(kind, sizes_);
  }

  const Plan& plan_;
  const AssumedDevice& device_;
  const Op& op_;
  const Sizes& sizes_;
};

StepPrediction predict_step(const Plan& plan, const AssumedDevice& device, const Step& step,
                            const Sizes& sizes) {
  const Cost cost = step_cost(plan, step, sizes);
  double bytes = static_cast<double>(cost.weight_bytes + cost.kv_read + cost.kv_written + cost.state_bytes +
                                     cost.activation_bytes);
  StepPrediction out;
  uint32_t hops = step.barrier ? 1 : 0;
  for (const uint32_t o : step.ops) {
    const Work work(plan, device, plan.ops[o], sizes);
    const Cost own = op_cost(*plan.source, plan.values, plan.ops[o], sizes, plan.caps.kv);
    out.arithmetic += static_cast<double>(own.flops) / work.rate();
    bytes += work.tile_bytes();
    hops += work.hops() - 1;
  }
  out.memory = bytes / (device.bandwidth * device.read_share);
  out.waiting = hops * device.hop + (hops == 0 ? device.issue : 0);
  return out;
}

}  // namespace

std::span<const AssumedDevice> assumed_devices() { return kDevices; }

const AssumedDevice* find_assumed_device(std::string_view name) {
  const auto* found = std::ranges::find(kDevices, name, &AssumedDevice::name);
  return found == std::end(kDevices) ? nullptr : found;
}

std::vector<StepPrediction> predict(const Plan& plan, const AssumedDevice& device, uint64_t t, uint64_t r,
                                    uint64_t depth) {
  std::vector<StepPrediction> all;
  for (const Step& step : plan.steps)
    all.push_back(predict_step(plan, device, step, {.t = t, .r = r, .s = depth}));
  return all;
}

}  // namespace brass
