// The register of architectures: one file in arch/ each, found by the build, named by the files'
// general.architecture.
#pragma once

#include <span>
#include <string_view>

#include "model/builder.h"

namespace brass {

struct Architecture {
  std::string_view name;    // general.architecture
  std::string_view covers;  // for people: "Llama, Mistral, …"
  // Emits the graph and its groups. Reads its own hyper-parameters; what it does not support is an error.
  Result<> (*describe)(Builder& b);
  bool embeddings_only = false;  // makes no logits, whatever the model is loaded for
};

std::span<const Architecture* const> all_architectures();
const Architecture* find_architecture(std::string_view name);

}  // namespace brass
