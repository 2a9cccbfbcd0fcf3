// Models of exact shapes with random weights, for tests and benchmarks.
//
// Owns: filling tensors. Must not know: any architecture: names, shapes and metadata are handed in.
// Invariants: the same spec gives the same file, byte for byte, on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gguf/writer.h"

namespace brass::gguf {

struct SynthTensor {
  std::string name;
  std::vector<uint64_t> dims;  // in values; dims[0] is the row length
  Type type = Type::F32;
  float magnitude = 0;  // of typical values; 0: the spec's
  float offset = 0;     // added to every value; F32 only (norm weights are 1 + noise)
};

struct SynthSpec {
  std::string architecture;                                 // general.architecture
  std::vector<std::pair<std::string, MetaValue>> metadata;  // written after it, in this order
  std::vector<SynthTensor> tensors;
  uint64_t seed = 1;
  float magnitude = 0.02f;
  // Values repeat after some megabytes of a format: files of gigabytes in seconds, where only sizes matter.
  bool pooled = false;
  bool hollow = false;  // no values: zeros that take no room on the disk, for what asks for sizes alone
};

// Errors: as Writer::write; a tensor whose type is not one of all_formats(); an offset on a tensor that is
// not F32.
Result<> synthesize(const SynthSpec& spec, const std::string& path);

}  // namespace brass::gguf
