// A model file described: the graph of its architecture, its hyper-parameters for people, its vocabulary.
//
// Owns: reading a GGUF file into a Graph, by the architecture's own description (arch/<name>.cpp).
// Must not know: phases, devices, sessions, how text becomes tokens.
// Invariants: a loaded model uses every tensor of its file (an unknown one means a variant that is not
// described, and is an error); every hyper-parameter was checked; weights' bytes are the file's mapping,
// which the Model keeps alive.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/vocab_spec.h"
#include "gguf/gguf.h"
#include "graph/graph.h"
#include "model/builder.h"

namespace brass {

struct ModelInfo {
  std::string architecture;
  uint32_t layers = 0, context_length = 0, embedding_length = 0, vocabulary = 0;
  std::optional<Pooling> pooling;  // what the file says: how the embeddings that it is for are made
};

// What a model is loaded for: text, or embeddings (any model can; encoders can nothing else). `draft`: text, and the
// blocks that predict further tokens (nextn, MTP); without it their tensors are left in the file.
struct ModelPurpose {
  bool embeddings = false;
  bool draft = false;
  std::optional<Pooling> pooling = {};  // in place of the file's
  bool normalize = true;                // embeddings to length 1
};

struct Model {
  std::unique_ptr<gguf::File> file;
  ModelInfo info;
  OutputSpec output;  // what the graph makes
  std::shared_ptr<const Graph> graph;
  // One for each block that predicts further tokens, where the model was loaded for them (draft.h).
  std::vector<std::shared_ptr<const Graph>> drafts;
  VocabSpec vocab;
};

// Errors name the file and the key or tensor. An unknown architecture lists those that are supported.
Result<std::unique_ptr<Model>> load_model(const std::string& path, const ModelPurpose& purpose = {});
Result<std::unique_ptr<Model>> describe_model(std::unique_ptr<gguf::File> file,
                                              const ModelPurpose& purpose = {});
// Fails where the graph makes embeddings: `what` (a command) needs logits.
Result<> need_logits(const Model& model, std::string_view what);
// Fails where a text cannot go on token by token, either.
Result<> need_decoding(const Model& model, std::string_view what);

}  // namespace brass
