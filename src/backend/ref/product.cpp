// Matrix products, and the quantization of their inputs.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/ref/operations.h"
#include "base/check.h"

namespace brass::ref {
namespace {

constexpr uint32_t kBlockRows = 16;  // weight rows that are decoded together
constexpr uint32_t kGroup = 32;      // values under one scale of a quantized activation
constexpr float kSecondTerm = 256;   // of its second codes make one of the first

struct Input {
  const float* data;  // [n][stride], zeros past the width
  size_t stride;
  uint32_t n;
};

// Rows of `stride` values, zeros past the width. Returns their number.
uint32_t read_rows(const Run& run, ValueId v, size_t stride, std::vector<float>& to) {
  if (!run.plan.plan().value(v).quantized()) {
    const RowsView x = run.plan.rows(v, run.batch);
    to.assign(x.n * stride, 0.0f);
    for (uint32_t t = 0; t < x.n; t++) std::copy_n(x.row(t), x.width, to.data() + t * stride);
    return x.n;
  }
  const QuantizedView x = run.plan.quantized(v, run.batch);
  to.assign(x.n * stride, 0.0f);
  for (uint32_t t = 0; t < x.n; t++)
    for (uint32_t k = 0; k < x.width; k++) {
      auto code = static_cast<float>(x.codes[t * x.code_stride + k]);
      if (x.seconds != nullptr) code += static_cast<float>(x.seconds[t * x.code_stride + k]) / kSecondTerm;
      to[t * stride + k] = code * x.scale[t * x.scale_stride + k / kGroup];
    }
  return x.n;
}

Input padded_input(const Run& run, const Op& op) {
  const size_t stride = (run.plan.plan().value(op.in[0]).width + kLanes - 1) / kLanes * kLanes;
  const uint32_t n = read_rows(run, op.in[0], stride, run.scratch.input);
  return {run.scratch.input.data(), stride, n};
}

// sums[row][token] of the rows [first, first + count) with all inputs.
void product_block(const Run& run, const LoadedWeight& w, const Input& x, uint32_t first, uint32_t count,
                   uint32_t worker) {
  std::vector<float>& rows = run.scratch.floats[worker];
  std::vector<double>& sums = run.scratch.doubles[worker];
  rows.assign(count * x.stride, 0.0f);
  sums.assign(size_t{count} * x.n, 0.0);
  for (uint32_t r = 0; r < count; r++) w.decode_row(first + r, rows.data() + r * x.stride);
  for (size_t k = 0; k < x.stride; k += kPanel) {
    const auto n = static_cast<uint32_t>(std::min<size_t>(kPanel, x.stride - k));
    run.loops.dots(rows.data() + k, x.stride, count, x.data + k, x.stride, x.n, n, sums.data(), x.n);
  }
}

// `seconds`: null for one term.
void quantize_row(const float* x, uint32_t width, int8_t* codes, int8_t* seconds, size_t code_stride,
                  float* scale, float* sum) {
  std::memset(codes, 0, code_stride);
  if (seconds != nullptr) std::memset(seconds, 0, code_stride);
  for (uint32_t begin = 0; begin < width; begin += kGroup) {
    const uint32_t end = std::min(begin + kGroup, width);
    float largest = 0;
    bool finite = true;
    for (uint32_t i = begin; i < end; i++) {
      largest = std::max(largest, std::fabs(x[i]));
      finite = finite && std::isfinite(x[i]);
    }
    // What is not finite must stay so: codes of 0 under a scale of NaN.
    const float d = finite ? largest / 127.0f : std::numeric_limits<float>::quiet_NaN();
    const float inverse = finite && largest > 0 ? 127.0f / largest : 0.0f;
    int total = 0;
    for (uint32_t i = begin; finite && i < end; i++) {
      // Magnitudes near the smallest float have no finite inverse: clamp what comes of it.
      const float exact = x[i] == 0 ? 0 : std::clamp(x[i] * inverse, -127.0f, 127.0f);
      const float code = std::nearbyint(exact);
      codes[i] = static_cast<int8_t>(code);
      if (seconds != nullptr)
        seconds[i] =
            static_cast<int8_t>(std::clamp(std::nearbyint((exact - code) * kSecondTerm), -127.0f, 127.0f));
      total += codes[i];
    }
    scale[begin / kGroup] = d;
    sum[begin / kGroup] = d * static_cast<float>(total);
  }
}

}  // namespace

std::vector<float> plain_rows(const Run& run, ValueId v) {
  std::vector<float> rows;
  read_rows(run, v, run.plan.plan().value(v).width, rows);
  return rows;
}

void run_product(const Run& run, const Op& op) {
  const LoadedWeight& w = run.weight(op, 0);
  const RowsView y = run.out(op);
  const Input x = padded_input(run, op);
  const float* bias = op.as<LinearAttrs>().bias ? run.weight(op, 1).vector.data() : nullptr;
  run.workers.run((w.rows + kBlockRows - 1) / kBlockRows, [&](uint32_t block, uint32_t worker) {
    const uint32_t first = block * kBlockRows;
    const uint32_t count = std::min(kBlockRows, w.rows - first);
    product_block(run, w, x, first, count, worker);
    const double* sums = run.scratch.doubles[worker].data();
    for (uint32_t t = 0; t < x.n; t++)
      for (uint32_t r = 0; r < count; r++) {
        const double sum = sums[size_t{r} * x.n + t];
        y.row(t)[first + r] =
            static_cast<float>(bias == nullptr ? sum : sum + static_cast<double>(bias[first + r]));
      }
  });
}

void run_head_product(const Run& run, const Op& op) {
  const LoadedWeight& w = run.weight(op, 0);
  const RowsView y = run.out(op);
  const std::vector<float> x = plain_rows(run, op.in[0]);
  const uint32_t heads = op.as<HeadLinearAttrs>().heads, out = w.rows / heads;
  run.workers.run(w.rows, [&](uint32_t row, uint32_t worker) {
    std::vector<float>& values = run.scratch.floats[worker];
    values.resize(w.cols);
    w.decode_row(row, values.data());
    for (uint32_t t = 0; t < y.n; t++) {
      const float* from = x.data() + (size_t{t} * heads + row / out) * w.cols;
      double sum = 0;
      for (uint32_t k = 0; k < w.cols; k++)
        sum += static_cast<double>(values[k]) * static_cast<double>(from[k]);
      y.row(t)[row] = static_cast<float>(sum);
    }
  });
}

void run_quant_act(const Run& run, const Op& op) {
  const RowsView x = run.in(op, 0);
  const QuantizedView q = run.plan.quantized(op.out[0], run.batch);
  run.workers.run(x.n, [&](uint32_t t, uint32_t) {
    const size_t at = t * q.code_stride;
    quantize_row(x.row(t), x.width, q.codes + at, q.seconds == nullptr ? nullptr : q.seconds + at,
                 q.code_stride, q.scale + t * q.scale_stride, q.sum + t * q.scale_stride);
  });
}

}  // namespace brass::ref
