#include "backend/vulkan/device_probe.h"

#include <volk.h>

#include <algorithm>
#include <chrono>

#include "backend/vulkan/lowering.h"

namespace brass::vulkan {
namespace {

constexpr uint32_t kThreads = 256;  // of a workgroup of the plain probes
constexpr uint32_t kSums = 8;       // of a thread, or of a subgroup with the matrix unit

class Probe {
 public:
  Probe(const Context& context, Programs& programs) : context_(context), programs_(programs) {}

  Result<> make_result() {
    result_ = TRY(context_.make_buffer(16, Memory::kRead, "a probe's result"));
    return {};
  }

  // Bytes a second.
  Result<double> bandwidth() {
    const VulkanInfo& info = context_.info();
    const uint32_t groups = workgroups();
    const uint64_t wanted =
        std::min<uint64_t>(info.memory / 16, info.kind == "cpu" ? uint64_t{16} << 20 : uint64_t{1} << 30);
    const uint64_t round = uint64_t{16} * 4 * kThreads * groups;
    const uint64_t bytes = std::max<uint64_t>(wanted / round, 1) * round;
    const Buffer from = TRY(context_.make_buffer(bytes, Memory::kOwn, "what a probe reads"));
    TRY_VOID(context_.run([&](VkCommandBuffer commands) {
      vkCmdFillBuffer(commands, from.handle(), 0, VK_WHOLE_SIZE, 0);
      full_barrier(commands);
    }));
    Push push;
    push << from.address() << result_.address() << static_cast<uint32_t>(bytes / 16);
    return rate("read_probe", {}, push, groups, static_cast<double>(bytes));
  }

  // Multiplications and additions a second.
  Result<double> vectors() {
    constexpr uint32_t kTurns = 2048;
    const uint32_t groups = workgroups();
    Push push;
    push << result_.address() << kTurns << 0.5f;
    return rate("rate_probe", {}, push, groups, 2.0 * 4 * kSums * kTurns * kThreads * groups);
  }

  // The same of bytes.
  Result<double> packed_dots() {
    constexpr uint32_t kTurns = 2048;
    const uint32_t groups = workgroups();
    Push push;
    push << result_.address() << kTurns << 0x01020304u;
    return rate("dot_rate_probe", {}, push, groups, 2.0 * 4 * kSums * kTurns * kThreads * groups);
  }

  Result<double> matrices(const MatrixUnit& unit) {
    constexpr uint32_t kTurns = 1024;
    const uint32_t groups = workgroups();
    Push push;
    push << result_.address() << kTurns << 0.5f;
    const double tile = 2.0 * unit.tile.rows * unit.tile.columns * unit.tile.depth;
    const uint32_t subgroups = unit.threads() / unit.lanes;
    return rate("matrix_rate_probe",
                {unit.tile.rows, unit.tile.columns, unit.tile.depth, unit.threads(), unit.units}, push,
                groups, tile * kSums * kTurns * subgroups * groups);
  }

 private:
  // That fill the device; where it is a CPU, which has time for less, that keep it at work.
  uint32_t workgroups() const {
    constexpr uint32_t kOfProcessor = 16, kOfCpu = 16;
    return context_.info().kind == "cpu" ? kOfCpu : kOfProcessor * std::max(context_.info().processors, 8u);
  }

  // `work` of one dispatch, by the fastest of three goes, each long enough that submitting it does not count.
  Result<double> rate(const std::string& program, const std::vector<uint32_t>& constants, const Push& push,
                      uint32_t groups, double work) {
    constexpr double kLongEnough = 0.02;
    VkPipeline pipeline = TRY(programs_.find(program, constants, program.starts_with("matrix_")));
    double best = 0;
    uint32_t times = 1, goes = 0;
    while (goes < 3) {
      const auto begin = std::chrono::steady_clock::now();
      TRY_VOID(context_.run([&](VkCommandBuffer commands) {
        for (uint32_t i = 0; i < times; i++)
          dispatch(commands, programs_.layout(), {pipeline, push, groups, 1, 1, false, program});
        full_barrier(commands);
      }));
      const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (s < kLongEnough) {
        times *= 2;
        continue;
      }
      best = std::max(best, work * times / s);
      goes++;
    }
    return best;
  }

  const Context& context_;
  Programs& programs_;
  Buffer result_;
};

}  // namespace

Result<DeviceProbe> probe_rates(const Context& context, Programs& programs, const PromptUnits& units) {
  Probe probe(context, programs);
  TRY_VOID(probe.make_result());
  DeviceProbe found{.bandwidth = TRY(probe.bandwidth()), .int8_ops = 0, .f32_ops = TRY(probe.vectors())};
  found.int8_ops = units.matrix.there() ? TRY(probe.matrices(units.matrix))
                   : units.dots         ? TRY(probe.packed_dots())
                                        : found.f32_ops;
  return found;
}

}  // namespace brass::vulkan
