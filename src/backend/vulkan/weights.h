// The weights of a model on the GPU.
//
// Owns: their buffers and where each thing lies in them. Must not know: plans, steps. Invariants: weights lie as in the
// file, each tensor once, whatever slices of it are read (Q6_K's and Q8_0's blocks apart, so that their words are whole);
// vectors are f32.
#pragma once

#include <map>

#include "backend/vulkan/context.h"

namespace brass::vulkan {

struct GpuWeight {
  uint64_t address = 0;
  uint64_t grid = 0;  // of a format with a code book
  uint32_t row_bytes = 0;
  bool fits_halves = true;  // a matrix that may be computed with as f16
};

// Where everything lies that weights and rotations need, known from the graphs alone.
struct WeightLayout {
  struct Place {
    uint32_t chunk;
    uint64_t at;  // bytes from the chunk's begin
  };
  std::vector<uint64_t> chunks;  // bytes
  std::vector<Place> weights;    // [weight]; slices of a tensor lie at one place
  std::map<Type, Place> grids;
  std::map<std::vector<float>, Place> frequencies;  // of each rotation
};
// The graphs have one list of weights. Errors: a type that cannot be read.
Result<WeightLayout> lay_out_weights(std::span<const Graph* const> graphs);

class Weights {
 public:
  Result<> upload(const Context& context, std::span<const Graph* const> graphs, bool check_finite,
                  const Progress& progress, const std::function<void(const Weight&)>& release);
  // Nothing is uploaded: places alone, counted from 0, for lowering without running.
  Result<> outline(const Graph& graph);
  const GpuWeight& operator[](WeightId i) const { return weights_[static_cast<size_t>(i)]; }
  size_t size() const { return weights_.size(); }
  // Of a rotation of the graphs.
  uint64_t frequencies(const std::vector<float>& inv_freq) const;

 private:
  uint64_t address(const WeightLayout::Place& place) const {
    return chunks_.empty() ? place.at : chunks_[place.chunk].address() + place.at;
  }
  Result<> write(const Context& context, const WeightLayout::Place& place, std::span<const std::byte> bytes);
  Result<> write_blocks(const Context& context, WeightLayout::Place place, std::span<const std::byte> blocks,
                        const Format& format, const std::function<void(uint64_t)>& done);
  WeightLayout layout_;
  std::vector<Buffer> chunks_;
  std::vector<GpuWeight> weights_;
};

}  // namespace brass::vulkan
