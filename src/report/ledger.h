// Where the bytes and the operations of a token go, and the ceilings that they and a device's rates set.
//
// Owns: the ledger's rows, ceilings, what a step loses against the ceiling. Must not know: plans, devices.
// Invariants: a ceiling is of work that cannot be avoided: weights, cached keys and values, state. Activations
// are counted and shown, but they stay in caches, so no ceiling holds them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace brass::report {

struct LedgerRow {
  std::string group, type;  // "feed-forward", "Q4_K"
  uint64_t bytes;           // read for one token
};

struct Ledger {
  uint64_t depth = 0;  // positions cached before the token
  std::vector<LedgerRow> weights;
  uint64_t kv_read = 0, kv_written = 0, state = 0, activations = 0;  // bytes
  uint64_t flops = 0;                                                // of the token
  uint64_t weight_bytes() const;
  uint64_t streamed() const { return weight_bytes() + kv_read + kv_written + state; }
};

// Rates of a device, measured. Where a rate was not measured there is no ceiling from it.
struct DeviceRates {
  std::optional<double> bandwidth;          // bytes a second from memory
  std::optional<double> int8_ops, f32_ops;  // multiplications and additions a second in products
};

// The least time for some work: the larger of what bandwidth and what arithmetic take. Nothing without rates.
std::optional<double> least_seconds(double bytes, double ops, const DeviceRates& rates);

// Bytes streamed for a token ÷ bandwidth, turned into tokens a second.
double bandwidth_ceiling_tps(double bytes_a_token, double bandwidth);

struct StepLoss {
  std::string step;               // "ffn_down, 30 ×"
  double seconds = 0, least = 0;  // of one token, all of its layers
  double lost() const { return seconds - least; }
};

struct PhaseCeiling {
  std::string bound;  // "bandwidth" or "arithmetic"
  double ceiling_tps, achieved_tps;
  double achieved() const { return achieved_tps / ceiling_tps; }
};

// A phase whose tokens each stream `bytes` and take `ops` (of a chunk: divided by its tokens).
std::optional<PhaseCeiling> phase_ceiling(double bytes, double ops, const DeviceRates& rates,
                                          double achieved_tps);

}  // namespace brass::report
