#include "model/builder.h"

#include <algorithm>
#include <cmath>

#include "model/shape.h"

namespace brass {

std::string_view pooling_name(Pooling pooling) {
  static constexpr std::string_view kNames[] = {"none", "mean", "cls", "last"};
  return kNames[static_cast<size_t>(pooling)];
}

Builder::Builder(const gguf::File& file, std::string architecture, const OutputSpec& output, Wishes* wishes)
    : file_(file),
      architecture_(std::move(architecture)),
      output_(output),
      wishes_(wishes),
      graph_(std::make_shared<Graph>()) {
  graph_->architecture = architecture_;
}

// ---- hyper-parameters

Result<uint32_t> Builder::count(std::string_view name, uint32_t max) const {
  return static_cast<uint32_t>(TRY(file_.get_uint(key(name), 1, max)));
}

Result<uint32_t> Builder::count_or(std::string_view name, uint32_t fallback, uint32_t max) const {
  return static_cast<uint32_t>(TRY(file_.uint_or(key(name), fallback, 1, max)));
}

Result<std::vector<uint32_t>> Builder::count_each(std::string_view name, uint32_t n, uint32_t max,
                                                  uint32_t min) const {
  const std::vector<uint64_t> found = TRY(file_.get_uint_each(key(name), n));
  for (const uint64_t x : found)
    if (x < min || x > max)
      return file_.key_error(key(name), fmt::format("is {}, expected {} to {}", x, min, max));
  return std::vector<uint32_t>(found.begin(), found.end());
}

Result<float> Builder::positive(std::string_view name) const {
  const double x = TRY(file_.get_float(key(name)));
  if (!(x > 0) || !std::isfinite(static_cast<float>(x)) || static_cast<float>(x) == 0)
    return file_.key_error(key(name), fmt::format("is {}, expected a positive number", x));
  return static_cast<float>(x);
}

Result<float> Builder::positive_or(std::string_view name, float fallback) const {
  if (!file_.has(key(name))) return fallback;
  return positive(name);
}

// ---- weights

bool Builder::has(const std::string& tensor) const {
  return file_.find(tensor) != nullptr || (wishes_ != nullptr && wishes_->offers(tensor));
}

uint64_t Builder::rows(const std::string& tensor) const {
  const gguf::TensorInfo* info = file_.find(tensor);
  if (info != nullptr) return info->rows();
  return wishes_ == nullptr ? 0 : wishes_->rows(tensor);
}

namespace {

std::vector<uint64_t> wished_dims(WeightKind kind, uint32_t tensor_rows, uint32_t cols, uint32_t planes) {
  if (planes > 1 && kind == WeightKind::kVector) return {tensor_rows / planes, planes};
  if (planes > 1) return {cols, tensor_rows / planes, planes};
  return kind == WeightKind::kVector ? std::vector<uint64_t>{tensor_rows}
                                     : std::vector<uint64_t>{cols, tensor_rows};
}

}  // namespace

WeightId Builder::weight(const std::string& tensor, WeightKind kind, uint32_t tensor_rows, uint32_t rows,
                         uint32_t cols, RowSlice which, uint32_t planes) {
  used_.insert(tensor);
  const auto id = static_cast<WeightId>(graph_->weights.size());
  Weight w{.name = tensor,
           .kind = kind,
           .type = Type::F32,
           .rows = rows,
           .cols = cols,
           .data = {},
           .slice = which};
  const gguf::TensorInfo* info = file_.find(tensor);
  if (info == nullptr && wishes_ != nullptr) {
    w.type = wishes_->note(tensor, kind, wished_dims(kind, tensor_rows, cols, planes));
  } else if (info == nullptr) {
    fail_with(file_.tensor_error(tensor, fmt::format("is missing; architecture '{}' needs it", architecture_))
                  .error());
  } else if (info->format == nullptr) {
    fail_with(
        file_
            .tensor_error(tensor,
                          fmt::format("has type {}, which no weight can have", gguf::type_name(info->type)),
                          "supported: " + supported_format_names())
            .error());
  } else if (kind == WeightKind::kVector ? info->values() != tensor_rows
                                         : info->dims[0] != cols || info->rows() != tensor_rows) {
    fail_with(file_
                  .tensor_error(tensor, kind == WeightKind::kVector
                                            ? fmt::format("has shape {}, expected {} values",
                                                          dims_text(*info), tensor_rows)
                                            : fmt::format("has shape {}, expected [{}, {}]", dims_text(*info),
                                                          cols, tensor_rows))
                  .error());
  } else {
    w.type = info->type;
    w.data = info->data;
  }
  // One tensor read twice (tied embeddings) is one weight.
  for (WeightId i = 0; i < id; i++) {
    const Weight& other = graph_->weights[static_cast<size_t>(i)];
    if (other.name == tensor && other.kind == kind && other.slice == which && other.rows == rows &&
        other.cols == cols)
      return i;
  }
  graph_->weights.push_back(std::move(w));
  return id;
}

WeightId Builder::matrix(const std::string& tensor, uint32_t rows, uint32_t cols) {
  return weight(tensor, WeightKind::kMatrix, rows, rows, cols);
}
WeightId Builder::slice(const std::string& tensor, uint32_t tensor_rows, uint32_t cols, uint32_t rows,
                        RowSlice which, uint32_t planes) {
  return weight(tensor, WeightKind::kMatrix, tensor_rows, rows, cols, which, planes);
}
WeightId Builder::vector(const std::string& tensor, uint32_t n) {
  return weight(tensor, WeightKind::kVector, n, 1, n);
}
WeightId Builder::vector_slice(const std::string& tensor, uint32_t tensor_values, uint32_t n,
                               RowSlice which) {
  return weight(tensor, WeightKind::kVector, tensor_values, 1, n, which);
}

Result<std::vector<float>> Builder::read_vector(const std::string& tensor, uint32_t n) {
  used_.insert(tensor);
  if (wishes_ != nullptr && file_.find(tensor) == nullptr) {
    wishes_->note(tensor, WeightKind::kVector, {n});
    return std::vector<float>(n, 1.0f);
  }
  const gguf::TensorInfo* info = TRY(file_.get(tensor));
  if (info->format == nullptr || info->values() != n)
    return file_.tensor_error(tensor, fmt::format("has shape {}, expected [{}]", dims_text(*info), n));
  if (info->format->find_non_finite(info->data.data(), n) >= 0 && !tensor.starts_with("rope_f"))
    return file_.tensor_error(tensor, "holds a value that is not finite");
  std::vector<float> values(n);
  info->format->decode(info->data.data(), values.data(), n);
  return values;
}

// ---- operations

ValueId Builder::value(const std::string& name, Rows rows, uint32_t width) {
  graph_->values.push_back({.name = name, .rows = rows, .width = width});
  return static_cast<ValueId>(graph_->values.size() - 1);
}

ValueId Builder::emit(OpKind kind, const std::string& name, std::vector<ValueId> in, Rows rows,
                      uint32_t width, std::vector<WeightId> weights, Attrs attrs) {
  const ValueId out = value(name, rows, width);
  graph_->ops.push_back({.kind = kind,
                         .layer = layer_,
                         .name = name,
                         .in = std::move(in),
                         .out = {out},
                         .weights = std::move(weights),
                         .attrs = std::move(attrs)});
  return out;
}

ValueId Builder::embed(const std::string& tensor, uint32_t vocabulary, uint32_t width) {
  return emit(OpKind::kEmbed, "token_embd", {}, Rows::kT, width, {matrix(tensor, vocabulary, width)},
              EmbedAttrs{});
}

ValueId Builder::embed_by(EmbedIndex index, const std::string& tensor, uint32_t rows, uint32_t width) {
  return emit(OpKind::kEmbed, tensor.substr(0, tensor.rfind(".weight")), {}, Rows::kT, width,
              {matrix(tensor, rows, width)}, EmbedAttrs{index});
}

ValueId Builder::hidden_in(uint32_t width) {
  return emit(OpKind::kHiddenIn, "hidden_in", {}, Rows::kT, width);
}

ValueId Builder::gather_rows(ValueId x, const std::string& name) {
  return emit(OpKind::kGatherRows, name, {x}, Rows::kR, width(x));
}

ValueId Builder::pool(PoolKind kind, ValueId x, const std::string& name) {
  return emit(OpKind::kPool, name, {x}, Rows::kR, width(x), {}, PoolAttrs{kind});
}

ValueId Builder::plain_rms_norm(ValueId x, float eps, const std::string& name) {
  return emit(OpKind::kRmsNorm, name, {x}, rows_of(x), width(x), {}, NormAttrs{eps});
}

ValueId Builder::rms_norm(ValueId x, const std::string& tensor, float eps) {
  return emit(OpKind::kRmsNorm, tensor.substr(0, tensor.rfind(".weight")), {x}, rows_of(x), width(x),
              {vector(tensor, width(x))}, NormAttrs{eps});
}

ValueId Builder::head_norm(ValueId x, const std::string& tensor, uint32_t heads, float eps, bool own) {
  std::vector<WeightId> weights;
  if (!tensor.empty()) weights.push_back(vector(tensor, own ? width(x) : width(x) / heads));
  return emit(OpKind::kHeadNorm, tensor.substr(0, tensor.rfind(".weight")), {x}, rows_of(x), width(x),
              std::move(weights), NormAttrs{eps, heads});
}

ValueId Builder::layer_norm(ValueId x, const std::string& name, float eps, uint32_t heads) {
  std::vector<WeightId> weights = {vector(name + ".weight", width(x))};
  if (has(name + ".bias")) weights.push_back(vector(name + ".bias", width(x)));
  return emit(OpKind::kLayerNorm, name, {x}, rows_of(x), width(x), std::move(weights), NormAttrs{eps, heads});
}

ValueId Builder::linear(ValueId x, const std::string& name, uint32_t rows) {
  std::vector<WeightId> weights = {matrix(name + ".weight", rows, width(x))};
  const bool bias = has(name + ".bias");
  if (bias) weights.push_back(vector(name + ".bias", rows));
  return emit(OpKind::kLinear, name, {x}, rows_of(x), rows, std::move(weights), LinearAttrs{bias});
}

ValueId Builder::linear_slice(ValueId x, const std::string& tensor, uint32_t tensor_rows, uint32_t rows,
                              RowSlice which, const std::string& name) {
  std::vector<WeightId> weights = {slice(tensor + ".weight", tensor_rows, width(x), rows, which)};
  const bool bias = has(tensor + ".bias");
  if (bias) weights.push_back(vector_slice(tensor + ".bias", tensor_rows, rows, which));
  return emit(OpKind::kLinear, name, {x}, rows_of(x), rows, std::move(weights), LinearAttrs{bias});
}

ValueId Builder::head_linear(ValueId x, const std::string& name, uint32_t heads, uint32_t out) {
  return head_linear_slice(x, name, heads * out, heads, out, {}, name);
}

ValueId Builder::head_linear_slice(ValueId x, const std::string& tensor, uint32_t tensor_rows, uint32_t heads,
                                   uint32_t out, RowSlice which, const std::string& name) {
  const WeightId w = slice(tensor + ".weight", tensor_rows, width(x) / heads, heads * out, which, heads);
  return emit(OpKind::kHeadLinear, name, {x}, rows_of(x), heads * out, {w}, HeadLinearAttrs{heads});
}

ValueId Builder::concat(ValueId a, ValueId b, uint32_t heads, const std::string& name) {
  return emit(OpKind::kConcat, name, {a, b}, rows_of(a), width(a) + width(b), {}, ConcatAttrs{heads});
}

ValueId Builder::slice_columns(ValueId x, uint32_t begin, uint32_t n, const std::string& name) {
  return emit(OpKind::kSlice, name, {x}, rows_of(x), n, {}, SliceAttrs{begin});
}

// ---- mixtures of experts

ValueId Builder::moe_route(ValueId logits_value, RouteAttrs attrs, const std::string& selection_bias,
                           const std::string& expert_scale, const std::string& name) {
  std::vector<WeightId> weights;
  attrs.selection_bias = !selection_bias.empty();
  attrs.expert_scale = !expert_scale.empty();
  if (attrs.selection_bias) weights.push_back(vector(selection_bias, attrs.experts));
  if (attrs.expert_scale) weights.push_back(vector(expert_scale, attrs.experts));
  return emit(OpKind::kMoeRoute, name, {logits_value}, rows_of(logits_value), 2 * attrs.used,
              std::move(weights), attrs);
}

ValueId Builder::moe_linear(ValueId x, ValueId route, const std::string& name, uint32_t out,
                            ExpertAttrs attrs) {
  return moe_linear_slice(x, route, name, attrs.experts * out, out, {}, attrs, name);
}

ValueId Builder::moe_linear_slice(ValueId x, ValueId route, const std::string& tensor, uint32_t tensor_rows,
                                  uint32_t out, RowSlice which, ExpertAttrs attrs, const std::string& name) {
  const uint32_t in = attrs.own_input ? width(x) / attrs.used : width(x), rows = attrs.experts * out;
  std::vector<WeightId> weights = {slice(tensor + ".weight", tensor_rows, in, rows, which, attrs.experts)};
  attrs.bias = has(tensor + ".bias");
  if (attrs.bias) weights.push_back(vector_slice(tensor + ".bias", tensor_rows, rows, which));
  return emit(OpKind::kMoeLinear, name, {x, route}, rows_of(x), attrs.used * out, std::move(weights), attrs);
}

ValueId Builder::moe_combine(ValueId slots, ValueId route, ValueId shared, ValueId gate, ExpertAttrs attrs,
                             const std::string& name) {
  std::vector<ValueId> in = {slots, route};
  if (shared >= 0) in.push_back(shared);
  if (gate >= 0) in.push_back(gate);
  return emit(OpKind::kMoeCombine, name, std::move(in), rows_of(slots), width(slots) / attrs.used, {}, attrs);
}

// ---- recurrent

ValueId Builder::conv1d(ValueId u, const std::string& name, ConvAttrs attrs) {
  const uint32_t values = width(u) * attrs.taps;
  std::vector<WeightId> weights = {
      weight(name + ".weight", WeightKind::kVector, values, 1, values, {}, width(u))};
  attrs.bias = has(name + ".bias");
  if (attrs.bias) weights.push_back(vector(name + ".bias", width(u)));
  return emit(OpKind::kConv1d, name, {u}, rows_of(u), width(u), std::move(weights), attrs);
}

ValueId Builder::delta_net(ValueId qkv, ValueId b, ValueId a, const std::string& decay,
                           const std::string& dt_bias, DeltaAttrs attrs, const std::string& name) {
  return emit(OpKind::kDeltaNet, name, {qkv, b, a}, rows_of(qkv), attrs.v_heads * attrs.v_dim,
              {vector(decay, attrs.v_heads), vector(dt_bias, attrs.v_heads)}, attrs);
}

ValueId Builder::ssm_scan(ValueId xbc, ValueId dt, const std::string& decay, const std::string& skip,
                          const std::string& dt_bias, SsmAttrs attrs, const std::string& name) {
  return emit(OpKind::kSsmScan, name, {xbc, dt}, rows_of(xbc), attrs.heads * attrs.dim,
              {vector(decay, attrs.heads), vector(skip, attrs.heads), vector(dt_bias, attrs.heads)}, attrs);
}

ValueId Builder::lm_head(ValueId x, const std::string& tensor, uint32_t vocabulary) {
  std::vector<WeightId> weights = {matrix(tensor, vocabulary, width(x))};
  const bool bias = has("output.bias");
  if (bias) weights.push_back(vector("output.bias", vocabulary));
  return emit(OpKind::kLmHead, "output", {x}, rows_of(x), vocabulary, std::move(weights), LinearAttrs{bias});
}

ValueId Builder::act(ActKind kind, ValueId x, const std::string& name) {
  return emit(OpKind::kAct, name, {x}, rows_of(x), width(x), {}, ActAttrs{kind});
}

ValueId Builder::act_mul(ActKind kind, ValueId gate, ValueId up, const std::string& name) {
  return emit(OpKind::kActMul, name, {gate, up}, rows_of(gate), width(gate), {}, ActAttrs{kind});
}

ValueId Builder::rope_table(RopeTableAttrs attrs, const std::string& name) {
  const auto n_rot = static_cast<uint32_t>(2 * attrs.inv_freq.size());
  return emit(OpKind::kRopeTable, name, {}, Rows::kT, n_rot, {}, std::move(attrs));
}

ValueId Builder::rope(ValueId x, ValueId table, RopeAttrs attrs, const std::string& name) {
  return emit(OpKind::kRope, name, {x, table}, rows_of(x), width(x), {}, attrs);
}

void Builder::kv_write(ValueId k, ValueId v, KvAttrs attrs, const std::string& name) {
  std::vector<ValueId> in = {k};
  if (v >= 0) in.push_back(v);
  graph_->ops.push_back(
      {.kind = OpKind::kKvWrite, .layer = layer_, .name = name, .in = std::move(in), .attrs = attrs});
}

ValueId Builder::attention(ValueId q, AttentionAttrs attrs, const std::string& name,
                           const std::string& sinks) {
  attrs.sinks = !sinks.empty();
  std::vector<WeightId> weights;
  if (attrs.sinks) weights.push_back(vector(sinks, attrs.q_heads));
  return emit(OpKind::kAttention, name, {q}, rows_of(q), attrs.q_heads * attrs.v_dim, std::move(weights),
              attrs);
}

ValueId Builder::add(ValueId a, ValueId b, const std::string& name) {
  return emit(OpKind::kAdd, name, {a, b}, rows_of(a), width(a));
}

ValueId Builder::scale(ValueId x, float factor, const std::string& name) {
  return emit(OpKind::kScale, name, {x}, rows_of(x), width(x), {}, ScaleAttrs{factor});
}

ValueId Builder::softcap(ValueId x, float cap, const std::string& name) {
  return emit(OpKind::kSoftcap, name, {x}, rows_of(x), width(x), {}, ScaleAttrs{cap});
}

uint32_t Builder::add_group(MemoryGroup group) {
  graph_->groups.push_back(std::move(group));
  return static_cast<uint32_t>(graph_->groups.size() - 1);
}

uint32_t Builder::add_group_layer(uint32_t group, KvLayer layer) {
  graph_->groups[group].layers.push_back(layer);
  return static_cast<uint32_t>(graph_->groups[group].layers.size() - 1);
}

uint32_t Builder::add_group_state(uint32_t group, uint32_t values) {
  graph_->groups[group].states.push_back(values);
  return static_cast<uint32_t>(graph_->groups[group].states.size() - 1);
}

void Builder::fail_with(Error error) {
  if (!failed()) fault_ = std::move(error);
}

void Builder::end_graph() {
  graph_->logits = logits;
  graph_->embeddings = embeddings;
  graph_->hidden = hidden;
  graph_->weightless = wishes_ != nullptr;
  logits = embeddings = hidden = -1;
}

void Builder::begin_draft() {
  end_graph();
  before_.push_back(graph_);
  auto draft = std::make_shared<Graph>();
  draft->architecture = architecture_;
  draft->part = fmt::format("draft {}", before_.size());
  draft->weights = graph_->weights;
  draft->groups = graph_->groups;
  graph_ = std::move(draft);
}

Result<std::vector<std::shared_ptr<const Graph>>> Builder::finish() {
  if (failed()) return std::unexpected(fault_);
  end_graph();
  for (const gguf::TensorInfo& t : file_.tensors())
    if (!used_.contains(t.name))
      return file_.tensor_error(
          t.name,
          fmt::format("is not used: this variant of architecture '{}' is not supported", architecture_),
          "running without it would give wrong text");
  std::vector<std::shared_ptr<const Graph>> all;
  for (const std::shared_ptr<Graph>& graph : before_) {
    graph->weights = graph_->weights;
    graph->groups = graph_->groups;
    all.push_back(graph);
  }
  all.push_back(graph_);
  for (const std::shared_ptr<const Graph>& graph : all) TRY_VOID(within(file_.path(), graph->validate()));
  return all;
}

}  // namespace brass
