// A model file described: the graph of its architecture, its hyper-parameters for people, its vocabulary.
//
// Owns: reading a GGUF file into a Graph, by the architecture's own description (arch/<name>.cpp).
// Must not know: phases, devices, sessions, how text becomes tokens.
// Invariants: a loaded model uses every tensor of its file (an unknown one means a variant that is not
// described, and is an error); every hyper-parameter was checked; weights' bytes are the file's mapping,
// which the Model keeps alive.
#pragma once

#include <memory>
#include <string>

#include "base/vocab_spec.h"
#include "gguf/gguf.h"
#include "graph/graph.h"

namespace brass {

struct ModelInfo {
  std::string architecture;
  uint32_t layers = 0, context_length = 0, embedding_length = 0, vocabulary = 0;
};

struct Model {
  std::unique_ptr<gguf::File> file;
  ModelInfo info;
  std::shared_ptr<const Graph> graph;
  VocabSpec vocab;
};

// Errors name the file and the key or tensor. An unknown architecture lists those that are supported.
Result<std::unique_ptr<Model>> load_model(const std::string& path);
Result<std::unique_ptr<Model>> describe_model(std::unique_ptr<gguf::File> file);

}  // namespace brass
