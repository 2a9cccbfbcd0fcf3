// validate() names each fault; a graph without one passes.
#include <gtest/gtest.h>

#include "graph_builder.h"

namespace brass {
namespace {

std::string fault(const Graph& graph) {
  const Result<> valid = graph.validate();
  return valid ? "" : valid.error().message;
}

// A good model with one thing changed.
class Validate : public testing::Test {
 protected:
  Validate() {
    TinyModel model = qwen_like();
    model.tied = false;
    graph_ = build_tiny(model);
  }

  Op& op(std::string_view name) {
    for (Op& o : graph_->ops)
      if (o.name == name) return o;
    ADD_FAILURE() << "no operation " << name;
    return graph_->ops[0];
  }
  Weight& weight_of(std::string_view name, size_t i = 0) {
    return graph_->weights[static_cast<size_t>(op(name).weights[i])];
  }
  Value& out_of(std::string_view name) { return graph_->values[static_cast<size_t>(op(name).out[0])]; }
  void expect(std::string_view text) const { EXPECT_EQ(fault(*graph_), text); }

  std::shared_ptr<OwnedGraph> graph_;
};

TEST_F(Validate, GoodModels) {
  for (const TinyModel& model :
       {plain_model(), qwen_like(), gemma_like(), encoder_like(), ragged_model(), small_model()})
    EXPECT_EQ(fault(*build_tiny(model)), "");
}

TEST_F(Validate, ReadsBeforeMade) {
  std::swap(graph_->ops[2], graph_->ops[3]);
  expect("blk.0.attn_q (linear): reads a value that is not made before it");
}

TEST_F(Validate, NoSuchValue) {
  op("blk.0.attn_q").in[0] = 9999;
  expect("blk.0.attn_q (linear): reads a value that is not made before it");
  op("blk.0.attn_q").in[0] = -1;
  expect("blk.0.attn_q (linear): reads a value that is not made before it");
}

TEST_F(Validate, MadeTwice) {
  op("blk.0.attn_k").out[0] = op("blk.0.attn_q").out[0];
  expect("blk.0.attn_k (linear): makes a value twice");
}

TEST_F(Validate, NoLogits) {
  graph_->logits = -1;
  expect("the graph makes neither logits nor embeddings");
  graph_->logits = static_cast<ValueId>(graph_->values.size());
  expect("the graph makes no logits");
  graph_->values.push_back({"unmade", Rows::kR, 8});
  expect("the graph makes no logits");
}

TEST_F(Validate, BothOutputs) {
  graph_->embeddings = graph_->logits;
  expect("the graph makes both logits and embeddings");
}

TEST_F(Validate, AWindowIsCausal) {
  Op& attention = op("blk.0.attention");
  std::get<AttentionAttrs>(attention.attrs).causal = false;
  EXPECT_EQ(fault(*graph_), "");
  std::get<AttentionAttrs>(attention.attrs).window = 20;
  expect("blk.0.attention (attention): window of attention that is not causal is 20, expected 0");
}

TEST_F(Validate, CountsOfOperands) {
  op("blk.0.ffn_act").in.pop_back();
  expect("blk.0.ffn_act (act_mul): has 1 inputs, 1 outputs, 0 weights");
}

TEST_F(Validate, BiasWithoutATensor) {
  op("blk.0.attn_q").weights.pop_back();
  expect("blk.0.attn_q (linear): has 1 inputs, 1 outputs, 1 weights");
}

TEST_F(Validate, NoSuchWeight) {
  op("blk.0.attn_q").weights[0] = 9999;
  expect("blk.0.attn_q (linear): has no weight 9999");
}

TEST_F(Validate, AttributesOfAnotherKind) {
  op("blk.0.attn_q").attrs = NormAttrs{1e-5f};
  expect("blk.0.attn_q (linear): has the attributes of another operation");
}

TEST_F(Validate, EmbeddingRowLength) {
  out_of("embed").width = 128;
  expect("embed (embed): row length of 'token_embd' is 256, expected 128");
}

TEST_F(Validate, ProductShapes) {
  weight_of("blk.0.ffn_down").cols = 256;
  expect("blk.0.ffn_down (linear): row length of 'blk.0.ffn_down' is 256, expected 512");
  weight_of("blk.0.ffn_down").cols = 512;
  weight_of("blk.0.ffn_down").rows = 255;
  expect("blk.0.ffn_down (linear): row count of 'blk.0.ffn_down' is 255, expected 256");
}

TEST_F(Validate, BiasLength) {
  weight_of("blk.0.attn_q", 1).cols = 255;
  expect("blk.0.attn_q (linear): tensor 'blk.0.attn_q.bias' has 255 values, expected 256");
}

TEST_F(Validate, GainLengthAndKind) {
  weight_of("blk.1.ffn_norm").cols = 255;
  expect("blk.1.ffn_norm (rms_norm): tensor 'blk.1.ffn_norm' has 255 values, expected 256");
  weight_of("blk.1.ffn_norm").cols = 256;
  weight_of("blk.1.ffn_norm").kind = WeightKind::kMatrix;
  expect("blk.1.ffn_norm (rms_norm): tensor 'blk.1.ffn_norm' has 256 values, expected 256");
}

TEST_F(Validate, BytesOfTensors) {
  Weight& w = weight_of("blk.0.ffn_down");
  w.data = w.data.first(w.data.size() - 1);
  expect("blk.0.ffn_down (linear): tensor 'blk.0.ffn_down' has 139263 bytes, expected 139264");
}

TEST_F(Validate, RowsOfWholeBlocks) {
  Weight& w = weight_of("blk.0.attn_q");
  w.cols = 250;
  expect("blk.0.attn_q (linear): row length of 'blk.0.attn_q' is 250, expected 256");
  GraphBuilder b;
  const WeightId odd = b.weight("odd", WeightKind::kMatrix, Type::Q8_0, 2, 40, std::vector<std::byte>(85));
  const auto graph = b.finish(b.op(OpKind::kEmbed, "embed", {}, Rows::kT, 40, {odd}));
  EXPECT_EQ(fault(*graph), "embed (embed): tensor 'odd' has rows of 40 values, not of whole Q8_0 blocks");
}

TEST_F(Validate, TypesThatHoldNoNumbers) {
  weight_of("embed").type = Type::I32;
  expect("embed (embed): tensor 'token_embd' is of type 26, known are " + supported_format_names());
}

TEST_F(Validate, HeadNorm) {
  std::get<NormAttrs>(op("blk.0.q_norm").attrs).heads = 3;
  expect("blk.0.q_norm (head_norm): width mod heads is 1, expected 0");
  std::get<NormAttrs>(op("blk.0.q_norm").attrs).heads = 0;
  expect("blk.0.q_norm (head_norm): heads is 0, expected 1 or more");
  std::get<NormAttrs>(op("blk.0.q_norm").attrs).heads = 8;
  expect("blk.0.q_norm (head_norm): tensor 'blk.0.q_norm' has 64 values, expected 32");
}

TEST_F(Validate, Rope) {
  std::get<RopeAttrs>(op("blk.0.q_rope").attrs).heads = 5;
  expect("blk.0.q_rope (rope): width is 256, expected 320");
  std::get<RopeAttrs>(op("blk.0.q_rope").attrs) = {.heads = 8, .head_dim = 32, .n_rot = 64, .neox = true};
  expect("blk.0.q_rope (rope): n_rot is 64, expected at most 32");
  std::get<RopeAttrs>(op("blk.0.q_rope").attrs) = {.heads = 4, .head_dim = 64, .n_rot = 32, .neox = true};
  expect("blk.0.q_rope (rope): table width is 64, expected 32");
  std::get<RopeTableAttrs>(op("rope_table").attrs).inv_freq.pop_back();
  expect("rope_table (rope_table): table width is 64, expected 62");
}

TEST_F(Validate, KvWriteFitsItsLayer) {
  std::get<KvAttrs>(op("blk.0.kv_write").attrs).heads = 3;
  expect("blk.0.kv_write (kv_write): width of k is 128, expected 192");
  std::get<KvAttrs>(op("blk.0.kv_write").attrs).heads = 2;
  std::get<KvAttrs>(op("blk.0.kv_write").attrs).v_dim = 32;
  expect("blk.0.kv_write (kv_write): width of v is 128, expected 64");
}

TEST_F(Validate, MemoryThatIsNotThere) {
  std::get<KvAttrs>(op("blk.0.kv_write").attrs).group = 1;
  expect("blk.0.kv_write (kv_write): there is no group 1");
  std::get<KvAttrs>(op("blk.0.kv_write").attrs).group = 0;
  std::get<KvAttrs>(op("blk.0.kv_write").attrs).layer = 2;
  expect("blk.0.kv_write (kv_write): group 'kv' has no layer 2");
  std::get<KvAttrs>(op("blk.0.kv_write").attrs).layer = 0;
  graph_->groups[0].layers[0].v_dim = 63;
  expect("blk.0.kv_write (kv_write): v_dim of the layer's memory is 63, expected 64");
  graph_->groups[0].layers[0] = {1, 64, 64};
  expect("blk.0.kv_write (kv_write): heads of the layer's memory is 1, expected 2");
}

TEST_F(Validate, Attention) {
  std::get<AttentionAttrs>(op("blk.0.attention").attrs).q_heads = 3;
  expect("blk.0.attention (attention): width of q is 256, expected 192");
  std::get<AttentionAttrs>(op("blk.0.attention").attrs).q_heads = 4;
  std::get<AttentionAttrs>(op("blk.0.attention").attrs).kv_heads = 3;
  expect("blk.0.attention (attention): q heads mod kv heads is 1, expected 0");
  std::get<AttentionAttrs>(op("blk.0.attention").attrs).kv_heads = 0;
  expect("blk.0.attention (attention): kv heads is 0, expected 1 or more");
  std::get<AttentionAttrs>(op("blk.0.attention").attrs).kv_heads = 4;
  expect("blk.0.attention (attention): heads of the layer's memory is 2, expected 4");
}

TEST_F(Validate, WidthsOfElementwiseOperations) {
  out_of("blk.0.ffn_residual").width = 255;
  expect("blk.0.ffn_residual (add): width of the output is 255, expected 256");
}

TEST_F(Validate, ActivationOfTwoWidths) {
  op("blk.0.ffn_act").in[1] = op("blk.0.attn_q").out[0];
  expect("blk.0.ffn_act (act_mul): width of the second input is 256, expected 512");
}

TEST_F(Validate, Candidates) {
  const Value logits = graph_->values[static_cast<size_t>(graph_->logits)];
  graph_->values.push_back({.name = "candidates", .rows = logits.rows, .width = 80});
  graph_->ops.push_back({.kind = OpKind::kChoose,
                         .name = "choose",
                         .in = {graph_->logits},
                         .out = {static_cast<ValueId>(graph_->values.size() - 1)},
                         .attrs = ChooseAttrs{40}});
  expect("");
  std::get<ChooseAttrs>(op("choose").attrs).candidates = 0;
  expect("choose (choose): width of the output is 80, expected 1");
  std::get<ChooseAttrs>(op("choose").attrs).candidates = kMostCandidates + 1;
  expect("choose (choose): candidates is 129, expected at most 128");
}

TEST_F(Validate, RowKinds) {
  out_of("blk.0.attn_q").rows = Rows::kR;
  expect("blk.0.attn_q (linear): rows of the output are R, expected T");
  out_of("blk.0.attn_q").rows = Rows::kT;
  out_of("last").rows = Rows::kT;
  expect("last (gather_rows): rows of the output are T, expected R");
  out_of("last").rows = Rows::kR;
  op("blk.1.ffn_residual").in[1] = op("embed").out[0];
  expect("");
  out_of("embed").rows = Rows::kR;
  expect("embed (embed): rows of the output are R, expected T");
}

}  // namespace
}  // namespace brass
