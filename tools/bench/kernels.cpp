// Speed and error of the CPU kernels, one tier at a time.
//
//   bench_kernels [--tier NAME] [--type NAME[,NAME…]] [--cols K] [--megabytes M] [--json | --attend | --recurrent]
//
// For each format and 1 and 2 threads: GB/s of packed weights at 1 and 4 tokens (a set of --megabytes, larger than the
// caches), GFLOP/s at 512 tokens and 4096 rows, and the root mean square error against the double
// product of the unquantized activations, relative. Time is CPU time of each thread, rates of threads are added, so
// that foreign load disturbs little; the best of several rounds counts.
//
// --json: one line a format, of 2 threads, in seconds of the clock on the wall: what tools/bench/kernel_table.py compares.
#include "backend/cpu/kernels.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "quant/random_blocks.h"

namespace brass::cpu {
namespace {

struct Options {
  const char* tier = nullptr;
  std::string types = "Q4_0,Q4_1,Q5_0,Q8_0,Q4_K,Q5_K,Q6_K,F16";
  uint32_t cols = 4096;
  size_t megabytes = 512;
  bool attend = false, recurrent = false;
  bool json = false;
};

double seconds_of(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double cpu_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }

struct Free {
  void operator()(void* p) const { std::free(p); }
};
template <class T>
using Buffer = std::unique_ptr<T, Free>;
template <class T>
Buffer<T> make_buffer(size_t n) {
  void* p = std::aligned_alloc(2 << 20, (n * sizeof(T) + (2 << 20) - 1) / (2 << 20) * (2 << 20));
  madvise(p, n * sizeof(T), MADV_HUGEPAGE);  // as the device does; with small pages reads are a third slower
  std::memset(p, 0, n * sizeof(T));
  return Buffer<T>(static_cast<T*>(p));
}

// Runs work(thread) on `threads` threads, `rounds` times after one that does not count (first touch of buffers); the
// best sum of amount / CPU seconds over the threads.
double rate(uint32_t threads, int rounds, double amount_each, const std::function<void(uint32_t)>& work) {
  double best = 0;
  std::vector<std::vector<double>> seconds(threads);
  std::vector<std::thread> pool;
  for (uint32_t i = 0; i < threads; ++i) {
    pool.emplace_back([&, i] {
      for (int round = 0; round <= rounds; ++round) {
        const double start = cpu_seconds();
        work(i);
        if (round > 0) seconds[i].push_back(cpu_seconds() - start);
      }
    });
  }
  for (std::thread& t : pool) t.join();
  for (int round = 0; round < rounds; ++round) {
    double sum = 0;
    for (const auto& s : seconds) sum += amount_each / s[static_cast<size_t>(round)];
    best = std::max(best, sum);
  }
  return best;
}

// Runs work(thread) as rate() does, all threads starting a round together; the shortest time from the first start to the
// last end of a round, in seconds of the wall clock.
double shortest_round(uint32_t threads, int rounds, const std::function<void(uint32_t)>& work) {
  struct Span {
    double begin, end;
  };
  std::vector<std::vector<Span>> spans(threads);
  std::barrier start(threads);
  std::vector<std::thread> pool;
  for (uint32_t i = 0; i < threads; ++i) {
    pool.emplace_back([&, i] {
      for (int round = 0; round <= rounds; ++round) {
        start.arrive_and_wait();
        const double begin = wall_seconds();
        work(i);
        if (round > 0) spans[i].push_back({begin, wall_seconds()});
      }
    });
  }
  for (std::thread& t : pool) t.join();
  double best = HUGE_VAL;
  for (size_t round = 0; round < static_cast<size_t>(rounds); ++round) {
    Span whole = spans[0][round];
    for (const auto& s : spans) {
      whole = {std::min(whole.begin, s[round].begin), std::max(whole.end, s[round].end)};
    }
    best = std::min(best, whole.end - whole.begin);
  }
  return best;
}

struct Inputs {
  uint32_t tokens, k;
  size_t code_stride;
  Buffer<float> f32, scale, sum;
  Buffer<int8_t> codes, seconds;  // seconds: where the product reads two terms

  Inputs(const Kernels& kernels, Type type, uint32_t t, uint32_t cols)
      : tokens(t),
        k(cols),
        code_stride((cols + 63) / 64 * 64),
        f32(make_buffer<float>(size_t{t} * cols)),
        scale(make_buffer<float>(size_t{t} * cols / 32)),
        sum(make_buffer<float>(size_t{t} * cols / 32)),
        codes(make_buffer<int8_t>(t * code_stride)),
        seconds(kernels.int8_terms(type) > 1 ? make_buffer<int8_t>(t * code_stride) : nullptr) {
    Rng rng(1);
    for (size_t i = 0; i < size_t{t} * cols; ++i) f32.get()[i] = static_cast<float>(rng.normal());
    quantize(kernels, 0, t);
  }
  void quantize(const Kernels& kernels, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      kernels.quantize(f32.get() + size_t{i} * k, k, codes.get() + i * code_stride,
                       seconds == nullptr ? nullptr : seconds.get() + i * code_stride,
                       scale.get() + size_t{i} * k / 32, sum.get() + size_t{i} * k / 32);
    }
  }
  Activations view() const {
    return {.f32 = f32.get(),
            .f32_stride = k,
            .codes = codes.get(),
            .code_stride = code_stride,
            .scale = scale.get(),
            .sum = sum.get(),
            .scale_stride = k / 32,
            .seconds = seconds.get()};
  }
};

class Bench {
 public:
  Bench(const Kernels& kernels, const Options& options, const Format& format)
      : kernels_(kernels),
        o_(options),
        format_(format),
        panel_(kernels.panel_bytes(format.type, options.cols)),
        x_(kernels, format.type, 512, options.cols) {
    const size_t count = std::max<size_t>(o_.megabytes * 1000000 / panel_ / 32 * 32, 32);
    panels_ = make_buffer<std::byte>(count * panel_);
    rows_ = static_cast<uint32_t>(count * kPanelRows);
    file_.resize(row_bytes(format, o_.cols) * kPatternRows);
    random_blocks(format, file_.data(), size_t{kPatternRows} * o_.cols, 1, 0.05f);
    for (uint32_t i = 0; i < kPatternRows / kPanelRows; ++i) {
      kernels_.pack(format.type, file_.data() + i * kPanelRows * row_bytes(format, o_.cols), kPanelRows,
                    o_.cols, panels_.get() + i * panel_);
    }
    const size_t pattern = kPatternRows / kPanelRows * panel_;
    for (size_t at = pattern; at < count * panel_; at += pattern) {
      std::memcpy(panels_.get() + at, panels_.get(), std::min(pattern, count * panel_ - at));
    }
  }

  // GB/s of packed weights, every row read once a round.
  double decode(uint32_t threads, uint32_t tokens) {
    return rate(threads, 5, 1e-9 * static_cast<double>(panel_) * rows_ / kPanelRows / threads,
                [&](uint32_t i) { multiply(i, threads, tokens, rows_); });
  }
  double prefill(uint32_t threads, uint32_t tokens) {
    const uint32_t rows = std::min(kPrefillRows, rows_);
    const double flops = 2.0 * o_.cols * rows * tokens;
    return rate(threads, 3, 1e-9 * flops / threads, [&](uint32_t i) { multiply(i, threads, tokens, rows); });
  }
  // One line of JSON: shapes, bytes of a row in the file and packed, seconds at 1, 4 and 512 tokens on two threads,
  // from float32 activations on, as the peer's operation does it.
  void print_json() {
    constexpr uint32_t kThreads = 2;
    std::barrier quantized(kThreads);
    const auto seconds = [&](uint32_t tokens, uint32_t rows, int rounds) {
      return shortest_round(kThreads, rounds, [&](uint32_t i) {
        if (kernels_.int8_terms(format_.type) > 0) {
          x_.quantize(kernels_, i * tokens / kThreads, (i + 1) * tokens / kThreads);
          quantized.arrive_and_wait();
        }
        multiply(i, kThreads, tokens, rows);
      });
    };
    const uint32_t prefill_rows = std::min(kPrefillRows, rows_);
    fmt::print(R"({{"type": "{}", "tier": "{}", "threads": {}, "cols": {}, "rows": {}, "rows_at_512": {}, )"
               R"("file_row_bytes": {}, "packed_row_bytes": {}, )",
               format_.name, kernels_.name, kThreads, o_.cols, rows_, prefill_rows,
               row_bytes(format_, o_.cols), static_cast<double>(panel_) / kPanelRows);
    fmt::print(R"("seconds": {{"1": {:.6e}, "4": {:.6e}, "512": {:.6e}}}, "nrmse": {:.3e}}}{})",
               seconds(1, rows_, 5), seconds(4, rows_, 5), seconds(512, prefill_rows, 3), error(), '\n');
  }
  double error() {
    constexpr uint32_t kTokens = 8;
    auto y = make_buffer<float>(kTokens * kPatternRows);
    auto scratch = make_buffer<std::byte>(kernels_.matmul_scratch(kTokens));
    kernels_.matmul(weight(), x_.view(), kTokens, 0, kPatternRows, y.get(), kPatternRows, scratch.get());
    std::vector<float> w(size_t{kPatternRows} * o_.cols);
    format_.decode(file_.data(), w.data(), w.size());
    double off = 0, norm = 0;
    for (uint32_t t = 0; t < kTokens; ++t) {
      for (uint32_t n = 0; n < kPatternRows; ++n) {
        double want = 0;
        for (uint32_t k = 0; k < o_.cols; ++k) {
          want += static_cast<double>(w[size_t{n} * o_.cols + k]) * x_.f32.get()[size_t{t} * o_.cols + k];
        }
        off += std::pow(y.get()[t * kPatternRows + n] - want, 2);
        norm += want * want;
      }
    }
    return std::sqrt(off / norm);
  }

 private:
  static constexpr uint32_t kPatternRows = 64;
  static constexpr uint32_t kPrefillRows = 4096;

  PackedWeight weight() const { return {format_.type, rows_, o_.cols, panel_, panels_.get()}; }

  void multiply(uint32_t thread, uint32_t threads, uint32_t tokens, uint32_t rows) {
    const uint32_t each = rows / threads / kPanelRows * kPanelRows, begin = thread * each;
    thread_local Buffer<std::byte> scratch = make_buffer<std::byte>(kernels_.matmul_scratch(512));
    thread_local Buffer<float> y =
        make_buffer<float>(std::max<size_t>(size_t{512} * kPrefillRows, size_t{4} * rows_));
    kernels_.matmul(weight(), x_.view(), tokens, begin, begin + each, y.get(), rows, scratch.get());
  }

  const Kernels& kernels_;
  const Options& o_;
  const Format& format_;
  size_t panel_;
  uint32_t rows_ = 0;
  Inputs x_;
  Buffer<std::byte> panels_;
  std::vector<std::byte> file_;
};

void print_head(const Kernels& kernels, const Options& o) {
  fmt::print("tier {}, K {}, {} MB of weights; GB/s at 1 and 4 tokens, GFLOP/s at 512; threads 1 | 2\n",
             kernels.name, o.cols, o.megabytes);
  fmt::print("{:8} {:>7} {:>7} {:>7} | {:>7} {:>7} {:>7}   nrmse\n", "type", "T=1", "T=4", "T=512", "T=1",
             "T=4", "T=512");
}

void bench_types(const Kernels& kernels, const Options& o) {
  if (!o.json) print_head(kernels, o);
  std::string rest = o.types;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string name = rest.substr(0, comma);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    const Format* format = find_format(name);
    if (format == nullptr || !kernels.can_pack(format->type)) {
      if (o.json)
        fmt::print("{{\"type\": \"{}\", \"missing\": true}}\n", name);
      else
        fmt::print("{:8} cannot be packed\n", name);
      continue;
    }
    Bench b(kernels, o, *format);
    if (o.json) {
      b.print_json();
      continue;
    }
    fmt::print("{:8} {:7.1f} {:7.1f} {:7.0f} | {:7.1f} {:7.1f} {:7.0f}   {:.2e}\n", format->name,
               b.decode(1, 1), b.decode(1, 4), b.prefill(1, 512), b.decode(2, 1), b.decode(2, 4),
               b.prefill(2, 512), b.error());
    std::fflush(stdout);
  }
}

// GFLOP/s of attention: rows × positions, and GB/s of cache for the few rows of one token.
void bench_attend(const Kernels& kernels) {
  fmt::print("attention of tier {}, one thread\n{:>5} {:>5} {:>6} {:>9} {:>9} {:>8}\n", kernels.name, "rows",
             "dim", "S", "kv", "GFLOP/s", "GB/s");
  for (const auto& [kv, name] :
       {std::pair{KvType::kF16, "f16"}, {KvType::kF32, "f32"}, {KvType::kInt8, "int8"}}) {
    for (const uint32_t dim : {64u, 128u}) {
      for (const auto& [rows, positions] : {std::pair{512u, 512u}, {3u, 512u}, {4u, 4096u}}) {
        const size_t page = kernels.kv_page_bytes(kv, dim);
        const uint32_t blocks = positions / kBlock,
                       copies = rows > 100 ? 1 : (256u << 20) / (2 * page * blocks);
        auto pages = make_buffer<std::byte>(2 * page * blocks * copies);
        std::vector<float> row(dim, 0.5f);
        for (uint32_t p = 0; p < 2 * blocks * copies; ++p) {
          for (uint32_t slot = 0; slot < kBlock; ++slot) {
            (p % 2 == 0 ? kernels.kv_store_k : kernels.kv_store_v)(kv, pages.get() + p * page, dim, slot,
                                                                   row.data());
          }
        }
        auto q = make_buffer<float>(rows * dim), out = make_buffer<float>(rows * dim);
        auto scratch = make_buffer<std::byte>(kernels.attend_scratch(rows, dim));
        const std::vector<int32_t> position(rows, static_cast<int32_t>(positions) - 1);
        const double flops = 4.0 * rows * positions * dim * copies, bytes = 2.0 * page * blocks * copies;
        const double per_second = rate(1, 3, 1.0, [&](uint32_t) {
          for (uint32_t c = 0; c < copies; ++c) {
            std::vector<const std::byte*> k, v;
            for (uint32_t b = 0; b < blocks; ++b) {
              k.push_back(pages.get() + (c * blocks + b) * 2 * page);
              v.push_back(k.back() + page);
            }
            kernels.attend({q.get(), dim, out.get(), dim, position.data(), rows, k.data(), v.data(), kv, kv,
                            dim, dim, 0.1f, 0.0f, 0, nullptr},
                           scratch.get());
          }
        });
        fmt::print("{:5} {:5} {:6} {:>9} {:9.1f} {:8.1f}\n", rows, dim, positions, name,
                   1e-9 * flops * per_second, 1e-9 * bytes * per_second);
      }
    }
  }
}

// One recurrent operation over `tokens` tokens of the shapes that a model of 4096 has.
struct RecurrentShape {
  const char* name;
  uint32_t heads, rows, cols;  // state
  double flops;                // a value of state and token
};

// Runs one head, or a convolution, of layer copy `copy`.
void run_recurrent(const Kernels& kernels, const RecurrentShape& s, uint32_t tokens, const float* input,
                   float* output, size_t width, StateAccess state, uint32_t head, float* scratch) {
  const uint32_t blocks = (s.cols + kStateColumns - 1) / kStateColumns;
  if (s.name[0] == 'd')
    kernels.delta_net({state, input + head / 2 * s.rows, input + 4096 + head / 2 * s.rows,
                       input + head * s.cols, width, input + head, input + head, width, width, -0.1f, 0.0f,
                       output + head * s.cols, width, tokens, s.rows, s.cols, 0, blocks},
                      scratch);
  else if (s.name[0] == 's')
    kernels.ssm_scan({state, input + head * s.cols, input, input + s.rows, width, input + head, width, -0.1f,
                      1.0f, 0.0f, output + head * s.cols, width, tokens, s.cols, s.rows, 0, blocks},
                     scratch);
  else
    kernels.conv1d(
        {state, input, width, output, width, tokens, s.cols, s.rows + 1, 0, s.cols, input, nullptr, true},
        scratch);
}

// One token: GB/s of state, read and written, larger than the caches. 512 tokens: GFLOP/s. On one thread.
void bench_recurrent(const Kernels& kernels, const Options& o) {
  constexpr size_t kWidth = 8192 + 4096;
  fmt::print("recurrent layers of tier {}, one thread\n{:16} {:>12} {:>12} {:>14}\n", kernels.name, "",
             "T=1 in place", "to another", "T=512 GFLOP/s");
  for (const RecurrentShape& s : {RecurrentShape{"delta 128 x 128", 32, 128, 128, 7},
                                  {"ssm 128 x 64", 64, 128, 64, 5},
                                  {"conv 4 x 8192", 1, 3, 8192, 2.7}}) {
    const size_t head = size_t{s.rows} * s.cols, layer = s.heads * head;
    const auto layers = static_cast<uint32_t>((o.megabytes << 20) / (2 * layer * sizeof(float)));
    auto states = make_buffer<float>(2 * layers * layer), input = make_buffer<float>(512 * kWidth),
         output = make_buffer<float>(512 * kWidth);
    auto scratch = make_buffer<float>(kernels.recurrent_scratch(512, 4) / sizeof(float));
    Rng rng(1);
    for (size_t i = 0; i < 512 * kWidth; ++i) input.get()[i] = static_cast<float>(rng.normal());
    const auto all = [&](uint32_t tokens, uint32_t copies, int32_t out) {
      for (uint32_t l = 0; l < copies; ++l)
        for (uint32_t h = 0; h < s.heads; ++h)
          run_recurrent(kernels, s, tokens, input.get(), output.get(), kWidth,
                        {states.get() + l * layer + h * head, layers * layer, 0, out, nullptr}, h,
                        scratch.get());
    };
    const double bytes = 2.0 * sizeof(float) * static_cast<double>(layers * layer);
    const double in_place = rate(1, 5, bytes, [&](uint32_t) { all(1, layers, 0); });
    const double to_other = rate(1, 5, bytes, [&](uint32_t) { all(1, layers, 1); });
    const double flops =
        rate(1, 5, s.flops * 512 * static_cast<double>(layer), [&](uint32_t) { all(512, 1, 0); });
    fmt::print("{:16} {:12.1f} {:12.1f} {:14.1f}\n", s.name, 1e-9 * in_place, 1e-9 * to_other, 1e-9 * flops);
  }
}

int run(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--attend") {
      o.attend = true;
      continue;
    }
    if (flag == "--recurrent") {
      o.recurrent = true;
      continue;
    }
    if (flag == "--json") {
      o.json = true;
      continue;
    }
    if (i + 1 == argc) return fmt::print(stderr, "{}: a value is missing\n", flag), 1;
    const char* value = argv[++i];
    if (flag == "--tier")
      o.tier = value;
    else if (flag == "--type")
      o.types = value;
    else if (flag == "--cols")
      o.cols = static_cast<uint32_t>(std::atoi(value));
    else if (flag == "--megabytes")
      o.megabytes = static_cast<size_t>(std::atoi(value));
    else
      return fmt::print(stderr, "unknown flag {}\n", flag), 1;
  }
  const Kernels* kernels = pick_kernels(o.tier);
  if (kernels == nullptr || !kernels->supported()) return fmt::print(stderr, "no such tier here\n"), 1;
  if (o.attend) {
    bench_attend(*kernels);
  } else if (o.recurrent) {
    bench_recurrent(*kernels, o);
  } else {
    bench_types(*kernels, o);
  }
  return 0;
}

}  // namespace
}  // namespace brass::cpu

int main(int argc, char** argv) { return brass::cpu::run(argc, argv); }
