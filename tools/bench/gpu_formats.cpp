// bench_gpu_formats: the product y = x Wᵀ of every weight format on a Vulkan device at 1, 4 and 512 rows of x, by the device's
// own clock, as a table in Markdown.
//
//   bench_gpu_formats [--megabytes N] [FORMAT…]        all of them, unless some are named
//
// W has 4096 columns and, at 1 and 4 rows of x, as many rows as make N MB (256), so that every run reads memory and not a cache;
// at 512, 64 rows for each MB. A figure is the median of nine runs of the product alone, without what rounds x. Errors: root mean square
// of a few rows' difference from the double product of the same weights and activations, relative to the product.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <numeric>

#include "backend/vulkan/device.h"
#include "quant/random_blocks.h"

namespace brass {
namespace {

constexpr uint32_t kRuns = 9, kCols = 4096, kInputs = 64;
constexpr uint32_t kJudged = 32;  // rows of W whose results are judged
constexpr size_t kTogether = 8;   // formats that are made ready at once: compiling takes most of the time

struct Figures {
  double seconds, error;
};

// One format's product of `rows` rows of W, on a device of its own.
class Product {
 public:
  Product(const Format& format, uint32_t rows) : rows_(rows) {
    const WeightId table = weight(*find_format(Type::F16), kInputs, 1.0f), w = weight(format, rows, 0.02f);
    graph_->values = {{"x", Rows::kT, kCols}, {"y", Rows::kT, rows}};
    graph_->ops.push_back({OpKind::kEmbed, 0, "embed", {}, {0}, {table}, EmbedAttrs{}});
    graph_->ops.push_back({OpKind::kLinear, 0, "product", {0}, {1}, {w}, LinearAttrs{}});
    graph_->logits = 1;
  }

  // Compiles what these numbers of rows take, and runs it once.
  Result<> make_ready(std::vector<uint32_t> tokens) {
    TRY_VOID(graph_->validate());
    device_ = TRY(make_vulkan_device({}));
    TRY_VOID(device_->upload(*graph_, {}, [](const Weight&) {}));
    TRY_VOID(device_->allocate(*graph_, {}));
    device_->set_timing(true);
    for (const uint32_t t : tokens) {
      handles_.emplace_back(t, TRY(device_->prepare(TRY(device_->compile(graph_, {t, t})))));
      static_cast<void>(TRY(run(t)));
    }
    return {};
  }

  Result<Figures> measure(uint32_t tokens) {
    std::vector<double> all;
    for (uint32_t i = 0; i < kRuns; i++) all.push_back(TRY(run(tokens)));
    std::ranges::sort(all);
    return Figures{all[kRuns / 2], error(tokens)};
  }

  double bytes() const { return static_cast<double>(graph_->weights[1].data.size()); }
  double flops(uint32_t tokens) const { return 2.0 * tokens * kCols * rows_; }
  Device& device() { return *device_; }

 private:
  WeightId weight(const Format& format, uint32_t rows, float magnitude) {
    std::vector<std::byte>& data = bytes_.emplace_back(rows * row_bytes(format, kCols));
    // Some megabytes of random blocks, again and again: what is timed does not depend on the values.
    const size_t part = std::min<size_t>(rows, 1024) * row_bytes(format, kCols);
    random_blocks(format, data.data(), std::min<size_t>(rows, 1024) * kCols, 7 + bytes_.size(), magnitude);
    for (size_t at = part; at < data.size(); at += part)
      std::copy_n(data.begin(), std::min(part, data.size() - at), data.begin() + static_cast<ptrdiff_t>(at));
    graph_->weights.push_back(
        {fmt::format("w{}", bytes_.size()), WeightKind::kMatrix, format.type, rows, kCols, data});
    return static_cast<WeightId>(graph_->weights.size() - 1);
  }

  PlanHandle handle(uint32_t tokens) const {
    return std::ranges::find(handles_, tokens, &std::pair<uint32_t, PlanHandle>::first)->second;
  }
  static int32_t id(uint32_t t) { return static_cast<int32_t>(t * 37 % kInputs); }

  // Seconds of the product.
  Result<double> run(uint32_t tokens) {
    std::vector<int32_t> ids(tokens), positions(tokens), sequences(tokens, 0);
    for (uint32_t t = 0; t < tokens; t++) ids[t] = id(t);
    std::iota(positions.begin(), positions.end(), 0);
    TRY_VOID(device_->run(handle(tokens), {.ids = ids, .positions = positions, .sequences = sequences}));
    if (device_->step_seconds().empty()) return fail("{} has no timestamps", device_->describe());
    return device_->step_seconds().back();
  }

  double error(uint32_t tokens) {
    double difference = 0, squares = 0;
    std::vector<float> x(kCols), w(kCols);
    for (uint32_t t = 0; t < std::min(tokens, 4u); t++) {
      decode_row(graph_->weights[0], static_cast<uint32_t>(id(t)), x);
      const std::span<const float> y = device_->read(handle(tokens), 1, t);
      for (uint32_t r = 0; r < kJudged; r++) {
        decode_row(graph_->weights[1], r, w);
        const double right = std::inner_product(x.begin(), x.end(), w.begin(), 0.0);
        difference += std::pow(y[r] - right, 2);
        squares += right * right;
      }
    }
    return std::sqrt(difference / squares);
  }
  static void decode_row(const Weight& w, uint32_t row, std::span<float> out) {
    const Format& format = *find_format(w.type);
    format.decode(w.data.data() + row * row_bytes(format, kCols), out.data(), kCols);
  }

  uint32_t rows_;
  std::deque<std::vector<std::byte>> bytes_;
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  std::unique_ptr<Device> device_;
  std::vector<std::pair<uint32_t, PlanHandle>> handles_;
};

// A format's products, ready to be measured.
struct Ready {
  const Format* format;
  Product few, many;
};
Result<std::unique_ptr<Ready>> make_ready(const Format* format, uint32_t megabytes) {
  const auto rows = static_cast<uint32_t>((uint64_t{megabytes} << 20) / row_bytes(*format, kCols)) / 64 * 64;
  auto ready = std::make_unique<Ready>(format, Product(*format, rows), Product(*format, 64 * megabytes));
  TRY_VOID(ready->few.make_ready({1, 4}));
  TRY_VOID(ready->many.make_ready({512}));
  return ready;
}

struct Row {
  const Format* format;
  double gigabytes, of_four, teraflops;  // a second
  double error, error_of_many;
};
Result<Row> measure(Ready& ready) {
  const Figures one = TRY(ready.few.measure(1)), four = TRY(ready.few.measure(4)),
                many = TRY(ready.many.measure(512));
  return Row{ready.format,
             ready.few.bytes() / one.seconds * 1e-9,
             ready.few.bytes() / four.seconds * 1e-9,
             ready.many.flops(512) / many.seconds * 1e-12,
             one.error,
             many.error};
}

Result<std::vector<Row>> measure_all(std::span<const Format* const> formats, uint32_t megabytes) {
  std::vector<Row> rows;
  for (size_t from = 0; from < formats.size(); from += kTogether) {
    std::vector<std::future<Result<std::unique_ptr<Ready>>>> making;
    for (const Format* format : formats.subspan(from, std::min(kTogether, formats.size() - from)))
      making.push_back(std::async(std::launch::async, make_ready, format, megabytes));
    std::vector<std::unique_ptr<Ready>> ready;
    for (auto& one : making) ready.push_back(TRY(one.get()));
    if (from == 0) {
      const Result<DeviceProbe> probe = ready[0]->few.device().probe();
      fmt::print("{}; read roof {:.0f} GB/s\n\n", ready[0]->few.device().describe(),
                 probe ? probe->bandwidth * 1e-9 : 0.0);
    }
    for (const auto& one : ready) rows.push_back(TRY(measure(*one)));
  }
  return rows;
}

Result<> run(std::span<char*> words) {
  std::vector<const Format*> formats;
  uint32_t megabytes = 256;
  for (size_t i = 0; i < words.size(); i++) {
    if (words[i] == std::string_view("--megabytes") && i + 1 < words.size()) {
      megabytes = static_cast<uint32_t>(std::clamp(std::strtoul(words[++i], nullptr, 10), 4ul, 1024ul));
      continue;
    }
    const Format* format = find_format(std::string_view(words[i]));
    if (format == nullptr) return fail("there is no format {}", words[i]);
    formats.push_back(format);
  }
  if (formats.empty()) formats.assign(all_formats().begin(), all_formats().end());
  const std::vector<Row> rows = TRY(measure_all(formats, megabytes));
  const auto base = std::ranges::find(rows, Type::Q4_K, [](const Row& r) { return r.format->type; });
  fmt::print(
      "| | T = 1, GB/s | T = 4, GB/s | T = 512, TFLOP/s | ÷ Q4_K's: 1 | 4 | 512 | error: 1 | 512 |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const Row& r : rows) {
    const auto share = [&](double Row::* figure) {
      return base == rows.end() ? std::string("–")
                                : fmt::format("{:.0f} %", 100 * r.*figure / ((*base).*figure));
    };
    fmt::print("| {} | {:.1f} | {:.1f} | {:.2f} | {} | {} | {} | {:.1e} | {:.1e} |\n", r.format->name,
               r.gigabytes, r.of_four, r.teraflops, share(&Row::gigabytes), share(&Row::of_four),
               share(&Row::teraflops), r.error, r.error_of_many);
  }
  return {};
}

}  // namespace
}  // namespace brass

int main(int argc, char** argv) {
  const brass::Result<> done = brass::run(std::span(argv + 1, static_cast<size_t>(argc - 1)));
  if (!done) fmt::print(stderr, "bench_gpu_formats: {}\n", done.error().message);
  return done ? 0 : 1;
}
