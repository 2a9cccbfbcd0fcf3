#include "backend/vulkan/pipelines.h"

#include <algorithm>
#include <numeric>

#include "backend/vulkan/dots.h"
#include "backend/vulkan/lower_plan.h"
#include "backend/vulkan/lowering_decode.h"
#include "backend/vulkan/matrix_layouts.h"

namespace brass {
namespace {

using namespace vulkan;

// One sequence of n tokens from its beginning on.
struct OneText {
  std::vector<int32_t> ids, positions, sequences, rows;
  std::vector<PageId> pages;
  std::vector<PageTable> tables;
  std::vector<StatePages> states = {{.in = -1, .out = 0}};
  bool has_states = false;

  OneText(const Graph& graph, uint32_t n) : ids(n, 0), positions(n), sequences(n, 0) {
    std::iota(positions.begin(), positions.end(), 0);
    rows.resize(n <= kFewRows ? n : 1);
    std::iota(rows.begin(), rows.end(), static_cast<int32_t>(n - rows.size()));
    pages.resize(n / kPageTokens + 1);
    std::iota(pages.begin(), pages.end(), 0);
    for (const MemoryGroup& group : graph.groups) {
      const bool state = group.kind == GroupKind::kState;
      has_states = has_states || state;
      tables.push_back(state ? PageTable{} : PageTable(pages));
    }
  }
  Batch batch() const {
    Batch batch{
        .ids = ids, .positions = positions, .sequences = sequences, .rows = rows, .page_tables = tables};
    if (has_states) batch.states = states;
    return batch;
  }
};

// What a device has, without its memory.
struct Outline {
  std::unique_ptr<Context> context;
  Programs programs;
  PromptUnits units;
  Weights weights;
  std::vector<PagePool> pools;

  explicit Outline(std::unique_ptr<Context> opened) : context(std::move(opened)), programs(*context, "") {}
};

Result<MatrixUnit> unit_of(Outline& outline, const std::string& layout) {
  const uint64_t piece_bytes = VulkanOptions().piece_bytes;
  const VulkanInfo& info = outline.context->info();
  if (layout.empty()) return probe_matrix_unit(*outline.context, outline.programs, piece_bytes);
  if (info.matrix.rows == 0) return MatrixUnit{};
  return matrix_unit_of(info, TRY(matrix_layout(layout, info.matrix, info.subgroup)), piece_bytes);
}

Result<Lowered> lower_text(Outline& outline, const Plan& plan, const OneText& text) {
  const Batch batch = text.batch();
  const BatchLayout layout = lay_out(batch, outline.pools);
  PromptUse use;
  ValueId unplaced = -1;
  return lower_plan({.plan = plan,
                     .weights = outline.weights,
                     .pools = outline.pools,
                     .programs = outline.programs,
                     .arena = 0,
                     .batch = 0,
                     .layout = layout,
                     .units = outline.units,
                     .memory = {},
                     .use = use,
                     .t = static_cast<uint32_t>(text.ids.size()),
                     .r = static_cast<uint32_t>(text.rows.size()),
                     .partial = 256,
                     .pages = static_cast<uint32_t>(text.pages.size()),
                     .unplaced = unplaced});
}

}  // namespace

Result<PipelineList> list_pipelines(const std::shared_ptr<const Graph>& graph, const PipelineQuery& query) {
  Outline outline(
      TRY(Context::open({.index = query.device, .prompts = query.prompts, .describe_pipelines = true})));
  const VulkanInfo& info = outline.context->info();
  if (!outline.context->describes_pipelines())
    return fail("{}: the driver does not describe pipelines (VK_KHR_pipeline_executable_properties)",
                info.name);
  const MatrixUnit unit = TRY(unit_of(outline, query.matrix_layout));
  outline.units = {.matrix = unit, .dots = uses_dots(info, unit, query.prompts)};
  TRY_VOID(outline.weights.outline(*graph));
  for (const MemoryGroup& group : graph->groups)
    outline.pools.emplace_back(group, KvType::kF16, KvType::kF16);
  const Caps caps = vulkan_caps(info.name, KvType::kF16, KvType::kF16);

  std::map<Programs::Key, PipelineReport> found;
  for (const uint32_t n : query.rows) {
    const OneText text(*graph, n);
    const auto plan = TRY(compile(graph, {bucket(n), bucket(static_cast<uint32_t>(text.rows.size()))}, caps));
    const Lowered lowered = TRY(lower_text(outline, *plan, text));
    for (const auto& step : lowered.steps)
      for (const Dispatch& d : step) found[{d.program, d.constants}].uses[n]++;
  }
  PipelineList list{.device = info.name,
                    .driver = info.driver,
                    .subgroup = info.subgroup,
                    .matrix_unit = unit.there(),
                    .dots = outline.units.dots};
  for (auto& [key, report] : found) {
    report.program = key.first;
    report.constants = key.second;
    report.figures = TRY(outline.programs.figures(key));
    list.pipelines.push_back(std::move(report));
  }
  return list;
}

}  // namespace brass
