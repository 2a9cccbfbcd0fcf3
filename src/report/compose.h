// A workload's seconds from measured curves: what the request would take, without running it.
//
// Owns: how prefill over depth and decode over a growing depth add up. Must not know: how curves are measured.
// Invariants: a reply of n tokens is n − 1 decode steps; the first token belongs to prefill.
#pragma once

#include "report/curve.h"
#include "report/phases.h"
#include "report/workload.h"

namespace brass::report {

struct Speed {
  Curve prefill;           // seconds a prompt token, over depth
  Curve decode;            // seconds a reply token, over depth
  double first_token = 0;  // seconds of a prompt that its tokens do not explain: the head, sampling
};

// cached: tokens of the prompt that need no work (at most prompt − 1: the last one makes the logits).
Phases compose(const Speed& speed, uint32_t prompt, uint32_t reply, uint32_t cached = 0);
inline Phases compose(const Speed& speed, const Workload& w, uint32_t cached = 0) {
  return compose(speed, w.prompt, w.reply, cached);
}
bool extrapolated(const Speed& speed, const Workload& w);

}  // namespace brass::report
