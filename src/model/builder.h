// What an architecture's description is written with: hyper-parameters by key, weights by tensor name,
// operations.
//
// Owns: the graph under construction. Must not know: any particular architecture.
// Invariants: the first fault is kept and returned by finish(), so that a description reads as a straight
// line: a missing tensor or a wrong shape yields a value that can be used on, and the load fails with that
// fault's message.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf.h"
#include "graph/graph.h"

namespace brass {

inline constexpr uint32_t kMaxLayers = 1024;
inline constexpr uint32_t kMaxWidth = 1u << 20;

// How one embedding is made of a text's last hidden rows; the numbers are those of <arch>.pooling_type.
enum class Pooling : uint8_t { kNone, kMean, kFirst, kLast };  // none: one embedding a token
std::string_view pooling_name(Pooling pooling);                // none, mean, cls, last

// What the graph under construction is for.
struct OutputSpec {
  bool embeddings = false;
  Pooling pooling = Pooling::kNone;
  bool normalize = true;  // embeddings: to length 1
  bool draft = false;     // logits, and the graphs that predict further tokens
};

class Wishes;  // shape.h

class Builder {
 public:
  // `wishes`: there is no file of tensors: what the description asks for is noted there.
  Builder(const gguf::File& file, std::string architecture, const OutputSpec& output = {},
          Wishes* wishes = nullptr);

  // ---- hyper-parameters: `key` is without the architecture's prefix ("block_count")
  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }
  const gguf::File& file() const { return file_; }
  const OutputSpec& output() const { return output_; }
  Result<uint32_t> count(std::string_view name, uint32_t max) const;  // required, 1 … max
  Result<uint32_t> count_or(std::string_view name, uint32_t fallback,
                            uint32_t max) const;  // absent: fallback
  Result<std::vector<uint32_t>> count_each(std::string_view name, uint32_t n, uint32_t max,
                                           uint32_t min = 1) const;  // scalar or array
  Result<float> positive(std::string_view name) const;               // required, finite, > 0
  Result<float> positive_or(std::string_view name, float fallback) const;

  // ---- weights: names without ".weight" / ".bias" are given whole
  bool has(const std::string& tensor) const;
  bool describes_shape() const { return wishes_ != nullptr; }  // there is no file of tensors
  uint64_t rows(const std::string& tensor) const;              // 0: there is no such tensor
  WeightId matrix(const std::string& tensor, uint32_t rows, uint32_t cols);
  // `rows` rows of a matrix that has `tensor_rows` of them.
  // planes: of a tensor of three dimensions, the last (experts, heads).
  WeightId slice(const std::string& tensor, uint32_t tensor_rows, uint32_t cols, uint32_t rows,
                 RowSlice which, uint32_t planes = 1);
  WeightId vector(const std::string& tensor, uint32_t n);
  WeightId vector_slice(const std::string& tensor, uint32_t tensor_values, uint32_t n, RowSlice which);
  // A small tensor read now, as numbers (rope factors); marks it used.
  Result<std::vector<float>> read_vector(const std::string& tensor, uint32_t n);
  void ignore(const std::string& tensor) { used_.insert(tensor); }  // known, and not needed

  // ---- operations; `name` is the tensor's or the role's: it names the step in reports
  void set_layer(int32_t layer) { layer_ = layer; }
  int32_t layer() const { return layer_; }
  std::string block(std::string_view name) const { return fmt::format("blk.{}.{}", layer_, name); }

  ValueId embed(const std::string& tensor, uint32_t vocabulary, uint32_t width);
  ValueId hidden_in(uint32_t width);
  // The same of `rows` rows by another index; named after the tensor.
  ValueId embed_by(EmbedIndex index, const std::string& tensor, uint32_t rows, uint32_t width);
  ValueId gather_rows(ValueId x, const std::string& name);
  ValueId pool(PoolKind kind, ValueId x, const std::string& name);
  ValueId rms_norm(ValueId x, const std::string& tensor, float eps);
  ValueId plain_rms_norm(ValueId x, float eps, const std::string& name);  // without a weight
  // tensor "": no weight. `own`: a weight for each head.
  ValueId head_norm(ValueId x, const std::string& tensor, uint32_t heads, float eps, bool own = false);
  // name.weight, and name.bias where the file has it
  ValueId layer_norm(ValueId x, const std::string& name, float eps, uint32_t heads = 1);
  // W·x + bias where the file has `name`.bias; the matrix is `name`.weight
  ValueId linear(ValueId x, const std::string& name, uint32_t rows);
  // The same of a slice of the rows of `tensor`.weight, which has `tensor_rows`; a bias is sliced alike.
  ValueId linear_slice(ValueId x, const std::string& tensor, uint32_t tensor_rows, uint32_t rows,
                       RowSlice which, const std::string& name);
  // name.weight: [in, out, heads]
  ValueId head_linear(ValueId x, const std::string& name, uint32_t heads, uint32_t out);
  ValueId head_linear_slice(ValueId x, const std::string& tensor, uint32_t tensor_rows, uint32_t heads,
                            uint32_t out, RowSlice which, const std::string& name);
  ValueId concat(ValueId a, ValueId b, uint32_t heads, const std::string& name);
  ValueId slice_columns(ValueId x, uint32_t begin, uint32_t n, const std::string& name);
  ValueId moe_route(ValueId logits, RouteAttrs attrs, const std::string& selection_bias,
                    const std::string& expert_scale,
                    const std::string& name);  // tensors: "" if there is none
  // name.weight is [in, out, experts]; name.bias where the file has it
  ValueId moe_linear(ValueId x, ValueId route, const std::string& name, uint32_t out, ExpertAttrs attrs);
  ValueId moe_linear_slice(ValueId x, ValueId route, const std::string& tensor, uint32_t tensor_rows,
                           uint32_t out, RowSlice which, ExpertAttrs attrs, const std::string& name);
  // shared, gate: −1 if there is none
  ValueId moe_combine(ValueId slots, ValueId route, ValueId shared, ValueId gate, ExpertAttrs attrs,
                      const std::string& name);
  ValueId conv1d(ValueId u, const std::string& name,
                 ConvAttrs attrs);  // name.weight, name.bias if there is one
  ValueId delta_net(ValueId qkv, ValueId b, ValueId a, const std::string& decay, const std::string& dt_bias,
                    DeltaAttrs attrs, const std::string& name);
  ValueId ssm_scan(ValueId xbc, ValueId dt, const std::string& decay, const std::string& skip,
                   const std::string& dt_bias, SsmAttrs attrs, const std::string& name);
  // Its bias is output.bias, where the file has it.
  ValueId lm_head(ValueId x, const std::string& tensor, uint32_t vocabulary);
  ValueId act(ActKind kind, ValueId x, const std::string& name);
  ValueId act_mul(ActKind kind, ValueId gate, ValueId up, const std::string& name);
  ValueId rope_table(RopeTableAttrs attrs, const std::string& name);
  ValueId rope(ValueId x, ValueId table, RopeAttrs attrs, const std::string& name);
  void kv_write(ValueId k, ValueId v, KvAttrs attrs, const std::string& name);  // v: −1 if v_dim is 0
  // sinks: the tensor of attrs.sinks
  ValueId attention(ValueId q, AttentionAttrs attrs, const std::string& name, const std::string& sinks = "");
  ValueId add(ValueId a, ValueId b, const std::string& name);
  ValueId scale(ValueId x, float factor, const std::string& name);
  ValueId softcap(ValueId x, float cap, const std::string& name);

  uint32_t width(ValueId v) const { return graph_->values[static_cast<size_t>(v)].width; }
  uint32_t add_group(MemoryGroup group);
  MemoryGroup& group(uint32_t i) { return graph_->groups[i]; }
  uint32_t groups() const { return static_cast<uint32_t>(graph_->groups.size()); }
  uint32_t add_group_layer(uint32_t group, KvLayer layer);    // index of the layer within the group
  uint32_t add_group_state(uint32_t group, uint32_t values);  // likewise

  // What comes from here on is a graph of its own, which shares weights and memory with those before it.
  void begin_draft();

  void fail_with(Error error);
  // Checks that every tensor of the file was used, validates the graphs: the trunk, then the drafts.
  Result<std::vector<std::shared_ptr<const Graph>>> finish();
  bool failed() const { return !fault_.message.empty(); }

  // Of the graph under construction: one of the first two is set by the description.
  ValueId logits = -1, embeddings = -1, hidden = -1;

 private:
  ValueId value(const std::string& name, Rows rows, uint32_t width);
  ValueId emit(OpKind kind, const std::string& name, std::vector<ValueId> in, Rows rows, uint32_t width,
               std::vector<WeightId> weights = {}, Attrs attrs = {});
  Rows rows_of(ValueId v) const { return graph_->values[static_cast<size_t>(v)].rows; }
  WeightId weight(const std::string& tensor, WeightKind kind, uint32_t tensor_rows, uint32_t rows,
                  uint32_t cols, RowSlice which = {}, uint32_t planes = 1);

  const gguf::File& file_;
  std::string architecture_;
  OutputSpec output_;
  Wishes* wishes_;
  void end_graph();

  std::shared_ptr<Graph> graph_;                // under construction
  std::vector<std::shared_ptr<Graph>> before_;  // those that are described
  std::set<std::string> used_;
  int32_t layer_ = -1;
  Error fault_;
};

}  // namespace brass
