#include <algorithm>
#include <limits>

#include "cpu/kernel_fixture.h"

namespace brass::cpu {
namespace {

struct Shape {
  uint32_t k_dim, v_dim;
  int32_t positions;
  float softcap;
  int32_t window;
  bool sinks;
};

// A cache of one KV head, and rows of queries that look at it.
class KernelAttend : public KernelTest {
 protected:
  struct Cache {
    std::vector<std::unique_ptr<Aligned<std::byte>>> pages;
    std::vector<const std::byte*> k, v;
    std::vector<float> k_values, v_values;  // what the cache holds, read back
  };

  Cache fill(KvType type, const Shape& s, uint64_t seed) const {
    Cache c;
    Rng rng(seed);
    const auto blocks = (static_cast<uint32_t>(s.positions) + kBlock - 1) / kBlock;
    for (uint32_t b = 0; b < blocks; ++b) {
      for (const uint32_t dim : {s.k_dim, s.v_dim}) {
        c.pages.push_back(std::make_unique<Aligned<std::byte>>(kernels().kv_page_bytes(type, dim)));
        std::memset(c.pages.back()->data(), 0xff, c.pages.back()->size());  // what was never written is NaN
      }
      c.k.push_back(c.pages[2 * b]->data());
      c.v.push_back(c.pages[2 * b + 1]->data());
    }
    std::vector<float> row(std::max(s.k_dim, s.v_dim));
    c.k_values.resize(static_cast<size_t>(s.positions) * s.k_dim);
    c.v_values.resize(static_cast<size_t>(s.positions) * s.v_dim);
    for (uint32_t p = 0; p < static_cast<uint32_t>(s.positions); ++p) {
      for (float& x : row) x = gaussian(rng);
      kernels().kv_store_k(type, c.pages[p / kBlock * 2]->data(), s.k_dim, p % kBlock, row.data());
      kernels().kv_load_k(type, c.k[p / kBlock], s.k_dim, p % kBlock, &c.k_values[p * s.k_dim]);
      check_loss(type, row.data(), &c.k_values[p * s.k_dim], s.k_dim);
      for (float& x : row) x = gaussian(rng);
      kernels().kv_store_v(type, c.pages[p / kBlock * 2 + 1]->data(), s.v_dim, p % kBlock, row.data());
      kernels().kv_load_v(type, c.v[p / kBlock], s.v_dim, p % kBlock, &c.v_values[p * s.v_dim]);
      check_loss(type, row.data(), &c.v_values[p * s.v_dim], s.v_dim);
    }
    for (const auto& page : c.pages) EXPECT_TRUE(page->guard_holds());
    return c;
  }

  static void check_loss(KvType type, const float* wrote, const float* read, uint32_t dim) {
    const float loss = type == KvType::kF32 ? 0.0f : type == KvType::kF16 ? 4.9e-4f : 4e-3f;
    for (uint32_t d = 0; d < dim; ++d) {
      const float bound =
          type == KvType::kInt8 ? 6.0f / 127 / 2 : loss * std::fabs(wrote[d]) + (loss > 0 ? 6e-8f : 0);
      ASSERT_LE(std::fabs(wrote[d] - read[d]), bound);
    }
  }

  struct Rows {
    Aligned<float> q;
    std::vector<int32_t> position;
    std::vector<float> sinks;
  };

  AttendItem item(KvType type, const Shape& s, const Cache& c, const Rows& r, uint32_t first, uint32_t rows,
                  float* out) const {
    return {.q = r.q.data() + first * stride(s.k_dim),
            .q_stride = stride(s.k_dim),
            .out = out,
            .out_stride = stride(s.v_dim),
            .position = r.position.data() + first,
            .rows = rows,
            .k_page = c.k.data(),
            .v_page = c.v.data(),
            .k_type = type,
            .v_type = type,
            .k_dim = s.k_dim,
            .v_dim = s.v_dim,
            .scale = 1.0f / std::sqrt(static_cast<float>(s.k_dim)),
            .softcap = s.softcap,
            .window = s.window,
            .sinks = s.sinks ? r.sinks.data() + first : nullptr};
  }
  static size_t stride(uint32_t dim) { return (dim + 15) / 16 * 16; }

  Rows queries(const Shape& s, uint32_t rows, uint64_t seed) const {
    Rows r{Aligned<float>(rows * stride(s.k_dim)), {}, {}};
    Rng rng(seed);
    for (size_t i = 0; i < r.q.size(); ++i) r.q[i] = 2.0f * gaussian(rng);
    for (uint32_t i = 0; i < rows; ++i) {
      r.position.push_back(s.positions - 1 -
                           static_cast<int32_t>(rng.next() % static_cast<uint64_t>(s.positions)) / 2);
      r.sinks.push_back(gaussian(rng));
    }
    r.position[0] = s.positions - 1;
    if (rows > 1) r.position[1] = 0;
    return r;
  }

  std::vector<double> exact(const Shape& s, const Cache& c, const Rows& r, uint32_t row) const {
    const int32_t last = r.position[row], first = s.window > 0 ? std::max(0, last - s.window + 1) : 0;
    std::vector<double> weight;
    double total = s.sinks ? std::exp(static_cast<double>(r.sinks[row])) : 0.0;
    for (int32_t p = first; p <= last; ++p) {
      double dot = 0;
      for (uint32_t d = 0; d < s.k_dim; ++d) {
        dot += static_cast<double>(r.q[row * stride(s.k_dim) + d]) *
               c.k_values[static_cast<size_t>(p) * s.k_dim + d];
      }
      dot /= std::sqrt(static_cast<double>(s.k_dim));
      if (s.softcap != 0) dot = s.softcap * std::tanh(dot / s.softcap);
      weight.push_back(std::exp(dot));
      total += weight.back();
    }
    std::vector<double> y(s.v_dim, 0.0);
    for (int32_t p = first; p <= last; ++p) {
      for (uint32_t d = 0; d < s.v_dim; ++d) {
        y[d] +=
            weight[static_cast<size_t>(p - first)] / total * c.v_values[static_cast<size_t>(p) * s.v_dim + d];
      }
    }
    return y;
  }

  Aligned<float> run(KvType type, const Shape& s, const Cache& c, const Rows& r, uint32_t first,
                     uint32_t rows) const {
    Aligned<float> out(rows * stride(s.v_dim));
    Aligned<std::byte> scratch(kernels().attend_scratch(rows, s.v_dim));
    std::memset(scratch.data(), 0xff, scratch.size());
    kernels().attend(item(type, s, c, r, first, rows, out.data()), scratch.data());
    EXPECT_TRUE(scratch.guard_holds());
    EXPECT_TRUE(out.guard_holds());
    return out;
  }
};

constexpr Shape kShapes[] = {
    {64, 64, 1, 0, 0, false},      {64, 64, 63, 0, 0, false},  {64, 64, 700, 0, 0, false},
    {128, 128, 1100, 0, 0, false}, {80, 96, 130, 0, 0, true},  {256, 256, 90, 50.0f, 0, false},
    {64, 64, 900, 0, 100, false},  {72, 40, 200, 0, 65, true}, {192, 128, 140, 20.0f, 64, false},
};
constexpr KvType kTypes[] = {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kInt8};

TEST_P(KernelAttend, AgreesWithDouble) {
  for (const KvType type : kTypes) {
    for (const Shape& s : kShapes) {
      const Cache c = fill(type, s, 1);
      const uint32_t rows = 8;
      const Rows r = queries(s, rows, 2);
      const Aligned<float> got = run(type, s, c, r, 0, rows);
      for (uint32_t row = 0; row < rows; ++row) {
        const std::vector<double> want = exact(s, c, r, row);
        for (uint32_t d = 0; d < s.v_dim; ++d) {
          ASSERT_NEAR(got[row * stride(s.v_dim) + d], want[d], 3e-6)
              << "kv type " << static_cast<int>(type) << " positions " << s.positions << " row " << row
              << " dim " << d;
        }
      }
    }
  }
}

TEST_P(KernelAttend, RowsHaveTheSameBitsInAnyCompany) {
  for (const KvType type : {KvType::kF16, KvType::kInt8}) {
    for (const Shape& s : kShapes) {
      const Cache c = fill(type, s, 3);
      const uint32_t rows = 15;
      const Rows r = queries(s, rows, 4);
      const Aligned<float> all = run(type, s, c, r, 0, rows);
      for (uint32_t first = 0; first < rows; ++first) {
        for (const uint32_t count : {1u, 2u, 5u}) {
          if (first + count > rows) continue;
          const Aligned<float> some = run(type, s, c, r, first, count);
          for (uint32_t i = 0; i < count; ++i) {
            ASSERT_EQ(
                0, std::memcmp(&some[i * stride(s.v_dim)], &all[(first + i) * stride(s.v_dim)], s.v_dim * 4));
          }
        }
      }
    }
  }
}

TEST_P(KernelAttend, ARowThatSeesNothingIsZero) {
  const Shape s{64, 64, 10, 0, 0, false};
  const Cache c = fill(KvType::kF16, s, 5);
  Rows r = queries(s, 2, 6);
  r.position[0] = -1;
  const Aligned<float> got = run(KvType::kF16, s, c, r, 0, 2);
  for (uint32_t d = 0; d < 64; ++d) EXPECT_EQ(got[d], 0.0f);
  EXPECT_NE(got[64], 0.0f);
}

TEST_P(KernelAttend, NanInTheCacheIsSeen) {
  const Shape s{64, 64, 100, 0, 0, false};
  const Rows r = queries(s, 2, 8);
  const std::vector<float> bad(64, std::numeric_limits<float>::quiet_NaN());
  for (const bool in_k : {true, false}) {
    Cache c = fill(KvType::kF16, s, 7);
    (in_k ? kernels().kv_store_k : kernels().kv_store_v)(KvType::kF16, c.pages[in_k ? 2 : 3]->data(), 64, 5,
                                                         bad.data());
    const Aligned<float> got = run(KvType::kF16, s, c, r, 0, 1);
    EXPECT_TRUE(std::isnan(got[0])) << in_k;
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, KernelAttend, testing::ValuesIn(supported_kernels()), tier_name);

}  // namespace
}  // namespace brass::cpu
