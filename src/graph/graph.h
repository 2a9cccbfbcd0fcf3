// A model's work as a straight line of semantic operations.
//
// Owns: the operation vocabulary (the only list of operations), values and their shapes, weights by
// reference, the memory that a sequence needs (groups), the cost of each operation, printing. Must not know:
// files, architectures, phases, devices, kernels. Invariants: an operation reads only values made before it;
// every value is made once; no views, no broadcasting, no control flow. Row counts are symbolic: T tokens of
// the step, R rows whose logits are wanted; S is the cached length. validate() says whether all that holds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "graph/act_kind.h"
#include "graph/kv_type.h"
#include "quant/format.h"

namespace brass {

using ValueId = int32_t;
using WeightId = int32_t;

enum class Rows : uint8_t { kT, kR };

struct Value {
  std::string name;
  Rows rows;
  uint32_t width;          // f32 values in a row
  bool quantized = false;  // int8 codes with a scale (and scale · Σ codes) per 32 values instead
};

enum class WeightKind : uint8_t {
  kMatrix,
  kVector
};  // a vector is read as f32, whatever its type in the file

// A tensor of the file, or a contiguous range of its rows. The bytes are the file's.
struct Weight {
  std::string name;  // tensor name
  WeightKind kind;
  Type type;
  uint32_t rows, cols;  // a vector: 1 × n
  std::span<const std::byte> data;
  uint64_t bytes() const { return data.size(); }
};

// ---- operations
// -------------------------------------------------------------------------------------------------
// X(enumerator, name): what each reads and writes stands beside its attributes below.
#define BRASS_OPERATIONS(X)     \
  X(kEmbed, "embed")            \
  X(kGatherRows, "gather_rows") \
  X(kRmsNorm, "rms_norm")       \
  X(kHeadNorm, "head_norm")     \
  X(kLinear, "linear")          \
  X(kLmHead, "lm_head")         \
  X(kActMul, "act_mul")         \
  X(kRopeTable, "rope_table")   \
  X(kRope, "rope")              \
  X(kKvWrite, "kv_write")       \
  X(kAttention, "attention")    \
  X(kAdd, "add")                \
  X(kScale, "scale")            \
  X(kSoftcap, "softcap")        \
  X(kQuantAct, "quant_act")

enum class OpKind : uint8_t {
#define BRASS_X(id, name) id,
  BRASS_OPERATIONS(BRASS_X)
#undef BRASS_X
};
std::string_view op_name(OpKind kind);

// embed:       () → x [T, d]; weight [vocab, d]; row = token id of the batch
// gather_rows: x [T, d] → [R, d]; rows wanted by the batch
// rms_norm:    x → x · rsqrt(mean x² + eps) · weight [d]
// head_norm:   the same on each head of head_dim values; weight [head_dim]
struct NormAttrs {
  float eps;
  uint32_t heads = 1;
};
// linear:  x [·, cols] → [·, rows] = W·x (+ bias, weights[1])
// lm_head: the same on R rows; its output are the logits
struct LinearAttrs {
  bool bias = false;
};
// act_mul: gate, up → act(gate) · up
std::string_view act_name(ActKind kind);
std::string_view kv_type_name(KvType type);
struct ActAttrs {
  ActKind kind;
};
// rope_table: () → [T, n_rot]: n_rot/2 pairs (cos, sin) of position · inv_freq, times magnitude. Angles are
// f32 products.
struct RopeTableAttrs {
  std::vector<float> inv_freq;  // [n_rot / 2]
  float magnitude = 1.0f;       // yarn's attention factor
};
// rope: x [T, heads · head_dim], table → rotated; dimensions past n_rot pass through
struct RopeAttrs {
  uint32_t heads, head_dim, n_rot;
  bool neox;  // pairs (i, i + n_rot/2); else (2i, 2i + 1)
};
// kv_write: k [T, heads · k_dim], v [T, heads · v_dim] → memory of (group, layer) at each token's position
struct KvAttrs {
  uint32_t group, layer;  // index of the group, index of the layer within it
  uint32_t heads, k_dim, v_dim;
};
// attention: q [T, q_heads · k_dim] → [T, q_heads · v_dim] over the cached positions ≤ the token's own
struct AttentionAttrs {
  uint32_t group, layer;
  uint32_t q_heads, kv_heads, k_dim, v_dim;
  float scale;
  float softcap = 0;   // 0: none; else logits are cap · tanh(logit / cap)
  int32_t window = 0;  // 0: all; else only positions > own − window
};
// add: a, b → a + b.   scale: x → x · factor.   softcap: x → factor · tanh(x / factor)
struct ScaleAttrs {
  float factor;
};
// quant_act: x → the same in int8 per 32 (inserted by compile where a kernel reads it so)

using Attrs = std::variant<std::monostate, NormAttrs, LinearAttrs, ActAttrs, RopeTableAttrs, RopeAttrs,
                           KvAttrs, AttentionAttrs, ScaleAttrs>;

struct Op {
  OpKind kind;
  int32_t layer = -1;  // block of the model; −1: outside of the blocks
  std::string name;    // "blk.0.attn_q"
  std::vector<ValueId> in;
  std::vector<ValueId> out;
  std::vector<WeightId> weights;
  Attrs attrs;

  template <class A>
  const A& as() const {
    return std::get<A>(attrs);
  }
};

// ---- memory of a sequence
// ---------------------------------------------------------------------------------------

enum class GroupKind : uint8_t { kKv, kWindow };

struct KvLayer {
  uint32_t heads, k_dim, v_dim;
};

// Layers that keep the same positions: all of them (kKv), or the last `window` (kWindow).
struct MemoryGroup {
  std::string name;
  GroupKind kind;
  int32_t window = 0;
  std::vector<KvLayer> layers;
};

// ---- graph
// ------------------------------------------------------------------------------------------------------

struct Graph {
  std::string architecture;  // for printing only
  std::vector<Value> values;
  std::vector<Weight> weights;
  std::vector<Op> ops;
  std::vector<MemoryGroup> groups;
  ValueId logits = -1;

  // Operand shapes, single assignment, order. An error is our own bug in an architecture, or a file whose
  // tensors do not fit each other: the message names operation and tensor.
  Result<> validate() const;
};

// ---- cost
// -------------------------------------------------------------------------------------------------------

struct Sizes {
  uint64_t t, r;  // rows of the step
  uint64_t s;     // positions already cached before the step, per sequence (one sequence is assumed)
};

struct Cost {
  uint64_t weight_bytes = 0;  // as in the file
  uint64_t kv_read = 0, kv_written = 0;
  uint64_t activation_bytes = 0;
  uint64_t flops = 0;
  Cost& operator+=(const Cost& other);
};

// Bytes of one cached position's K and V for one head of dims (k_dim, v_dim): the device decides the types.
struct KvBytes {
  double per_k_value, per_v_value;
};

// `values`: the graph's, and those that a plan added. `op` may be one that a plan inserted.
Cost op_cost(const Graph& graph, std::span<const Value> values, const Op& op, const Sizes& sizes,
             const KvBytes& kv);
uint64_t value_bytes(const Value& value, const Sizes& sizes);
uint64_t row_count(Rows rows, const Sizes& sizes);

}  // namespace brass
