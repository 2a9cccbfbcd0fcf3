// What changing one thing would do: bytes saved, the two numbers and the seconds predicted before anything is run.
//
// Owns: the arithmetic of predictions and how far off one was. Must not know: flags, files, devices.
// Invariants: a prediction is made of probes and of runs of *other* configurations, never of the one it predicts;
// what the measured curve cannot say is left to the stated assumption of each function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/compose.h"
#include "report/ledger.h"

namespace brass::report {

// Decode streams `before` bytes of weights at depth 0 and will stream `after`: the same share of the bandwidth is
// reached, attention costs what it costs.
Curve with_weight_bytes(const Curve& decode, double before, double after);
// Keys and values of `ratio` times the bytes: what grows with depth shrinks with them.
Curve with_kv_bytes(const Curve& decode, double ratio);
// Everything takes `factor` times as long.
Curve scaled(const Curve& curve, double factor);

// Seconds of a decode step of `sequences` at one depth: weights are read once, the rest and the arithmetic are each
// sequence's own. `one`: seconds of a step of one; `attention`: the part of it that grows with depth; `arithmetic`:
// seconds of prefill a token, which is what a row costs when reading the weights costs nothing.
double batch_step_seconds(double one, double attention, double arithmetic, uint32_t sequences);

// How much longer work of `bytes` and `ops` takes with rates `after` than with `before`, as a factor.
std::optional<double> slowdown(double bytes, double ops, const DeviceRates& before, const DeviceRates& after);

struct LeverOutcome {
  double decode_tps = 0, prefill_tps = 0, seconds = 0;  // at the workload's depth; of the workload
};

struct Lever {
  std::string name;         // "kv-int8"
  std::string change;       // "keys and values as int8: --kv-type int8"
  std::string quality;      // "KL 0.0004 nats a token, …", "none", "not measured"
  int64_t bytes_saved = 0;  // of a decoded token at the workload's depth
  std::optional<LeverOutcome> predicted;
  std::string unavailable;  // why there is no prediction here; "": there is one
  std::string assumption;
  std::string prediction_sha256;  // of prediction_text(), taken before the run that it predicts
  std::optional<LeverOutcome> measured;
};

// predicted ÷ measured − 1; of a rate that one side lacks: 0.
struct Miss {
  double seconds = 0, prefill_tps = 0, decode_tps = 0;
  double worst() const;  // the largest of the three, without sign
};
std::optional<Miss> off_by(const Lever& lever);
inline constexpr double kFlaggedError = 0.10;
// What the hash is of: one line with every predicted figure.
std::string prediction_text(const Lever& lever);

}  // namespace brass::report
