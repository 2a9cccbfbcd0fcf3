// The CPU as a Device: packed weights, threads that walk the steps of a plan, KV pages in memory.
#pragma once

#include <memory>
#include <string>

#include "backend/device.h"

namespace brass {

struct CpuOptions {
  uint32_t threads = 0;  // 0: as many as this process may use
  std::string isa;       // a kernel tier by name; "": the best that this machine has
  KvType k_type = KvType::kF16,
         v_type = KvType::kF16;     // what the pools will be made of: costs are counted with it
  bool check_finite = true;         // upload refuses non-finite weights (off only in tests)
  bool barrier_everywhere = false;  // tests: the barriers that a plan leaves out change nothing
};

// Fails when the tier is unknown or this machine lacks it: the message lists what there is.
Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options);

// What a CPU with this tier says of itself, without being one: for plans and reports made elsewhere.
Result<Caps> cpu_caps(const std::string& isa, uint32_t threads, KvType k_type, KvType v_type);

std::string cpu_tier_names();  // "amx, avx512-vnni, …", those of this build
uint32_t usable_cpus();        // affinity and cgroup quota

}  // namespace brass
