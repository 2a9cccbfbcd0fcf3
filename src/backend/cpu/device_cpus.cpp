// How many CPUs this process may use.
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "backend/cpu/device.h"

namespace brass {
namespace {

// CPUs' worth of time that the control group grants, or 0 for no limit. cgroup v2: "max 100000" or "200000
// 100000".
double cgroup_quota() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period) return quota == "max" || period <= 0 ? 0 : std::stod(quota) / period;
  double v1_quota = 0, v1_period = 0;
  std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> v1_quota;
  std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> v1_period;
  return v1_quota > 0 && v1_period > 0 ? v1_quota / v1_period : 0;
}

}  // namespace

uint32_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  uint32_t count = std::max(1u, std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof set, &set) == 0) count = static_cast<uint32_t>(CPU_COUNT(&set));
  const double quota = cgroup_quota();
  if (quota > 0) count = std::min(count, std::max(1u, static_cast<uint32_t>(quota)));
  return std::max(1u, count);
}

}  // namespace brass
