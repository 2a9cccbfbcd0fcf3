// What a running CPU device holds, for the files that execute its steps. Private to backend/cpu.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/device_pool.h"
#include "backend/cpu/kernels.h"
#include "backend/device.h"
#include "base/check.h"

namespace brass::cpu {

inline constexpr size_t kAlign = 64;
inline constexpr size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// Anonymous memory in huge pages where the system gives them, zero until written.
class Memory {
 public:
  Memory() = default;
  static Result<Memory> allocate(size_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

// How a layer's state lies in a page: heads of [rows][cols] in blocks of columns (kernel_types.h), of which others
// see [rows][cols], or [cols][rows] if `transposed`. No heads: as others see it.
struct StateShape {
  uint32_t heads = 0, rows = 0, cols = 0;
  bool transposed = false;
};

// Pages of one memory group. A page: for each layer, its K heads, then its V heads; or for each layer, its state.
struct Pool {
  KvType k_type, v_type;
  uint32_t pages;
  size_t page_bytes;
  std::vector<KvLayer> layers;
  std::vector<size_t> k_offset, v_offset;  // of a layer in a page
  std::vector<size_t> k_head, v_head;      // bytes of one head's page
  std::vector<uint32_t> states;            // values of each layer
  std::vector<size_t> state_offset;        // of a layer in a page
  std::vector<StateShape> shapes;          // of each layer's state
  Memory memory;

  std::byte* k(PageId page, uint32_t layer, uint32_t head) const {
    return memory.data() + static_cast<size_t>(page) * page_bytes + k_offset[layer] + head * k_head[layer];
  }
  std::byte* v(PageId page, uint32_t layer, uint32_t head) const {
    return memory.data() + static_cast<size_t>(page) * page_bytes + v_offset[layer] + head * v_head[layer];
  }
  float* state(PageId page, uint32_t layer) const {
    return reinterpret_cast<float*>(memory.data() + static_cast<size_t>(page) * page_bytes +
                                    state_offset[layer]);
  }
};

struct Run;

// A step made ready to run: what it reads and where, found once.
struct StepRunner {
  virtual ~StepRunner() = default;
  virtual void run(const Run& run, uint32_t thread) const = 0;
  virtual size_t scratch_bytes() const { return 0; }  // of one thread
};

struct State {
  const Kernels* kernels = nullptr;
  std::unique_ptr<ThreadPool> pool;
  Memory weight_memory;
  // [weight]; data null for vectors. The rows of each expert or head begin at a panel (`rows` counts the padding between).
  std::vector<PackedWeight> matrices;
  std::vector<std::vector<float>> vectors;  // [weight]; empty for matrices
  std::vector<Pool> pools;                  // [group]
  uint32_t threads() const { return pool->size(); }
};

// Rows of one sequence in a batch.
struct SequenceRun {
  uint32_t begin, end;  // rows of T
  int32_t sequence;
};

// One execution of a plan.
struct Run {
  const State& state;
  const Plan& plan;
  const Batch& batch;
  std::span<const SequenceRun> runs;
  std::byte* arena;
  std::byte* const* scratch;       // [thread]
  std::atomic<uint32_t>* counter;  // work handed out in pieces: zero at the start of every step that uses it

  uint32_t t() const { return static_cast<uint32_t>(batch.ids.size()); }
  uint32_t r() const { return static_cast<uint32_t>(batch.rows.size()); }
  uint32_t rows(ValueId v) const { return plan.value(v).rows == Rows::kT ? t() : r(); }
  std::byte* at(ValueId v, uint32_t thread) const {
    const Placed& p = plan.place(v);
    return arena + p.offset + (p.storage == Storage::kPrivate ? p.bytes * thread : 0);
  }
  float* row(ValueId v, uint32_t thread, uint32_t i) const {
    return reinterpret_cast<float*>(at(v, thread)) + size_t{i} * plan.place(v).stride;
  }
};

// Quantized value: pointers to its parts. `seconds`: null where it has one term.
struct QuantizedRows {
  int8_t *codes, *seconds;
  float *scale, *sum;
  size_t code_stride, scale_stride;

  // The same from row i and column `column`, a multiple of 32, on.
  QuantizedRows from(size_t i, size_t column) const {
    const size_t code = i * code_stride + column, group = i * scale_stride + column / 32;
    return {codes + code,  seconds == nullptr ? nullptr : seconds + code,
            scale + group, sum + group,
            code_stride,   scale_stride};
  }
  // x → columns [0, n) of the first row.
  void quantize(const Kernels& k, const float* x, uint32_t n) const {
    k.quantize(x, n, codes, seconds, scale, sum);
  }
};
// Of a value whose `rows` rows lie at `at`.
QuantizedRows quantized_parts(const Value& value, uint32_t rows, std::byte* at);
QuantizedRows quantized_rows(const Run& run, ValueId v, uint32_t thread);
// What a product reads of value v.
Activations activations(const Run& run, ValueId v, uint32_t thread);

// [begin, end) of `count` units for one of `threads`.
struct Part {
  uint32_t begin, end;
};
inline Part part_of(uint32_t count, uint32_t thread, uint32_t threads) {
  return {static_cast<uint32_t>(uint64_t{count} * thread / threads),
          static_cast<uint32_t>(uint64_t{count} * (thread + 1) / threads)};
}

// One a step; every rule and operation that the caps name has one.
std::unique_ptr<StepRunner> make_runner(const State& state, const Plan& plan, const Step& step);
std::unique_ptr<StepRunner> make_rows_runner(const State& state, const Plan& plan, const Step& step);
std::unique_ptr<StepRunner> make_pool_runner(const State& state, const Plan& plan, const Step& step);
std::unique_ptr<StepRunner> make_columns_runner(const State& state, const Plan& plan, const Step& step);
std::unique_ptr<StepRunner> make_linear_runner(const State& state, const Plan& plan, const Step& step);
std::unique_ptr<StepRunner> make_head_linear_runner(const State& state, const Plan& plan, const Step& step);
std::unique_ptr<StepRunner> make_glu_runner(const State& state, const Plan& plan, const Step& step);
std::unique_ptr<StepRunner> make_heads_runner(const State& state, const Plan& plan, const Step& step);
std::unique_ptr<StepRunner> make_experts_runner(const State& state, const Plan& plan, const Step& step);
std::unique_ptr<StepRunner> make_attention_runner(const State& state, const Plan& plan, const Step& step);
std::unique_ptr<StepRunner> make_recurrent_runner(const State& state, const Plan& plan, const Step& step);

// Recurrent layers: the state's shape of each layer of a group, the state as others see it and back, and the taps of
// every convolution of the graphs as the kernel reads them.
std::vector<StateShape> state_shapes(const Graph& graph, uint32_t group);
void export_state(const StateShape& shape, uint32_t values, const float* state, float* out);
void import_state(const StateShape& shape, uint32_t values, const float* in, float* state);
void transpose_taps(std::span<const Graph* const> graphs, std::vector<std::vector<float>>& vectors);
// device_probe.cpp
Result<DeviceProbe> probe_device(const State& state);

// A sequence's state pages may be another's only to read.
void check_states(const Batch& batch, std::span<const SequenceRun> runs, const Pool& pool);

}  // namespace brass::cpu
