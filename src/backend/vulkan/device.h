// A GPU as a Device, through Vulkan 1.3.
//
// Owns: the list of what there is, and making a device. Must not know: models, tokens. Invariants: one program runs
// with and without Vulkan (its library is loaded when it is asked for); nothing falls back to another device.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"

namespace brass {

// Tiles that the matrix unit multiplies: [rows × depth] · [depth × columns], f16 summed in f32. Zeros: there is none.
struct MatrixTile {
  uint32_t rows = 0, columns = 0, depth = 0;
};

struct VulkanInfo {
  uint32_t index;                  // as --device vulkan:N counts
  std::string name, driver, kind;  // kind: "discrete", "integrated", "cpu", …
  uint64_t memory = 0;             // bytes of the largest device-local heap
  uint64_t free_memory = 0;        // of it, as the driver says; as much as `memory` where it does not say
  uint32_t subgroup = 0;
  uint32_t processors = 0;  // multiprocessors, compute units; 0: the driver does not say
  MatrixTile matrix;
  bool packed_dots = false;  // multiplies four bytes with four bytes and sums them in one instruction
  std::string refused;       // why Brass cannot use it; empty: it can
};

// Empty where there is no Vulkan library or no device. Errors: a library that fails.
Result<std::vector<VulkanInfo>> vulkan_devices();

// What products of more than eight rows are computed by.
enum class Prompts : uint8_t {
  kAutomatic,  // the matrix unit where there is one; else packed dot products where the device has them; else in f32
  kMatrix,  // no device where there is no unit
  kDots,    // these two as if there were no unit, and by any device
  kPlain
};
inline constexpr std::string_view kPromptsNames[] = {"auto", "matrix", "dots", "plain"};
std::optional<Prompts> find_prompts(std::string_view name);
// What kAutomatic means for a device, as far as can be said without asking how its tiles lie.
Prompts usual_prompts(const VulkanInfo& info);

// Tests: what fails, as a driver would. Counted from 0; −1: nothing.
struct VulkanFaults {
  int64_t allocation = -1;  // that finds no memory
  int64_t submission = -1;  // at which the device is lost
  int64_t wait = -1;        // of a program for those before it, that is in vain; of each step
};

struct VulkanOptions {
  int32_t index = -1;               // −1: the first that is no CPU, else the first
  uint64_t memory_limit = 0;        // bytes of the device's memory that may be used; 0: what the driver says
  bool check_finite = true;         // upload refuses non-finite weights (off only in tests)
  bool barrier_everywhere = false;  // tests: the barriers that a plan leaves out change nothing
  Prompts prompts = Prompts::kAutomatic;
  uint64_t piece_bytes =
      uint64_t{1} << 30;            // scratch memory for a product's weights: larger ones go in pieces
  bool describe_pipelines = false;  // drivers say what they made of programs (Programs::figures)
  uint64_t page_buffer_bytes = 0;   // tests: the most that a buffer of pages takes; 0: what the device gives
  bool overlap = false;  // programs of few rows wait for one another inside, instead of by barriers
  bool poison = false;   // tests: values and scratch memory are NaN before each step
  KvType k_type = KvType::kF16,
         v_type = KvType::kF16;                 // what the pools will be made of: costs are counted with it
  std::function<Result<>()> check_source = {};  // asked once the weights were read
  std::string cache_folder = {};                // of compiled programs; empty: none are kept
  VulkanFaults faults = {};
  std::map<std::string, uint64_t>* dispatches = nullptr;  // tests: of each program, how many were recorded
};

// What plans for Vulkan devices are compiled with; all are alike.
Caps vulkan_caps(std::string_view device, KvType k, KvType v);

// Fails where there is no such device, or it lacks what the shaders use: the message names it.
Result<std::unique_ptr<Device>> make_vulkan_device(const VulkanOptions& options);

}  // namespace brass
