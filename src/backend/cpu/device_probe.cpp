// What this machine reaches when a loop does nothing but read memory, or nothing but multiply: the ceilings that
// reports hold the real thing against.
#include <emmintrin.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "backend/cpu/device_state.h"
#include "base/rng.h"
#include "quant/random_blocks.h"

namespace brass::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPasses = 8;                // over memory; the fastest counts, since others only disturb
constexpr double kProductSeconds = 0.04;  // of one pass of products
constexpr uint32_t kRows = 128, kCols = 512, kTokens = 64;  // operands of one thread: they stay in its caches

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Larger than any cache, so that what is read comes from memory.
size_t stream_bytes() {
  const long last_level = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const size_t wanted = 4 * static_cast<size_t>(std::max(0L, last_level));
  return std::clamp<size_t>(wanted, size_t{256} << 20, size_t{2} << 30);
}

// Reads every byte; the sum keeps the compiler from leaving any out.
uint64_t read_all(const std::byte* data, size_t bytes) {
  __m128i sums[4] = {};
  const auto* at = reinterpret_cast<const __m128i*>(data);
  for (size_t i = 0; i + 8 <= bytes / 16; i += 8) {
    for (size_t j = 0; j < 8; j++) sums[j % 4] = _mm_add_epi64(sums[j % 4], _mm_load_si128(at + i + j));
  }
  const __m128i all = _mm_add_epi64(_mm_add_epi64(sums[0], sums[1]), _mm_add_epi64(sums[2], sums[3]));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(all)) +
         static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_srli_si128(all, 8)));
}

Result<double> probe_bandwidth(const State& state) {
  constexpr size_t kUnit = size_t{1} << 16;
  const size_t bytes = stream_bytes() / kUnit * kUnit;
  const Memory memory = TRY(Memory::allocate(bytes));
  const auto share = [&](uint32_t thread) {
    const Part units = part_of(static_cast<uint32_t>(bytes / kUnit), thread, state.threads());
    return std::span(memory.data() + units.begin * kUnit, (units.end - units.begin) * kUnit);
  };
  std::atomic<uint64_t> sum{0};
  auto fill = [&](uint32_t thread) { std::ranges::fill(share(thread), std::byte{1}); };
  auto read = [&](uint32_t thread) { sum += read_all(share(thread).data(), share(thread).size()); };
  state.pool->run(fill);
  double best = 0;
  for (int pass = 0; pass < kPasses; pass++) {
    const auto begin = Clock::now();
    state.pool->run(read);
    best = std::max(best, static_cast<double>(bytes) / seconds_since(begin));
  }
  ENSURE(sum.load() == uint64_t{kPasses} * (bytes / 8) * 0x0101010101010101u,
         "the probe read something else");
  return best;
}

// One thread's product of a weight of `type` with random activations.
class Product {
 public:
  static Result<Product> create(const Kernels& k, Type type) {
    Product p(k);
    const Format& format = *find_format(type);
    const size_t panel = k.panel_bytes(type, kCols), weight = panel * (kRows / kPanelRows);
    const size_t f32 = size_t{kTokens} * kCols * 4, codes = size_t{kTokens} * kCols,
                 scales = size_t{kTokens} * kScaleStride * 4;
    p.memory_ = TRY(Memory::allocate(weight + f32 + codes + 2 * scales + size_t{kTokens} * kRows * 4 +
                                     k.matmul_scratch(kTokens) + 8 * kAlign));
    std::byte* next = p.memory_.data();
    const auto take = [&](size_t bytes) { return std::exchange(next, next + round_up(bytes, kAlign)); };
    p.weight_ = {type, kRows, kCols, panel, take(weight)};
    std::vector<std::byte> file(row_bytes(format, kCols) * kRows);
    random_blocks(format, file.data(), size_t{kRows} * kCols, 1, 0.05f);
    for (uint32_t i = 0; i < kRows / kPanelRows; i++)
      k.pack(type, file.data() + i * kPanelRows * row_bytes(format, kCols), kPanelRows, kCols,
             p.weight_.data + i * panel);
    auto* x = reinterpret_cast<float*>(take(f32));
    auto* q = reinterpret_cast<int8_t*>(take(codes));
    auto *scale = reinterpret_cast<float*>(take(scales)), *sum = reinterpret_cast<float*>(take(scales));
    Rng rng(2);
    for (uint32_t t = 0; t < kTokens; t++) {
      for (uint32_t j = 0; j < kCols; j++) x[t * kCols + j] = static_cast<float>(rng.normal());
      k.quantize(x + t * kCols, kCols, q + t * kCols, nullptr, scale + t * kScaleStride,
                 sum + t * kScaleStride);
    }
    p.x_ = {.f32 = x,
            .f32_stride = kCols,
            .codes = q,
            .code_stride = kCols,
            .scale = scale,
            .sum = sum,
            .scale_stride = kScaleStride};
    p.y_ = reinterpret_cast<float*>(take(size_t{kTokens} * kRows * 4));
    p.scratch_ = take(k.matmul_scratch(kTokens));
    return p;
  }

  void run() const { kernels_->matmul(weight_, x_, kTokens, 0, kRows, y_, kRows, scratch_); }
  static constexpr double operations() { return 2.0 * kRows * kCols * kTokens; }

 private:
  static constexpr size_t kScaleStride = kCols / 32;
  explicit Product(const Kernels& k) : kernels_(&k) {}

  const Kernels* kernels_;
  Memory memory_;
  PackedWeight weight_{};
  Activations x_{};
  float* y_ = nullptr;
  std::byte* scratch_ = nullptr;
};

Result<double> probe_products(const State& state, Type type) {
  std::vector<Product> products;
  for (uint32_t i = 0; i < state.threads(); i++)
    products.push_back(TRY(Product::create(*state.kernels, type)));
  uint32_t repeats = 1;
  auto work = [&](uint32_t thread) {
    for (uint32_t i = 0; i < repeats; i++) products[thread].run();
  };
  double best = 0;
  for (int pass = 0; pass < kPasses; pass++) {
    const auto begin = Clock::now();
    state.pool->run(work);
    const double seconds = std::max(1e-9, seconds_since(begin));
    best = std::max(best, Product::operations() * repeats * state.threads() / seconds);
    if (seconds < kProductSeconds)
      repeats = static_cast<uint32_t>(std::clamp(repeats * kProductSeconds / seconds, 1.0, 1e6));
  }
  return best;
}

}  // namespace

Result<DeviceProbe> probe_device(const State& state) {
  return DeviceProbe{.bandwidth = TRY(probe_bandwidth(state)),
                     .int8_ops = TRY(probe_products(state, Type::Q4_0)),
                     .f32_ops = TRY(probe_products(state, Type::F32))};
}

}  // namespace brass::cpu
