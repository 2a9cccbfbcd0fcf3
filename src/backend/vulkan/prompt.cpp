#include "backend/vulkan/prompt.h"

#include <algorithm>
#include <cstring>

#include "backend/vulkan/dots.h"
#include "backend/vulkan/operands.h"
#include "backend/vulkan/prompt_step.h"
#include "base/check.h"

namespace brass::vulkan {
namespace {

constexpr uint32_t kDepth = 64;             // columns of a step of matrix_product.comp
constexpr uint32_t kColumnsOfExpand = 256;  // of a workgroup of expand.comp

// A product's matrices as tiles: `matrices` of `rows` × `cols` each.
struct TiledWeights {
  const MatrixUnit& unit;
  uint32_t matrices, rows, cols;

  uint32_t depth() const { return round_up(cols, kDepth); }
  uint32_t row_tiles() const { return round_up(rows, unit.rows_of_group()) / unit.tile.rows; }
  uint32_t column_tiles() const { return depth() / unit.tile.depth; }
  uint64_t matrix_bytes() const { return uint64_t{row_tiles()} * column_tiles() * unit.tile_bytes(); }
  // Several matrices go by whole ones, a single one by its rows.
  uint32_t matrices_of_piece() const {
    return static_cast<uint32_t>(std::clamp<uint64_t>(unit.piece_bytes / matrix_bytes(), 1, matrices));
  }
  uint32_t rows_of_piece() const {
    if (matrices > 1 || matrix_bytes() <= unit.piece_bytes) return rows;
    const uint64_t group = matrix_bytes() / row_tiles() * (unit.rows_of_group() / unit.tile.rows);
    return static_cast<uint32_t>(std::max<uint64_t>(unit.piece_bytes / group, 1)) * unit.rows_of_group();
  }
  uint64_t piece_bytes() const {
    const TiledWeights piece{unit, matrices_of_piece(), rows_of_piece(), cols};
    return piece.matrix_bytes() * piece.matrices;
  }
};

TiledWeights tiled(const Plan& plan, const MatrixUnit& unit, const Op& op) {
  const Weight& w = plan.weight(op.weights[0]);
  if (op.kind != OpKind::kMoeLinear) return {unit, 1, w.rows, w.cols};
  const uint32_t experts = op.as<ExpertAttrs>().experts;
  return {unit, experts, w.rows / experts, w.cols};
}

// Whether a product reads W as it lies in memory (direct.comp), and not as tiles made before.
bool is_direct(const MatrixUnit& unit, const Weight& w) {
  return unit.row_bit > 0 && w.cols % kDepth == 0 && Programs::has(program_of("direct", w.type) + "_8");
}

}  // namespace

// ---- the unit

namespace {

// The bit of a value's number in its lane that tells the two rows apart, where tiles lie as direct.comp wants them; else 0.
uint32_t row_bit(const MatrixUnit& unit, std::span<const float> values) {
  if (!unit.is_usual()) return 0;
  for (const uint32_t bit : {1u, 2u}) {
    bool fits = true;
    for (uint32_t i = 0; i < 32 * 8; i++) {
      const uint32_t lane = i / 8, e = i % 8;
      const uint32_t row = lane / 4 + 8 * (e >> bit & 1),
                     column = lane % 4 * 2 + 8 * (e >> (3 - bit) & 1) + (e & 1);
      fits = fits && values[i] == static_cast<float>(16 * row + column);
    }
    if (fits) return bit;
  }
  return 0;
}

// Where the components of a C tile stand, as the bits of lane and component put together (matrix.glsl); nothing where they
// do not. `values` as the probe writes them: how many a lane holds, then their row · columns + column.
std::optional<std::array<uint32_t, 11>> places_of_sums(const MatrixUnit& unit,
                                                       std::span<const float> values) {
  constexpr uint32_t kLaneBits = 6, kMost = 32;
  const auto held = static_cast<uint32_t>(values[0]);
  if (unit.lanes > 64 || held == 0 || held > kMost || held * unit.lanes != unit.tile.rows * unit.tile.columns)
    return std::nullopt;
  const auto place = [&](uint32_t lane, uint32_t e) {
    const auto at = static_cast<uint32_t>(values[1 + lane * held + e]);
    return at / unit.tile.columns * 256 + at % unit.tile.columns;
  };
  std::array<uint32_t, 11> bits = {};
  for (uint32_t b = 0; 1u << b < unit.lanes; b++) bits[b] = place(1u << b, 0);
  for (uint32_t b = 0; 1u << b < held; b++) bits[kLaneBits + b] = place(0, 1u << b);
  for (uint32_t lane = 0; lane < unit.lanes; lane++)
    for (uint32_t e = 0; e < held; e++) {
      uint32_t together = 0;
      for (uint32_t b = 0; b < bits.size(); b++)
        if (((b < kLaneBits ? lane >> b : e >> (b - kLaneBits)) & 1) != 0) together |= bits[b];
      if (together != place(lane, e)) return std::nullopt;
    }
  return bits;
}

}  // namespace

namespace {

// Without what a probe says.
MatrixUnit plain_unit(const VulkanInfo& info, uint64_t piece_bytes) {
  constexpr uint32_t kUsualProcessors = 64, kGroupsOfProcessor = 2;
  return {.tile = info.matrix,
          .lanes = info.subgroup,
          .slots = kGroupsOfProcessor * (info.processors > 0 ? info.processors : kUsualProcessors),
          .piece_bytes = piece_bytes};
}

bool fits_lanes(const MatrixUnit& unit) {
  return unit.tile.rows != 0 && unit.lanes % unit.tile.rows == 0 && unit.lanes / unit.tile.rows <= 4;
}

}  // namespace

MatrixUnit matrix_unit_of(const VulkanInfo& info, std::span<const float> values, uint64_t piece_bytes) {
  MatrixUnit unit = plain_unit(info, piece_bytes);
  const auto held = static_cast<uint32_t>(values[0]);
  if (!fits_lanes(unit) || held % 8 != 0) return {};
  const auto places = places_of_sums(unit, values.subspan(1 + held * unit.lanes));
  if (!places) return {};
  unit.units = held / 8;
  unit.row_bit = row_bit(unit, values.subspan(1));
  unit.places = *places;
  return unit;
}

Result<MatrixUnit> probe_matrix_unit(const Context& context, Programs& programs, uint64_t piece_bytes) {
  const MatrixUnit unit = plain_unit(context.info(), piece_bytes);
  if (!fits_lanes(unit)) return MatrixUnit{};
  // Lanes may hold a tile several times over, all together.
  const uint64_t values_of_tiles = uint64_t{4} * unit.tile.rows * (unit.tile.depth + unit.tile.columns);
  const Buffer result =
      TRY(context.make_buffer(4 * (2 + values_of_tiles), Memory::kRead, "a probe of the matrix unit"));
  VkPipeline pipeline = TRY(programs.find(
      "matrix_probe", {unit.tile.rows, unit.tile.columns, unit.tile.depth, unit.lanes, 1}, true));
  Push push;
  push << result.address();
  TRY_VOID(context.run([&](VkCommandBuffer commands) {
    dispatch(commands, programs.layout(), {pipeline, push, 1, 1, 1, false, "matrix_probe"});
    full_barrier(commands);
  }));
  const std::span values(reinterpret_cast<const float*>(result.mapped()), result.bytes() / 4);
  return matrix_unit_of(context.info(), values, piece_bytes);
}

// ---- memory

namespace {

// What a product by the unit takes, of t rows.
PromptMemory product_bytes(const Plan& plan, const MatrixUnit& unit, const Op& op, uint64_t t) {
  PromptMemory bytes;
  const TiledWeights w = tiled(plan, unit, op);
  uint64_t n = t;
  if (op.kind == OpKind::kMoeLinear) {
    const auto& a = op.as<ExpertAttrs>();
    if (a.own_input) n *= a.used;
    bytes.lists = ExpertLists{a.experts, static_cast<uint32_t>(t) * a.used, unit.run()}.bytes();
  }
  if (!is_direct(unit, plan.weight(op.weights[0]))) bytes.weights = w.piece_bytes();
  bytes.rows = n * w.depth() * 2;
  bytes.scales = n * 4;
  return bytes;
}

}  // namespace

PromptMemory PromptMemory::operator|(const PromptMemory& o) const {
  return {.weights = std::max(weights, o.weights),
          .rows = std::max(rows, o.rows),
          .scales = std::max(scales, o.scales),
          .lists = std::max(lists, o.lists),
          .gates = std::max(gates, o.gates)};
}

PromptMemory prompt_bytes(const Plan& plan, const PromptUnits& units) {
  PromptMemory most;
  for (const Op& op : plan.ops) {
    if (op.out.empty()) continue;
    const uint64_t t = plan.value(op.out[0]).rows == Rows::kT ? plan.key.t : plan.key.r;
    if (t <= kFewRows) continue;
    if (op.kind == OpKind::kDeltaNet) {
      const auto& a = op.as<DeltaAttrs>();
      most.gates = std::max(most.gates, 8 * t * (a.k_heads + a.v_heads));
    }
    if (!is_product(op)) continue;
    if (units.matrix.there()) most = most | product_bytes(plan, units.matrix, op, t);
    if (units.dots) most = most | dots_bytes(plan, op, t);
  }
  return most;
}

// ---- operations

namespace {

class Prompt : public PromptStep {
 public:
  Prompt(const Target& target, const Op& op) : PromptStep(target, op), unit_(target.units.matrix) {}

  bool takes() const {
    if (!unit_.there()) return false;
    switch (op_.kind) {
      case OpKind::kLinear:
      case OpKind::kLmHead:
      case OpKind::kMoeLinear:
        return multiplies(op_);
      case OpKind::kAttention: {
        const auto& a = op_.as<AttentionAttrs>();
        const PagePool& pool = d_.pools[a.group];
        return out_rows() > kFewRows && fits(pool.key_type()) && fits(pool.value_type()) && fits(a.k_dim) &&
               fits(a.v_dim);
      }
      case OpKind::kActMul:
        return out_rows() > kFewRows && makes_rows();
      default:
        return false;
    }
  }

  Result<std::vector<Dispatch>> run() {
    if (op_.kind == OpKind::kAttention) {
      TRY_VOID(attention());
    } else if (op_.kind == OpKind::kMoeLinear) {
      TRY_VOID(expert_product());
    } else if (op_.kind == OpKind::kActMul) {
      TRY_VOID(act_mul());
    } else {
      TRY_VOID(product());
    }
    return take();
  }

 private:
  // Types whose values are f16, or are made so without loss that counts; bf16 reaches further.
  static bool fits(KvType type) { return type == KvType::kF16 || type == KvType::kInt8; }
  // Dimensions of a head whose tiles a subgroup can hold in registers.
  bool fits(uint32_t dim) const {
    return dim <= 256 && dim % unit_.tile.depth == 0 && dim % unit_.tile.columns == 0;
  }

  RowProgram row_program() const override { return {"to_halves", kDepth}; }
  bool multiplies(const Op& op) const override {
    return is_product(op) && rows(op.out[0]) > kFewRows && d_.weights[op.weights[0]].fits_halves;
  }

  std::vector<uint32_t> constants(std::vector<uint32_t> more = {}) const {
    const MatrixUnit& u = unit_;
    std::vector<uint32_t> all = {u.tile.rows, u.tile.columns, u.tile.depth, u.threads(), u.units};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // Matrices [first, first + w.matrices) of the operation's weight, or its rows [begin, begin + w.rows), as tiles.
  Result<> expand(const TiledWeights& w, uint32_t begin, uint64_t counts, bool barrier) {
    Push push;
    push << gpu(0).address << gpu(0).grid << d_.memory.weights << counts << gpu(0).row_bytes << w.cols
         << w.rows << begin << w.row_tiles() << w.column_tiles();
    push_slice(push, file(0).slice);
    push << flag(counts != 0);
    return add(by_format("expand", 0), constants(), push, divide_up(w.row_tiles(), 4),
               divide_up(w.depth(), kColumnsOfExpand), w.matrices, barrier);
  }

  // What a product takes from where.
  struct Operands {
    uint64_t bias = 0, tiles = 0, order = 0;
    uint32_t begin = 0;            // a single matrix: of its rows
    uint32_t first = 0, used = 1;  // experts: the first one, slots of a row
    bool own_input = false, grouped = false, narrow = false;
  };

  // The dispatch of the product itself, by W's tiles or by W as it is.
  Result<> multiply(const TiledWeights& w, const Operands& o, uint32_t y_groups, bool direct, bool barrier) {
    Push push;
    if (direct) {
      push << gpu(0).address << gpu(0).row_bytes;
      push_slice(push, file(0).slice);
      push << o.begin;
    } else {
      push << d_.memory.weights << w.row_tiles();
    }
    push << d_.memory.rows << d_.memory.scales << o.bias << out() << o.tiles << o.order << w.rows << w.depth()
         << out_rows() << out_stride() << o.begin << o.first << w.matrices << o.used << flag(o.own_input)
         << o.begin << flag(o.bias != 0);
    std::vector<uint32_t> shape = {2, o.narrow ? 4u : 8u, flag(o.grouped), unit_.row_bit};
    shape.insert(shape.end(), unit_.places.begin(), unit_.places.end());
    std::string program = direct ? by_format("direct", 0) : "matrix_product";
    if (unit_.is_usual()) program += o.narrow ? "_4" : "_8";
    return add(program, constants(shape), push, divide_up(w.rows, unit_.rows_of_group()), y_groups, 1,
               barrier);
  }

  // Workgroups of half as many rows of x: a tenth slower, but in rounds that fill the device better.
  bool is_narrow_better(uint32_t w_rows, uint32_t tokens) const {
    const auto rounds = [&](uint32_t columns) {
      const uint32_t groups = divide_up(w_rows, unit_.rows_of_group()) * divide_up(tokens, columns);
      return divide_up(groups, unit_.slots);
    };
    const uint32_t narrow = unit_.run();
    return 1.1 * rounds(narrow) < 2.0 * rounds(2 * narrow);
  }

  Result<> product() {
    const TiledWeights all = tiled(d_.plan, unit_, op_);
    const bool direct = is_direct(unit_, file(0));
    const uint32_t tokens = out_rows(), piece = direct ? all.rows : all.rows_of_piece();
    const bool halved = TRY(make_input_rows(all.cols, 1));
    bool behind = halved;  // a barrier, as before whatever reads or writes scratch memory
    for (uint32_t begin = 0; begin < all.rows; begin += piece) {
      const TiledWeights w{unit_, 1, std::min(piece, all.rows - begin), all.cols};
      if (!direct) TRY_VOID(expand(w, begin, 0, !behind));
      behind = false;
      const uint32_t narrow = unit_.run(), wide = 2 * narrow;
      const bool is_narrow = is_narrow_better(w.rows, tokens);
      TRY_VOID(multiply(
          w, {.bias = op_.as<LinearAttrs>().bias ? gpu(1).address : 0, .begin = begin, .narrow = is_narrow},
          divide_up(tokens, is_narrow ? narrow : wide), direct, !direct || halved));
    }
    return {};
  }

  Result<> expert_product() {
    const auto& a = op_.as<ExpertAttrs>();
    const TiledWeights all = tiled(d_.plan, unit_, op_);
    const bool direct = is_direct(unit_, file(0));
    const ExpertLists lists{a.experts, out_rows() * a.used, unit_.run()};
    const bool grouped = TRY(group_rows(a, lists));
    const bool halved = TRY(make_input_rows(all.cols, a.own_input ? a.used : 1));
    const uint64_t at = d_.memory.lists;
    bool behind =
        halved && !grouped;  // tiles are made for experts that are wanted, so the lists must be there
    const uint32_t piece = direct ? a.experts : all.matrices_of_piece();
    for (uint32_t first = 0; first < a.experts; first += piece) {
      const TiledWeights w{unit_, std::min(piece, a.experts - first), all.rows, all.cols};
      if (!direct) TRY_VOID(expand(w, first * all.rows, at + uint64_t{4} * first, !behind));
      behind = false;
      TRY_VOID(multiply(w,
                        {.bias = a.bias ? gpu(1).address : 0,
                         .tiles = at + uint64_t{4} * lists.tiles(),
                         .order = at + uint64_t{4} * lists.order(),
                         .first = first,
                         .used = a.used,
                         .own_input = a.own_input,
                         .grouped = true,
                         .narrow = true},
                        lists.tile_count(), direct, !direct || grouped || halved));
    }
    return {};
  }

  Result<> attention() {
    const auto& a = op_.as<AttentionAttrs>();
    const uint32_t positions = TRY(positions_seen(d_, op_));
    const PagePool& pool = d_.pools[a.group];
    Push push;
    push << in(0) << vector_or_0(0) << out() << d_.batch << pool.address()
         << static_cast<uint32_t>(pool.page_bytes()) << positions << d_.layout.tiles << d_.layout.starts
         << d_.layout.pages << (static_cast<uint32_t>(d_.pools.size()) << 16 | a.group)
         << static_cast<uint32_t>(pool.layer(a.layer).k) << static_cast<uint32_t>(pool.layer(a.layer).v)
         << a.q_heads << a.q_heads / a.kv_heads << static_cast<uint32_t>(std::max(a.window, 0)) << a.scale
         << a.softcap << a.temperature << std::max(a.temperature_length, 1u) << flag(a.sinks) << in_stride(0)
         << out_stride() << d_.layout.tile_count;
    std::vector<uint32_t> all =
        constants({a.k_dim, a.v_dim, number(pool.key_type()), number(pool.value_type())});
    all[3] = kRowsOfTile / unit_.tile.rows * unit_.lanes;
    return add("flash", all, push, d_.layout.tile_count, a.q_heads);
  }

  const MatrixUnit& unit_;
};

}  // namespace

Result<std::optional<std::vector<Dispatch>>> lower_prompt(const Target& target, const Op& op) {
  Prompt prompt(target, op);
  if (!prompt.takes()) return std::optional<std::vector<Dispatch>>();
  return std::optional(TRY(prompt.run()));
}

}  // namespace brass::vulkan
