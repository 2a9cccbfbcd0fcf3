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
  uint32_t width;  // f32 values in a row
  // 1: int8 codes with a scale (and scale · Σ codes) per 32 values instead; 2: these, and a second int8 code for what
  // they leave, x ≈ scale · (code + second / 256); 0: f32
  uint8_t int8_terms = 0;
  bool quantized() const { return int8_terms > 0; }
};
std::string_view value_type_name(const Value& value);  // "f32", "int8", "int8x2"

enum class WeightKind : uint8_t {
  kMatrix,
  kVector
};  // a vector is read as f32, whatever its type in the file

// Rows of a tensor: `run` rows from `first` on, again after every `stride` rows.
struct RowSlice {
  uint32_t first = 0;
  uint32_t run = 0, stride = 0;  // 0: all rows from `first` on
  bool operator==(const RowSlice&) const = default;
  // Row r of the slice as a row of the tensor.
  uint32_t row(uint32_t r) const { return run == 0 ? first + r : first + r / run * stride + r % run; }
};

// A tensor of the file, or a slice of its rows (of a vector: of its values). The bytes are the file's.
struct Weight {
  std::string name;  // tensor name
  WeightKind kind;
  Type type;
  uint32_t rows, cols;              // a vector: 1 × n
  std::span<const std::byte> data;  // of the whole tensor
  RowSlice slice = {};
  uint64_t bytes() const;  // of its rows
};
// The values of a vector.
std::vector<float> vector_values(const Weight& w);

// ---- operations
// -------------------------------------------------------------------------------------------------
// X(enumerator, name): what each reads and writes stands beside its attributes below.
#define BRASS_OPERATIONS(X)     \
  X(kEmbed, "embed")            \
  X(kHiddenIn, "hidden_in")     \
  X(kGatherRows, "gather_rows") \
  X(kPool, "pool")              \
  X(kRmsNorm, "rms_norm")       \
  X(kLayerNorm, "layer_norm")   \
  X(kHeadNorm, "head_norm")     \
  X(kLinear, "linear")          \
  X(kLmHead, "lm_head")         \
  X(kHeadLinear, "head_linear") \
  X(kMoeRoute, "moe_route")     \
  X(kMoeLinear, "moe_linear")   \
  X(kMoeCombine, "moe_combine") \
  X(kAct, "act")                \
  X(kActMul, "act_mul")         \
  X(kRopeTable, "rope_table")   \
  X(kRope, "rope")              \
  X(kKvWrite, "kv_write")       \
  X(kAttention, "attention")    \
  X(kConv1d, "conv1d")          \
  X(kDeltaNet, "delta_net")     \
  X(kSsmScan, "ssm_scan")       \
  X(kAdd, "add")                \
  X(kScale, "scale")            \
  X(kSoftcap, "softcap")        \
  X(kConcat, "concat")          \
  X(kSlice, "slice")            \
  X(kQuantAct, "quant_act")     \
  X(kChoose, "choose")

enum class OpKind : uint8_t {
#define BRASS_X(id, name) id,
  BRASS_OPERATIONS(BRASS_X)
#undef BRASS_X
};
std::string_view op_name(OpKind kind);

// embed:       () → x [T, d]; weight [n, d]; its row of each token: the token's id, its position, or row 0 for all
enum class EmbedIndex : uint8_t { kToken, kPosition, kFirst };
struct EmbedAttrs {
  EmbedIndex index = EmbedIndex::kToken;
};
// hidden_in:   () → x [T, d]: the rows that the batch brings, which another graph of the model has made
// gather_rows: x [T, d] → [R, d]; rows wanted by the batch
// pool:        x [T, d] → [R, d]: of all the rows that the sequence of a wanted row has in the step, the first one or
//              their mean
enum class PoolKind : uint8_t { kFirst, kMean };
struct PoolAttrs {
  PoolKind kind;
};
// rms_norm:    x → x · rsqrt(mean x² + eps) (· weight [d])
// head_norm:   the same on each head of head_dim values; weight [head_dim], or one a head: [heads · head_dim]
// layer_norm:  (x − mean) · rsqrt(variance + eps) · weights[0] (+ weights[1]) on each of `heads` equal parts;
//              weights as those of head_norm
struct NormAttrs {
  float eps;
  uint32_t heads = 1;
};
// linear:  x [·, cols] → [·, rows] = W·x (+ bias, weights[1])
// lm_head: the same on R rows; its output are the logits
struct LinearAttrs {
  bool bias = false;
};
// head_linear: x [·, heads · in] → [·, heads · out]: head h is multiplied by rows [h · out, (h + 1) · out) of the
// weight [heads · out, in]
struct HeadLinearAttrs {
  uint32_t heads;
};
// concat: a [·, heads · p], b [·, heads · q] → [·, heads · (p + q)]: head by head
struct ConcatAttrs {
  uint32_t heads = 1;
};
// slice: x → its columns [begin, begin + width of the output)
struct SliceAttrs {
  uint32_t begin;
};
// A mixture of experts. Experts are numbered; a token uses `used` of them, in slots 0 … used − 1.
//
// moe_route: logits [·, experts] → route [·, 2 · used]: the expert of each slot (a whole number as f32), then
// the slots' weights. s = score of the logits; c = s (+ weights[0] [experts], the selection bias). With
// `groups`, experts stand in that many equal runs, of which the `groups_used` best ones (by their group score
// over c) keep their c, the others drop out. The `used` largest c are selected, NaN above all, equal ones in
// order of number, slots by falling c. w = s of the selected; with `renormalize` ÷ max(Σ w, min_sum); · scale;
// (· weights[1] [experts] of the expert). Sums and softmax in f32 or wider.
enum class RouteScore : uint8_t { kSoftmax, kSigmoid, kSoftmaxOfSelected };
enum class GroupScore : uint8_t { kMax, kTop2Sum };
struct RouteAttrs {
  uint32_t experts, used;
  RouteScore score = RouteScore::kSoftmax;
  bool selection_bias = false, expert_scale = false;  // whether weights[0], then the next weight are there
  bool renormalize = false;
  float min_sum = 0;
  float scale = 1;
  uint32_t groups = 1, groups_used = 1;
  GroupScore group_score = GroupScore::kMax;
};
// moe_linear: x [·, in] or [·, used · in], route → [·, used · out]: slot j holds W_e · x (+ bias_e) of its
// expert e; weights[0]: matrix [experts · out, in]; weights[1]: vector [experts · out]
// moe_combine: y [·, used · d], route (, shared [·, d] (, its gate [·, 1])) → [·, d] = Σ slots w · y in order of
// slots, then + shared (· sigmoid(gate))
struct ExpertAttrs {
  uint32_t experts, used;
  bool bias = false;
  bool own_input = false;  // x has a part for each slot
};
// act:     x → act(x)
// act_mul: gate, up → act(gate) · up. kClampedSwiglu bends both: see act_kind.h
std::string_view act_name(ActKind kind);
std::string_view kv_type_name(KvType type);
double kv_value_bytes(KvType type);  // of a cached value; int8 has a scale for every 32
struct ActAttrs {
  ActKind kind;
};
// rope_table: () → [T, n_rot]: n_rot/2 pairs (cos, sin) of position · inv_freq, times magnitude. Angles are
// f32 products.
struct RopeTableAttrs {
  std::vector<float> inv_freq;  // [n_rot / 2]
  float magnitude = 1.0f;       // yarn's attention factor
  // Instead of inv_freq where the memory is opened for more positions than `long_above` (see fit_context)
  std::vector<float> long_inv_freq = {};
  uint32_t long_above = 0;
};
// rope: x [T, heads · head_dim], table → rotated; dimensions past n_rot pass through
struct RopeAttrs {
  uint32_t heads, head_dim, n_rot;
  bool neox;  // pairs (i, i + n_rot/2); else (2i, 2i + 1)
};
// kv_write: k [T, heads · k_dim], v [T, heads · v_dim] (none if v_dim is 0) → memory of (group, layer) at each token's position
struct KvAttrs {
  uint32_t group, layer;  // index of the group, index of the layer within it
  uint32_t heads, k_dim, v_dim;
};
// attention: q [T, q_heads · k_dim] → [T, q_heads · v_dim] over the cached positions ≤ the token's own; not causal:
// over all cached positions, those of the step's later tokens of the sequence included
struct AttentionAttrs {
  uint32_t group, layer;
  uint32_t q_heads, kv_heads, k_dim, v_dim;
  float scale;
  float softcap = 0;   // 0: none; else logits are cap · tanh(logit / cap)
  int32_t window = 0;  // 0: all; else only positions > own − window, and causal
  bool causal = true;
  bool sinks = false;  // weights[0] [q_heads]: a logit of each head that joins the softmax and has no value
  // Logits · (1 + temperature · ln(1 + ⌊own position / temperature_length⌋)), before softcap; 0: none
  float temperature = 0;
  uint32_t temperature_length = 0;
};
// Recurrent operations read and write the state of (group, layer): f32, zero before the text. Rows of one
// sequence go in order of position; the result of a row depends on nothing behind it.
//
// conv1d: u [T, c] → act(Σ_{j < taps} w[c][j] · u_{t − taps + 1 + j} (+ bias)), oldest tap first; weights[0]
// [c · taps], weights[1] [c]. State: the last taps − 1 rows of u.
struct ConvAttrs {
  uint32_t group, layer;
  uint32_t taps;
  bool bias = false;
  bool silu = false;
};
// delta_net: q | k | v [T, 2 · k_heads · k_dim + v_heads · v_dim], b [T, v_heads], a [T, v_heads] → o [T, v_heads ·
// v_dim]; weights[0]: A [v_heads] (negative), weights[1]: dt bias [v_heads]. (Gated delta rule, Yang et al. 2024.)
// q, k of each head · rsqrt(Σ x² + 1e-6); q ÷ √k_dim; β = sigmoid(b); g = A · softplus(a + dt bias), softplus(x) = x
// for x > 20; state S [k_dim × v_dim] of each v head: S ← e^g S; S ← S + k (β (v − Sᵀk))ᵀ; o = Sᵀq. Head h reads k
// head h mod k_heads if `tiled`, else h / (v_heads / k_heads). State: v_heads · k_dim · v_dim.
struct DeltaAttrs {
  uint32_t group, layer;
  uint32_t k_heads, v_heads, k_dim, v_dim;
  bool tiled;
};
// ssm_scan: x | B | C [T, heads · dim + 2 · groups · state], dt [T, heads] → [T, heads · dim]; weights: A, D, dt bias
// [heads]. (Mamba 2, Dao and Gu 2024.) δ = softplus(dt + bias); S [dim × state] of head h ← e^{δA} S + (δ x) Bᵀ of
// B's group h / (heads / groups); y = S C + D x. State: heads · dim · state.
struct SsmAttrs {
  uint32_t group, layer;
  uint32_t heads, dim, state, groups;
};
// add: a, b → a + b.   scale: x → x · factor.   softcap: x → factor · tanh(x / factor)
struct ScaleAttrs {
  float factor;
};
// quant_act: x → the same in int8 per 32, of one term or two (inserted by compile where a kernel reads it so)
// choose (inserted by compile where the key asks for it): logits [R, n] → [R, 1]: the number of the largest one, the lowest
// of equal ones, as a whole number in f32; where one is not finite, −1 − the number of the first such.
// Of candidates: → [R, 2 · candidates]: the numbers of the so many largest ones, in order of number, then their logits, bit
// for bit. What is not finite counts as largest, and of equal ones the lower number comes first: so the first that is not
// finite, of all logits, is among them, and the first such there.
inline constexpr uint32_t kMostChoices = 1 << 24;  // n: numbers beyond are no f32
inline constexpr uint32_t kMostCandidates = 128;
struct ChooseAttrs {
  uint32_t candidates = 0;  // at most n; 0: the largest one
};

using Attrs =
    std::variant<std::monostate, EmbedAttrs, PoolAttrs, NormAttrs, LinearAttrs, HeadLinearAttrs, ConcatAttrs,
                 SliceAttrs, RouteAttrs, ExpertAttrs, ActAttrs, RopeTableAttrs, RopeAttrs, KvAttrs,
                 AttentionAttrs, ConvAttrs, DeltaAttrs, SsmAttrs, ScaleAttrs, ChooseAttrs>;

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

enum class GroupKind : uint8_t { kKv, kWindow, kState };

struct KvLayer {
  uint32_t heads, k_dim, v_dim;
};

// Layers that keep the same positions: all of them (kKv), or the last `window` (kWindow); or what recurrent layers
// keep instead of positions (kState), of which a graph has one group at most. A page of a state group is the whole
// state of one sequence at one position.
struct MemoryGroup {
  std::string name;
  GroupKind kind;
  int32_t window = 0;
  std::vector<KvLayer> layers;
  std::vector<uint32_t> states;  // kState: f32 values of each layer
};

// ---- graph
// ------------------------------------------------------------------------------------------------------

// The graphs of one model (its trunk, and its drafts: model.h) hold the same list of weights and the same list of
// groups, so that a plan of any of them runs where they were uploaded and allocated once.
struct Graph {
  std::string architecture;  // for printing only
  std::string part = {};     // likewise: "" is the trunk
  std::vector<Value> values;
  std::vector<Weight> weights;
  std::vector<Op> ops;
  std::vector<MemoryGroup> groups;
  // What the graph is for, one of the two: logits [R, vocabulary], or embeddings [R, d].
  ValueId logits = -1, embeddings = -1;
  ValueId output() const { return logits >= 0 ? logits : embeddings; }
  // Rows [T, d] that another graph of the model goes on from, made where a plan asks for them; −1: there are none.
  ValueId hidden = -1;
  // Whether all tokens of a text must be rows of one step: some see later ones, or the output is of all of them.
  bool needs_whole_texts() const;
  // Of each group, whether an operation reads or writes it.
  std::vector<bool> touched_groups() const;
  bool weightless = false;  // the weights have no bytes: a plan of it can be looked at, not run

  // Settles what depends on how many positions a sequence may have: every rope_table that has two sets of
  // frequencies keeps the one for `context`. Whether there was such a choice.
  bool fit_context(uint32_t context);

  // Operand shapes, single assignment, order. An error is our own bug in an architecture, or a file whose
  // tensors do not fit each other: the message names operation and tensor.
  Result<> validate() const;
};

// Of each weight, whether an operation of the graphs, which share them, reads it.
std::vector<bool> used_weights(std::span<const Graph* const> graphs);

// ---- cost
// -------------------------------------------------------------------------------------------------------

struct Sizes {
  uint64_t t, r;  // rows of the step
  uint64_t s;     // positions already cached before the step, per sequence (one sequence is assumed)
};

struct Cost {
  uint64_t weight_bytes = 0;  // as in the file
  uint64_t kv_read = 0, kv_written = 0;
  uint64_t state_bytes = 0;  // read and written
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
// Of `experts`, those that are used at least once by t tokens that each use `used`, evenly spread: E (1 − (1 − k/E)^t).
double expected_experts(uint32_t experts, uint32_t used, uint64_t t);
uint64_t value_bytes(const Value& value, const Sizes& sizes);
uint64_t row_count(Rows rows, const Sizes& sizes);

}  // namespace brass
