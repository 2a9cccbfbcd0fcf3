#include "backend/vulkan/dots.h"

#include "backend/vulkan/prompt_step.h"
#include "base/check.h"

namespace brass::vulkan {
namespace {

constexpr uint32_t kUnit = 32;      // columns
constexpr uint32_t kPairBytes = 8;  // of a unit of x
constexpr uint32_t kSumsOfThread = 16;

// Rows of W × rows of x that a workgroup multiplies.
struct Tile {
  uint32_t rows, inputs;
  uint32_t threads() const { return rows * inputs / kSumsOfThread; }
  uint64_t groups(uint32_t w_rows, uint32_t tokens) const {
    return uint64_t{divide_up(w_rows, rows)} * divide_up(tokens, inputs);
  }
};
// The lists of rows by expert are made for all products that read them.
constexpr Tile kExpertTile{64, 32};

// Small ones where few rows of x would leave a large one empty, or few workgroups a device.
Tile dense_tile(uint32_t w_rows, uint32_t tokens) {
  const Tile large{64, tokens > 32 ? 64u : 32u};
  return large.groups(w_rows, tokens) < kEnoughGroups ? Tile{32, 32} : large;
}

bool has_units(const Weight& w) { return Programs::has(program_of("dots", w.type)); }

class Dots : public PromptStep {
 public:
  using PromptStep::PromptStep;

  bool takes() const {
    if (!d_.units.dots) return false;
    if (op_.kind == OpKind::kActMul) return out_rows() > kFewRows && makes_rows();
    return multiplies(op_);
  }

  Result<std::vector<Dispatch>> run() {
    if (op_.kind == OpKind::kActMul) {
      TRY_VOID(act_mul());
    } else if (op_.kind == OpKind::kMoeLinear) {
      TRY_VOID(expert_product());
    } else {
      TRY_VOID(product());
    }
    return take();
  }

 private:
  RowProgram row_program() const override { return {"to_int8", kUnit}; }
  bool multiplies(const Op& op) const override {
    return is_product(op) && rows(op.out[0]) > kFewRows && has_units(d_.plan.weight(op.weights[0]));
  }

  // Of experts: where the lists lie, and which of them a row of x has.
  struct Experts {
    uint64_t tiles = 0, order = 0;
    uint32_t used = 1;
    bool own_input = false;
  };

  // w_rows: of W, or of an expert.
  Result<> multiply(Tile tile, uint32_t w_rows, bool bias, const Experts* experts, uint32_t y_groups,
                    bool barrier) {
    const Experts e = experts != nullptr ? *experts : Experts{};
    Push push;
    push << gpu(0).address << gpu(0).grid << d_.memory.rows << d_.memory.scales << (bias ? gpu(1).address : 0)
         << out() << e.tiles << e.order << gpu(0).row_bytes << file(0).cols / kUnit << w_rows << out_rows()
         << out_stride() << e.used << flag(e.own_input) << flag(bias);
    push_slice(push, file(0).slice);
    return add(by_format("dots", 0), {tile.threads(), tile.rows, tile.inputs, flag(experts != nullptr)}, push,
               divide_up(w_rows, tile.rows), y_groups, 1, barrier);
  }

  Result<> product() {
    const uint32_t tokens = out_rows();
    const Tile tile = dense_tile(out_width(), tokens);
    const bool made = TRY(make_input_rows(file(0).cols, 1));
    return multiply(tile, out_width(), op_.as<LinearAttrs>().bias, nullptr, divide_up(tokens, tile.inputs),
                    made);
  }

  Result<> expert_product() {
    const auto& a = op_.as<ExpertAttrs>();
    const ExpertLists lists{a.experts, out_rows() * a.used, kExpertTile.inputs};
    const bool grouped = TRY(group_rows(a, lists));
    const bool made = TRY(make_input_rows(file(0).cols, a.own_input ? a.used : 1));
    const uint64_t at = d_.memory.lists;
    const Experts experts{.tiles = at + uint64_t{4} * lists.tiles(),
                          .order = at + uint64_t{4} * lists.order(),
                          .used = a.used,
                          .own_input = a.own_input};
    return multiply(kExpertTile, file(0).rows / a.experts, a.bias, &experts, lists.tile_count(),
                    grouped || made);
  }
};

}  // namespace

bool uses_dots(const VulkanInfo& info, const MatrixUnit& unit, Prompts prompts) {
  return prompts == Prompts::kDots || (prompts == Prompts::kAutomatic && !unit.there() && info.packed_dots);
}

PromptMemory dots_bytes(const Plan& plan, const Op& product, uint64_t t) {
  PromptMemory bytes;
  const Weight& w = plan.weight(product.weights[0]);
  if (!has_units(w)) return bytes;
  ENSURE(w.cols % kUnit == 0, "{}: {} columns", product.name, w.cols);
  uint64_t n = t;
  if (product.kind == OpKind::kMoeLinear) {
    const auto& a = product.as<ExpertAttrs>();
    if (a.own_input) n *= a.used;
    bytes.lists = ExpertLists{a.experts, static_cast<uint32_t>(t) * a.used, kExpertTile.inputs}.bytes();
  }
  bytes.rows = n * w.cols;
  bytes.scales = n * (w.cols / kUnit) * kPairBytes;
  return bytes;
}

Result<std::optional<std::vector<Dispatch>>> lower_dots(const Target& target, const Op& op) {
  Dots dots(target, op);
  if (!dots.takes()) return std::optional<std::vector<Dispatch>>();
  return std::optional(TRY(dots.run()));
}

}  // namespace brass::vulkan
