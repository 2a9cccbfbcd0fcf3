// A model without its weights: metadata, the tensors that a description then asks for, and their types in a mix of
// formats. For files of a published model's true sizes where its weights cannot be had, and for plans of them.
//
// Owns: the list of wished tensors. Must not know: any architecture (the descriptions in arch/ say which tensors there
// are, so a shape can not disagree with them). Invariants: every tensor has a type that a weight of its row length can
// have; nothing of a graph made here can be executed: its weights have no bytes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf/gguf.h"
#include "gguf/writer.h"
#include "graph/graph.h"

namespace brass {

struct ShapeSpec {
  std::string architecture;
  std::vector<std::pair<std::string, gguf::MetaValue>> metadata;  // keys whole; general.architecture aside
  uint32_t vocabulary = 0;
  // Tensors that a description uses if they are there, and that are: "output.weight", "blk.*.attn_q.bias",
  // "blk.3-.ffn_gate_inp.weight" (from layer 3 on), "blk.0-2.x" (layers 0, 1, 2).
  std::vector<std::string> optional;
  // Rows of tensors whose number decides the variant (gate and up joined in one), by the same patterns.
  std::vector<std::pair<std::string, uint32_t>> rows;
};

struct ShapedTensor {
  std::string name;
  WeightKind kind = WeightKind::kMatrix;
  std::vector<uint64_t> dims;  // dims[0] is the row length
  Type type = Type::F32;
};

// What a Builder asks when there is no file of tensors.
class Wishes {
 public:
  explicit Wishes(const ShapeSpec& spec) : spec_(spec) {}

  bool offers(std::string_view tensor) const;
  uint64_t rows(std::string_view tensor) const;  // 0: not known
  // Notes a tensor that is used; says its type. The same tensor may be wished again.
  Type note(const std::string& tensor, WeightKind kind, std::vector<uint64_t> dims);

  std::vector<ShapedTensor> tensors;  // in the order of the first wish
  std::map<std::string, Type> types;  // of those that are not F32

 private:
  const ShapeSpec& spec_;
  std::map<std::string, size_t> index_;
};

struct Shaped {
  std::vector<ShapedTensor> tensors;
  std::shared_ptr<const Graph> graph;
};
// mix: see mix.h. Errors: what the description finds wrong with the metadata; a mix that is none.
Result<Shaped> describe_shape(const ShapeSpec& spec, std::string_view mix);

}  // namespace brass
