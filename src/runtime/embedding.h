// Embeddings of texts given as token ids.
//
// Owns: putting many texts through an engine whose graph makes embeddings. Must not know: text, clients, formats.
// Invariants: the embedding of a text is the same bits whatever else is embedded with it; the engine has no
// sequences of its own before and after.
#pragma once

#include "runtime/engine.h"

namespace brass {

struct Embedding {
  uint32_t rows, width;       // one row a text, or one a token where nothing is pooled
  std::vector<float> values;  // [rows][width]
  std::span<const float> row(uint32_t i) const { return std::span(values).subspan(size_t{i} * width, width); }
};

// Sequences that an engine for embeddings is opened with: texts that share a step, as memory allows.
uint32_t embedding_sequences(uint32_t context, size_t texts);

// In order of the texts. Fails when a text is empty, longer than the context, holds an id out of range, or when its
// embedding is not finite: the message names it by its number, from 0.
Result<std::vector<Embedding>> embed(Engine& engine, std::span<const std::vector<int32_t>> texts);

}  // namespace brass
