// What each operation does, one function a kind.
//
// Must not know: plans' steps, how a device is called. Each reads and writes whole values.
#pragma once

#include <vector>

#include "backend/ref/kv_pool.h"
#include "backend/ref/loops.h"
#include "backend/ref/prepared.h"
#include "backend/ref/workers.h"

namespace brass::ref {

// A weight as the operations read it: a matrix in place, a vector as f32.
struct LoadedWeight {
  const Format* format;
  uint32_t rows, cols;
  const std::byte* data;  // of the whole tensor
  RowSlice slice;
  std::vector<float> vector;  // [cols]; empty for a matrix

  void decode_row(uint32_t row, float* out) const {
    format->decode(data + slice.row(row) * row_bytes(*format, cols), out, cols);
  }
};

// Buffers that operations keep from call to call.
struct Scratch {
  std::vector<float> input;                  // a product's input rows, padded with zeros
  std::vector<std::vector<float>> floats;    // one a worker
  std::vector<std::vector<double>> doubles;  // one a worker
};

// All that an operation may touch.
struct Run {
  const Prepared& plan;
  const Batch& batch;
  const std::vector<LoadedWeight>& weights;
  std::vector<KvPool>& pools;
  Workers& workers;
  const Loops& loops;
  Scratch& scratch;

  RowsView in(const Op& op, size_t i) const { return plan.rows(op.in[i], batch); }
  RowsView out(const Op& op) const { return plan.rows(op.out[0], batch); }
  const LoadedWeight& weight(const Op& op, size_t i) const {
    return weights[static_cast<size_t>(op.weights[i])];
  }
  // The page of row t's sequence that holds `position` in a group.
  PageId page_of(uint32_t t, uint32_t group, int32_t position) const;
};

void run_op(const Run& run, const Op& op);

// In files of their own.
void run_product(const Run& run, const Op& op);       // linear, lm_head
void run_head_product(const Run& run, const Op& op);  // head_linear
void run_kv_write(const Run& run, const Op& op);
void run_attention(const Run& run, const Op& op);
void run_quant_act(const Run& run, const Op& op);
void run_experts(const Run& run, const Op& op);    // moe_route, moe_linear, moe_combine
void run_recurrent(const Run& run, const Op& op);  // conv1d, delta_net, ssm_scan
// A value as f32, whatever it is held as, [n][width].
std::vector<float> plain_rows(const Run& run, ValueId v);

double activate(ActKind kind, double x);

}  // namespace brass::ref
