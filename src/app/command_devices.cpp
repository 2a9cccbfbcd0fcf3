// brass devices: what there is to compute on.
#include <memory>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "backend/cpu/device.h"
#include "backend/vulkan/device.h"
#include "report/format.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

// What products of many rows go by.
std::string_view prompts_text(const VulkanInfo& d) {
  switch (usual_prompts(d)) {
    case Prompts::kMatrix:
      return "by the matrix units";
    case Prompts::kDots:
      return "by packed dot products of int8";
    default:
      return "in f32";
  }
}

Json device_json(const VulkanInfo& d) {
  Json refused = d.refused.empty() ? Json(nullptr) : Json(d.refused);
  return {{"device", fmt::format("vulkan, --gpu {}", d.index)},
          {"name", d.name},
          {"kind", d.kind},
          {"driver", d.driver},
          {"memory_bytes", d.memory},
          {"free_memory_bytes", d.free_memory},
          {"subgroup", d.subgroup},
          {"matrix_units", d.matrix.rows > 0},
          {"matrix_tile", d.matrix.rows > 0 ? Json::array({d.matrix.rows, d.matrix.columns, d.matrix.depth})
                                            : Json(nullptr)},
          {"packed_dots", d.packed_dots},
          {"prompt_products", kPromptsNames[static_cast<size_t>(usual_prompts(d))]},
          {"processors", d.processors > 0 ? Json(d.processors) : Json(nullptr)},
          {"refused", std::move(refused)}};
}

Result<> run_devices(bool json) {
  const std::unique_ptr<Device> cpu = TRY(make_cpu_device({}));
  const std::vector<VulkanInfo> gpus = TRY(vulkan_devices());
  if (json) {
    Json all = Json::array({Json{{"device", "cpu"}, {"name", cpu->describe()}, {"refused", nullptr}}});
    for (const VulkanInfo& d : gpus) all.push_back(device_json(d));
    fmt::print("{}\n", all.dump());
    return {};
  }
  fmt::print("--device cpu              {}; this build has {}\n", cpu->describe(), cpu_tier_names());
  for (const VulkanInfo& d : gpus) {
    fmt::print(
        "--device vulkan --gpu {}   {} ({}), {} of memory, {} free, {}, subgroups of {}, {}, prompts {}\n",
        d.index, d.name, d.kind, report::format_bytes(d.memory), report::format_bytes(d.free_memory),
        d.driver, d.subgroup,
        d.matrix.rows > 0
            ? fmt::format("matrix units ({} × {} × {})", d.matrix.rows, d.matrix.columns, d.matrix.depth)
            : "no matrix units that Vulkan shows",
        prompts_text(d));
    if (!d.refused.empty()) fmt::print("                          not usable: it {}\n", d.refused);
  }
  if (gpus.empty()) fmt::print("no Vulkan device (Debian: mesa-vulkan-drivers)\n");
  return {};
}

}  // namespace

Body declare_devices(Arguments& arguments) {
  const auto json = std::make_shared<bool>(false);
  arguments.flag("--json", *json, "as JSON");
  return [json] { return run_devices(*json); };
}

}  // namespace brass::app
