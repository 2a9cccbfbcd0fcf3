#include <limits>

#include "cpu/kernel_fixture.h"

namespace brass::cpu {
namespace {

class KernelRows : public KernelTest {
 protected:
  static Aligned<float> values(size_t n, float size, uint64_t seed) {
    Aligned<float> out(n);
    Rng rng(seed);
    for (size_t i = 0; i < n; ++i) out[i] = gaussian(rng) * size;
    return out;
  }
};

constexpr uint32_t kLengths[] = {1, 15, 16, 64, 100, 576, 1025};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_P(KernelRows, QuantizeIsNearest) {
  const uint32_t k = 96;
  Aligned<float> x = values(k, 3.0f, 1);
  for (uint32_t i = 32; i < 64; ++i) x[i] = 0.0f;
  x[70] = -50.0f;
  Aligned<int8_t> codes(128), same(128), seconds(128);
  Aligned<float> scale(16), sum(16);
  for (auto* bytes : {&codes, &same, &seconds}) std::memset(bytes->data(), 99, 128);
  kernels().quantize(x.data(), k, codes.data(), nullptr, scale.data(), sum.data());
  const std::vector<float> scales(scale.data(), scale.data() + 3), sums(sum.data(), sum.data() + 3);
  kernels().quantize(x.data(), k, same.data(), seconds.data(), scale.data(), sum.data());
  EXPECT_EQ(0, std::memcmp(codes.data(), same.data(), 128)) << "the first term is the same";
  EXPECT_EQ(0, std::memcmp(scales.data(), scale.data(), 12));
  EXPECT_EQ(0, std::memcmp(sums.data(), sum.data(), 12));
  for (uint32_t b = 0; b < 3; ++b) {
    float most = 0;
    int total = 0;
    for (uint32_t i = 32 * b; i < 32 * b + 32; ++i) {
      most = std::max(most, std::fabs(x[i]));
      total += codes[i];
      EXPECT_LE(std::fabs(x[i] - scale[b] * codes[i]), scale[b] * 0.5001f);
      // Half of a 256th; a whole one where 128 is wanted.
      const double off = std::fabs(x[i] - static_cast<double>(scale[b]) * (codes[i] + seconds[i] / 256.0));
      EXPECT_LE(off, static_cast<double>(scale[b]) * (std::abs(seconds[i]) == 127 ? 1.51 : 0.51) / 256) << i;
    }
    EXPECT_FLOAT_EQ(scale[b], most / 127.0f);
    EXPECT_FLOAT_EQ(sum[b], scale[b] * static_cast<float>(total));
  }
  EXPECT_EQ(codes[70], -127);
  for (uint32_t i = 96; i < 128; ++i) EXPECT_EQ(codes[i], 0);
  for (uint32_t i = 96; i < 128; ++i) EXPECT_EQ(seconds[i], 0);
}

TEST_P(KernelRows, QuantizeKeepsNanAndTakesTinyValues) {
  Aligned<float> x = values(64, 1.0f, 1);
  Aligned<int8_t> codes(64), seconds(64);
  Aligned<float> scale(16), sum(16);
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    x[40] = bad;
    kernels().quantize(x.data(), 64, codes.data(), seconds.data(), scale.data(), sum.data());
    EXPECT_TRUE(std::isfinite(scale[0]));
    EXPECT_TRUE(std::isnan(scale[1])) << bad;
    EXPECT_TRUE(std::isnan(sum[1]));
  }
  for (uint32_t i = 0; i < 64; ++i) x[i] = i % 2 == 0 ? 1e-41f : -1e-41f;
  kernels().quantize(x.data(), 64, codes.data(), seconds.data(), scale.data(), sum.data());
  for (uint32_t i = 0; i < 64; ++i) EXPECT_LE(std::abs(codes[i]), 127);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_LE(std::abs(seconds[i]), 127);
  EXPECT_TRUE(std::isfinite(scale[0]));
}

TEST_P(KernelRows, Norms) {
  for (const uint32_t n : kLengths) {
    const Aligned<float> x = values(n, 2.0f, n), gain = values(n, 1.0f, 2), bias = values(n, 1.0f, 3);
    Aligned<float> y(n);
    double squares = 0, mean = 0, variance = 0;
    for (uint32_t i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * x[i], mean += x[i];
    mean /= n;
    for (uint32_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean);
    kernels().rms_norm(x.data(), gain.data(), n, 1e-5f, y.data());
    const double inverse = 1.0 / std::sqrt(squares / n + 1e-5);
    for (uint32_t i = 0; i < n; ++i)
      EXPECT_NEAR(y[i], x[i] * inverse * gain[i], 2e-6 * (1 + std::fabs(y[i])));
    kernels().rms_norm(x.data(), nullptr, n, 1e-5f, y.data());
    for (uint32_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], x[i] * inverse, 2e-6 * (1 + std::fabs(y[i])));
    kernels().layer_norm(x.data(), gain.data(), bias.data(), n, 1e-5f, y.data());
    for (uint32_t i = 0; i < n; ++i) {
      const double want = (x[i] - mean) / std::sqrt(variance / n + 1e-5) * gain[i] + bias[i];
      EXPECT_NEAR(y[i], want, 4e-6 * (1 + std::fabs(want))) << n << " " << i;
    }
    EXPECT_TRUE(y.guard_holds());
  }
}

TEST_P(KernelRows, ElementWise) {
  for (const uint32_t n : kLengths) {
    const Aligned<float> a = values(n, 2.0f, n), b = values(n, 1.0f, 2);
    Aligned<float> y(n);
    kernels().add(a.data(), b.data(), n, y.data());
    for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(y[i], a[i] + b[i]);
    kernels().mul(a.data(), b.data(), n, y.data());
    for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(y[i], a[i] * b[i]);
    kernels().scale(a.data(), 0.3f, n, y.data());
    for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(y[i], a[i] * 0.3f);
    kernels().softcap(a.data(), 1.5f, n, y.data());
    for (uint32_t i = 0; i < n; ++i)
      EXPECT_NEAR(y[i], 1.5 * std::tanh(a[i] / 1.5), 3e-7 * std::fabs(y[i]) + 1e-9);
    EXPECT_TRUE(y.guard_holds());
  }
}

double exact_act(ActKind kind, double x) {
  switch (kind) {
    case ActKind::kSilu:
      return x / (1 + std::exp(-x));
    case ActKind::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case ActKind::kGeluErf:
      return 0.5 * x * std::erfc(-x * M_SQRT1_2);
    case ActKind::kRelu:
      return x > 0 ? x : 0;
    case ActKind::kReluSquared:
      return x > 0 ? x * x : 0;
    case ActKind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case ActKind::kIdentity:
      return x;
    case ActKind::kClampedSwiglu:
      return std::min(x, 7.0) / (1 + std::exp(-1.702 * std::min(x, 7.0)));
  }
  return 0;
}

TEST_P(KernelRows, Activations) {
  const uint32_t n = 4001;
  Aligned<float> x(n), y(n), up = values(n, 4.0f, 1), z(n);
  for (uint32_t i = 0; i < n; ++i) x[i] = (static_cast<float>(i) - 2000.0f) * 0.01f;
  for (const ActKind kind :
       {ActKind::kSilu, ActKind::kGeluTanh, ActKind::kGeluErf, ActKind::kRelu, ActKind::kReluSquared,
        ActKind::kSigmoid, ActKind::kIdentity, ActKind::kClampedSwiglu}) {
    kernels().act(kind, x.data(), n, y.data());
    kernels().act_mul(kind, x.data(), up.data(), n, z.data());
    for (uint32_t i = 0; i < n; ++i) {
      const double want = exact_act(kind, x[i]);
      // Relative, but where the result is so small that only its being small matters.
      EXPECT_NEAR(y[i], want, 1e-6 * std::fabs(want) + 2e-8) << static_cast<int>(kind) << " at " << x[i];
      const float u = kind == ActKind::kClampedSwiglu ? std::clamp(up[i], -7.0f, 7.0f) + 1.0f : up[i];
      EXPECT_EQ(z[i], y[i] * u);
    }
    for (const float far : {-1e4f, -90.0f, 90.0f, 1e4f}) {
      Aligned<float> one(16), out(16);
      one[0] = far;
      kernels().act(kind, one.data(), 1, out.data());
      EXPECT_NEAR(out[0], exact_act(kind, far), std::fabs(exact_act(kind, far)) * 1e-6 + 1e-30);
      one[0] = kNan;
      kernels().act(kind, one.data(), 1, out.data());
      EXPECT_TRUE(std::isnan(out[0])) << static_cast<int>(kind);
    }
  }
}

TEST_P(KernelRows, Rope) {
  const uint32_t n_rot = 24, dim = 32;
  Aligned<float> turns(n_rot);
  for (uint32_t i = 0; i < n_rot / 2; ++i) {
    turns[2 * i] = std::cos(0.3f * static_cast<float>(i));
    turns[2 * i + 1] = std::sin(0.3f * static_cast<float>(i));
  }
  for (const bool neox : {false, true}) {
    const Aligned<float> x = values(dim, 1.0f, 1);
    Aligned<float> y = values(dim, 1.0f, 1);
    kernels().rope(y.data(), n_rot, neox, turns.data());
    for (uint32_t i = 0; i < n_rot / 2; ++i) {
      const uint32_t a = neox ? i : 2 * i, b = neox ? i + n_rot / 2 : 2 * i + 1;
      const float c = turns[2 * i], s = turns[2 * i + 1];
      EXPECT_NEAR(y[a], x[a] * c - x[b] * s, 1e-6);
      EXPECT_NEAR(y[b], x[a] * s + x[b] * c, 1e-6);
    }
    for (uint32_t i = n_rot; i < dim; ++i) EXPECT_EQ(y[i], x[i]);
  }
}

TEST_P(KernelRows, Argmax) {
  for (const uint32_t n : kLengths) {
    Aligned<float> x = values(n, 1.0f, n);
    uint32_t want = 0;
    for (uint32_t i = 0; i < n; ++i) want = x[i] > x[want] ? i : want;
    EXPECT_EQ(kernels().argmax(x.data(), n), static_cast<int32_t>(want));
    x[n - 1] = x[want];
    EXPECT_EQ(kernels().argmax(x.data(), n), static_cast<int32_t>(want));
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      x[n / 2] = bad;
      EXPECT_EQ(kernels().argmax(x.data(), n), -1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, KernelRows, testing::ValuesIn(supported_kernels()), tier_name);

}  // namespace
}  // namespace brass::cpu
