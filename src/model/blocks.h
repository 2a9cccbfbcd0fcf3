// Parts that many architectures share, in general form.
#pragma once

#include <functional>

#include "model/builder.h"
#include "model/rope_scaling.h"

namespace brass {

// ---- hyper-parameters

// Those that every decoder-only transformer's file has.
struct DecoderParams {
  uint32_t layers = 0;  // without those that predict further tokens (nextn), which follow them in the file
  uint32_t nextn = 0;
  uint32_t width = 0, context = 0, vocabulary = 0;
  std::vector<uint32_t> heads, kv_heads, ff;  // one a layer, nextn included; 0 only where DecoderForm says so
  uint32_t k_dim = 0, v_dim = 0;              // of a head
  float eps = 0;
};
// What a family's file may lack.
struct DecoderForm {
  bool no_attention = false;  // layers without heads: 0 in head_count and head_count_kv, or no such keys
  bool no_ffn = false;        // layers without a feed-forward part: 0 in feed_forward_length, or no such key
};
Result<DecoderParams> read_decoder(Builder& b, const DecoderForm& form = {});

// Blocks behind the trunk, for speculation: known by their place, and not part of this graph. (Where they are wanted:
// draft.h.)
void ignore_nextn(Builder& b, const DecoderParams& p);

// A mixture of experts in a file of a dense architecture is another variant: refused by name.
Result<> refuse_experts(Builder& b);

// ---- norms

enum class NormKind : uint8_t { kRms, kLayer };
// name.weight, and name.bias if a layer norm has one.
ValueId norm(Builder& b, ValueId x, NormKind kind, const std::string& name, float eps);

// ---- attention

enum class QkNorm : uint8_t {
  kNone,
  kHead,   // RMS on each head, one weight for all of them
  kWide,   // RMS over all heads together
  kLayer,  // layer norm on each head, a weight for each of them
};

struct AttentionBlock {
  uint32_t heads = 0, kv_heads = 0, k_dim = 0, v_dim = 0;
  float scale = 1;  // of the logits
  float softcap = 0;
  uint32_t group = 0;  // memory group of this layer
  int32_t window = 0;
  bool causal = true;
  ValueId rope = -1;  // table; −1: no rotation
  uint32_t n_rot = 0;
  bool neox = false;
  QkNorm qk_norm = QkNorm::kNone;
  bool norm_after_rope = false;
  bool gated = false;  // attn_q holds query | gate of each head; the output · sigmoid(gate)
  bool sinks = false;  // attn_sinks.weight
  float temperature = 0;
  uint32_t temperature_length = 0;
  float eps = 0;
};
// A block of the file's hyper-parameters: scale, rotated dimensions, their table, eps, attention.causal, and a memory
// group that keeps everything. Heads are left to each layer.
Result<AttentionBlock> read_attention(Builder& b, const DecoderParams& p, bool neox,
                                      const RopeForm& rope = {});

// attn_q, attn_k, attn_v (or slices of attn_qkv), norm, rotation, cache, attention, gate, attn_output; biases where
// the file has them. `last`: keeps only the rows whose logits are wanted, from the attention's output on.
ValueId attention_block(Builder& b, ValueId x, const AttentionBlock& a, bool last);

// Layers that keep a window of positions only.
struct Windows {
  int32_t window = 0;  // 0: no layer has one
  uint32_t group = 0;
  std::vector<bool> windowed;
  // Gives the layer its window. Whether it has one.
  bool apply(AttentionBlock& a, uint32_t layer) const;
};
// attention.sliding_window (where absent: `usual`; 0: none), and which layers have it: what
// attention.sliding_window_pattern says, one flag a layer or a period whose last layer keeps everything; else
// `period`.
Result<Windows> read_windows(Builder& b, const DecoderParams& p, uint32_t period, uint32_t usual = 0);

// ---- feed-forward

// ffn_down · (act(ffn_gate · x) · (ffn_up · x)). Without ffn_gate, ffn_up holds gate | up.
ValueId gated_ffn(Builder& b, ValueId x, uint32_t ff, ActKind act);
// ffn_down · act(ffn_up · x)
ValueId ungated_ffn(Builder& b, ValueId x, uint32_t ff, ActKind act);

// ---- the whole

enum class Placement : uint8_t {
  kPre,       // x += mixer(norm(x)); x += ffn(norm(x))
  kPost,      // x += norm(mixer(x)); x += norm(ffn(x))
  kBoth,      // norms before and after each
  kParallel,  // x += mixer(norm(x)) + ffn(norm(x)), of the same x
};

// A decoder between the embedding and the head. Norms behind the halves of a block are post_attention_norm and
// post_ffw_norm.
struct Decoder {
  AttentionBlock attention = {};
  std::function<void(AttentionBlock&, uint32_t layer)> vary = {};  // what differs from layer to layer
  ActKind act = ActKind::kSilu;
  bool gated_ffn = true;
  NormKind norm = NormKind::kRms;
  Placement placement = Placement::kPre;
  std::string_view attn_norm = "attn_norm",
                   ffn_norm = "ffn_norm";  // those before; may be the same if parallel
  std::string_view output_norm = "output_norm";
  float embedding_scale = 1, residual_scale = 1, logit_scale = 1;
  float logit_softcap = 0;
  // In place of the attention, and of the feed-forward part. The mixer gathers rows where `last` says so.
  std::function<ValueId(ValueId x, uint32_t layer, bool last)> mixer = {};
  std::function<ValueId(ValueId x, uint32_t layer)> ffn = {};
};
void decoder(Builder& b, const DecoderParams& p, const Decoder& d);
// One layer of it. `last`: keeps only the rows whose output is wanted.
ValueId decoder_layer(Builder& b, const DecoderParams& p, const Decoder& d, ValueId x, uint32_t layer,
                      bool last);

// ---- the end

// Whether the last layer makes only the rows whose output is wanted: not where all of them are pooled, or where a draft
// goes on from them.
bool drops_rows(const Builder& b);
// Embeddings of x, which are T rows where they are pooled, else R.
void embedding_output(Builder& b, ValueId x);
// Of x behind the last norm, what the model was loaded for: embeddings; or logits by the output matrix (the
// embedding's, where the file ties them), · scale, capped where softcap > 0; for drafts, x as the hidden rows, too.
struct LogitForm {
  float scale = 1, softcap = 0;
};
void decoder_output(Builder& b, ValueId x, uint32_t vocabulary, const LogitForm& form = {});

}  // namespace brass
