#include "model/builder.h"

#include <algorithm>
#include <cmath>

namespace brass {

Builder::Builder(const gguf::File& file, std::string architecture)
    : file_(file), architecture_(std::move(architecture)), graph_(std::make_shared<Graph>()) {
  graph_->architecture = architecture_;
}

// ---- hyper-parameters

Result<uint32_t> Builder::count(std::string_view name, uint32_t max) const {
  return static_cast<uint32_t>(TRY(file_.get_uint(key(name), 1, max)));
}

Result<uint32_t> Builder::count_or(std::string_view name, uint32_t fallback, uint32_t max) const {
  return static_cast<uint32_t>(TRY(file_.uint_or(key(name), fallback, 1, max)));
}

Result<std::vector<uint32_t>> Builder::count_each(std::string_view name, uint32_t n, uint32_t max) const {
  const std::vector<uint64_t> found = TRY(file_.get_uint_each(key(name), n));
  for (const uint64_t x : found)
    if (x == 0 || x > max) return file_.key_error(key(name), fmt::format("is {}, expected 1 to {}", x, max));
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

WeightId Builder::weight(const std::string& tensor, WeightKind kind, uint32_t rows, uint32_t cols) {
  used_.insert(tensor);
  const auto id = static_cast<WeightId>(graph_->weights.size());
  Weight w{.name = tensor, .kind = kind, .type = Type::F32, .rows = rows, .cols = cols, .data = {}};
  const gguf::TensorInfo* info = file_.find(tensor);
  if (info == nullptr) {
    fail_with(file_.tensor_error(tensor, fmt::format("is missing; architecture '{}' needs it", architecture_))
                  .error());
  } else if (info->format == nullptr) {
    fail_with(
        file_
            .tensor_error(tensor,
                          fmt::format("has type {}, which no weight can have", gguf::type_name(info->type)),
                          "supported: " + supported_format_names())
            .error());
  } else if (info->dims[0] != cols || info->rows() != rows) {
    fail_with(file_
                  .tensor_error(tensor,
                                fmt::format("has shape {}, expected [{}, {}]", dims_text(*info), cols, rows))
                  .error());
  } else {
    w.type = info->type;
    w.data = info->data;
  }
  // One tensor read twice (tied embeddings) is one weight.
  for (WeightId i = 0; i < id; i++)
    if (graph_->weights[static_cast<size_t>(i)].name == tensor &&
        graph_->weights[static_cast<size_t>(i)].kind == kind)
      return i;
  graph_->weights.push_back(std::move(w));
  return id;
}

WeightId Builder::matrix(const std::string& tensor, uint32_t rows, uint32_t cols) {
  return weight(tensor, WeightKind::kMatrix, rows, cols);
}
WeightId Builder::vector(const std::string& tensor, uint32_t n) {
  return weight(tensor, WeightKind::kVector, 1, n);
}

Result<std::vector<float>> Builder::read_vector(const std::string& tensor, uint32_t n) {
  used_.insert(tensor);
  const gguf::TensorInfo* info = TRY(file_.get(tensor));
  if (info->format == nullptr || info->values() != n)
    return file_.tensor_error(tensor, fmt::format("has shape {}, expected [{}]", dims_text(*info), n));
  if (info->format->find_non_finite(info->data.data(), n) >= 0 && tensor != "rope_freqs.weight")
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
  return emit(OpKind::kEmbed, "token_embd", {}, Rows::kT, width, {matrix(tensor, vocabulary, width)});
}

ValueId Builder::gather_rows(ValueId x, const std::string& name) {
  return emit(OpKind::kGatherRows, name, {x}, Rows::kR, width(x));
}

ValueId Builder::rms_norm(ValueId x, const std::string& tensor, float eps) {
  return emit(OpKind::kRmsNorm, tensor.substr(0, tensor.rfind(".weight")), {x}, rows_of(x), width(x),
              {vector(tensor, width(x))}, NormAttrs{eps});
}

ValueId Builder::head_norm(ValueId x, const std::string& tensor, uint32_t heads, float eps) {
  return emit(OpKind::kHeadNorm, tensor.substr(0, tensor.rfind(".weight")), {x}, rows_of(x), width(x),
              {vector(tensor, width(x) / heads)}, NormAttrs{eps, heads});
}

ValueId Builder::linear(ValueId x, const std::string& name, uint32_t rows) {
  std::vector<WeightId> weights = {matrix(name + ".weight", rows, width(x))};
  const bool bias = has(name + ".bias");
  if (bias) weights.push_back(vector(name + ".bias", rows));
  return emit(OpKind::kLinear, name, {x}, rows_of(x), rows, std::move(weights), LinearAttrs{bias});
}

ValueId Builder::lm_head(ValueId x, const std::string& tensor, uint32_t vocabulary) {
  return emit(OpKind::kLmHead, "output", {x}, rows_of(x), vocabulary, {matrix(tensor, vocabulary, width(x))},
              LinearAttrs{});
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
  graph_->ops.push_back(
      {.kind = OpKind::kKvWrite, .layer = layer_, .name = name, .in = {k, v}, .attrs = attrs});
}

ValueId Builder::attention(ValueId q, AttentionAttrs attrs, const std::string& name) {
  return emit(OpKind::kAttention, name, {q}, rows_of(q), attrs.q_heads * attrs.v_dim, {}, attrs);
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

void Builder::fail_with(Error error) {
  if (!failed()) fault_ = std::move(error);
}

Result<std::shared_ptr<const Graph>> Builder::finish(ValueId logits_value) {
  if (failed()) return std::unexpected(fault_);
  graph_->logits = logits_value;
  for (const gguf::TensorInfo& t : file_.tensors())
    if (!used_.contains(t.name))
      return file_.tensor_error(
          t.name,
          fmt::format("is not used: this variant of architecture '{}' is not supported", architecture_),
          "running without it would give wrong text");
  TRY_VOID(within(file_.path(), graph_->validate()));
  return graph_;
}

}  // namespace brass
