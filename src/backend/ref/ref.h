// The reference device: every operation in plain f32 and f64 loops. The oracle that judges every other
// kernel.
//
// Owns: the meaning of each operation. Must not know: tiles, packed layouts, the order in which fast kernels
// add. Invariants: weights are read in place and decoded row by row; KV is f32 whatever the pools ask for;
// the bits of a row depend neither on the other rows of the step, nor on chunking, nor on threads, nor on the
// machine's vector width. Any plan runs, of any device's caps: the operations of a step one after another,
// values that live inside it in buffers of their own; a private value is written to every copy and read from
// the first.
#pragma once

#include <functional>
#include <memory>

#include "backend/device.h"

namespace brass {

struct RefOptions {
  uint32_t threads = 1;
  // Off: upload takes non-finite weights (tests that look for them in the results).
  bool check_finite = true;
  // Called after each run: an error says that the bytes of the weights are gone (a file that shrank).
  std::function<Result<>()> check_source = {};
};

std::unique_ptr<Device> make_ref_device(const RefOptions& options);

}  // namespace brass
