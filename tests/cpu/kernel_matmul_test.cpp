#include <algorithm>

#include "cpu/kernel_fixture.h"
#include "sanitized.h"

namespace brass::cpu {
namespace {

class KernelMatmul : public KernelTest {
 protected:
  std::vector<const Format*> packable() const {
    std::vector<const Format*> out;
    for (const Format* f : all_formats()) {
      if (kernels().can_pack(f->type)) out.push_back(f);
    }
    return out;
  }
  static std::vector<uint32_t> lengths(const Format& f) {
    if (f.block_values == 256) return {256, 768, 1536};
    if (f.block_values > 32) return {f.block_values, 5 * f.block_values};
    if (f.block_values == 32) return {32, 64, 96, 576, 1056};
    return {32, 64, 96, 200, 576, 1056};
  }

  struct Result {
    Aligned<float> y;
    size_t stride;
  };
  Result multiply(const TestWeight& w, const TestActivations& x, uint32_t first, uint32_t tokens,
                  uint32_t begin, uint32_t end) const {
    const size_t stride = (w.rows + 15) / 16 * 16;
    Result r{Aligned<float>(tokens * stride), stride};
    std::fill_n(r.y.data(), tokens * stride, -12345.0f);
    Aligned<std::byte> scratch(kernels().matmul_scratch(tokens));
    kernels().matmul(w.packed, x.from(first), tokens, begin, end, r.y.data(), stride, scratch.data());
    EXPECT_TRUE(scratch.guard_holds());
    EXPECT_TRUE(r.y.guard_holds());
    return r;
  }
};

// Some indices lie there as the digits that they stand for (layout.h).
uint32_t percent_more(Type type) {
  if (type == Type::IQ1_S || type == Type::IQ1_M || type == Type::IQ2_S) return 17;
  return type == Type::IQ2_XS ? 28 : 3;
}

TEST_P(KernelMatmul, PacksTheSetAndKeepsItsSize) {
  for (const Format* f : packable()) {
    const uint32_t cols = 1024;
    const size_t file = row_bytes(*f, cols) * kPanelRows, panel = kernels().panel_bytes(f->type, cols);
    EXPECT_GE(panel, file) << f->name;
    EXPECT_LE(panel, file + file * percent_more(f->type) / 100) << f->name;
  }
  EXPECT_TRUE(kernels().can_pack(Type::Q4_K));
  EXPECT_FALSE(kernels().can_pack(Type::I32));
}

TEST_P(KernelMatmul, UnpackedRowsAreTheFormatsValues) {
  for (const Format* f : packable()) {
    for (const uint32_t cols : lengths(*f)) {
      const TestWeight w(kernels(), *f, 19, cols, 7 + cols);
      std::vector<float> row(cols);
      for (const uint32_t n : {0u, 5u, 15u, 16u, 18u}) {
        kernels().unpack_row(w.packed, n, row.data());
        for (uint32_t j = 0; j < cols; ++j) {
          const float want = w.values[size_t{n} * cols + j];
          // Equal numbers: a folded scale may give 0 the other sign.
          ASSERT_TRUE(row[j] == want)
              << f->name << " row " << n << " column " << j << ": " << row[j] << " " << want;
        }
      }
    }
  }
}

TEST_P(KernelMatmul, AgreesWithDoubleOnTheSameCodes) {
  for (const Format* f : packable()) {
    const XForm form = kernels().int8_terms(f->type) == 2   ? XForm::kTwoTerms
                       : kernels().int8_terms(f->type) == 1 ? XForm::kCodes
                       : kernels().rounds_x(f->type)        ? XForm::kRounded
                                                            : XForm::kExact;
    for (const uint32_t cols : lengths(*f)) {
      for (const uint32_t tokens : {1u, 3u, 4u, 7u, 21u}) {
        const TestWeight w(kernels(), *f, 53, cols, cols);
        const TestActivations x(kernels(), tokens, cols, tokens);
        const Result got = multiply(w, x, 0, tokens, 0, w.rows);
        double error = 0, norm = 0;
        for (uint32_t t = 0; t < tokens; ++t) {
          for (uint32_t n = 0; n < w.rows; ++n) {
            double want = 0, size = 0;
            for (uint32_t j = 0; j < cols; ++j) {
              const double product =
                  static_cast<double>(w.values[size_t{n} * cols + j]) * x.value(t, j, form);
              want += product;
              size += product * product;
            }
            const double off = got.y[t * got.stride + n] - want;
            error += off * off;
            norm += size;  // of the terms: what cancels does not count as accuracy
          }
        }
        const double bound = 2e-6 * std::sqrt(std::max(cols, 256u) / 256.0);
        EXPECT_LT(std::sqrt(error / norm), bound) << f->name << " K " << cols << " T " << tokens;
      }
    }
  }
}

// Two terms keep x: against double of what was quantized, not of its codes.
TEST_P(KernelMatmul, TwoTermsAreWithinOneInTenThousand) {
  ASSERT_EQ(kernels().int8_terms(Type::Q8_0), 2);
  EXPECT_EQ(kernels().int8_terms(Type::Q4_K), 1);
  EXPECT_EQ(kernels().int8_terms(Type::F16), 0);
  const Format& f = *find_format(Type::Q8_0);
  for (const uint32_t cols : {32u, 96u, 576u, 2080u, 4096u}) {
    for (const uint32_t tokens : {1u, 2u, 3u, 4u, 5u, 8u, 17u}) {
      const TestWeight w(kernels(), f, 45, cols, cols);
      const TestActivations x(kernels(), tokens, cols, tokens);
      const Result got = multiply(w, x, 0, tokens, 0, w.rows);
      double error = 0, norm = 0;
      for (uint32_t t = 0; t < tokens; ++t) {
        for (uint32_t n = 0; n < w.rows; ++n) {
          double want = 0;
          for (uint32_t j = 0; j < cols; ++j)
            want += static_cast<double>(w.values[size_t{n} * cols + j]) * x.value(t, j, XForm::kExact);
          error += std::pow(got.y[t * got.stride + n] - want, 2);
          norm += want * want;
        }
      }
      EXPECT_LT(std::sqrt(error / norm), 1e-4) << "K " << cols << " T " << tokens;
    }
  }
}

TEST_P(KernelMatmul, RowsHaveTheSameBitsInAnyBatchAndRange) {
  for (const Format* f : packable()) {
    const uint32_t cols = lengths(*f)[1] * (f->block_values == 256 ? 1 : 3);
    const uint32_t rows = 83, max_tokens = 33;
    const TestWeight w(kernels(), *f, rows, cols, 3);
    const TestActivations x(kernels(), max_tokens, cols, 4);
    std::vector<float> alone(max_tokens * rows);
    for (uint32_t t = 0; t < max_tokens; ++t) {
      const Result one = multiply(w, x, t, 1, 0, rows);
      std::copy_n(one.y.data(), rows, &alone[t * rows]);
    }
    for (uint32_t tokens = 2; tokens <= max_tokens; tokens += kSanitized && tokens > 5 ? 7 : 1) {
      const uint32_t begin = tokens % 3 * 16, end = tokens % 2 == 0 ? rows : 48;
      const Result got = multiply(w, x, 0, tokens, begin, end);
      for (uint32_t t = 0; t < tokens; ++t) {
        ASSERT_EQ(0, std::memcmp(&got.y[t * got.stride + begin], &alone[t * rows + begin], (end - begin) * 4))
            << f->name << " T " << tokens << " token " << t;
        for (uint32_t n = 0; n < rows; ++n) {
          const bool inside = n >= begin && n < end;
          ASSERT_TRUE(inside || got.y[t * got.stride + n] == -12345.0f) << "wrote outside its range";
        }
      }
    }
  }
}

TEST_P(KernelMatmul, ManyTokensAreTheSameAsFew) {
  const uint32_t cols = 512, rows = 40, tokens = 1030;  // more than one block of tokens
  for (const Type type : {Type::Q4_K, Type::Q6_K, Type::Q8_0, Type::F16, Type::BF16}) {
    const TestWeight w(kernels(), *find_format(type), rows, cols, 5);
    const TestActivations x(kernels(), tokens, cols, 6);
    const Result all = multiply(w, x, 0, tokens, 0, rows);
    for (uint32_t t = 0; t < tokens; t += 103) {
      const Result one = multiply(w, x, t, 1, 0, rows);
      ASSERT_EQ(0, std::memcmp(&all.y[t * all.stride], one.y.data(), rows * 4)) << t;
    }
  }
}

TEST_P(KernelMatmul, ExtremeCodesAreExact) {
  // Every weight code at its largest magnitude against every activation at ±127: sums must not saturate.
  const Format& f = *find_format(Type::Q8_0);
  const uint32_t cols = 128;  // sums of more would not fit into a float
  for (const int8_t code : {int8_t{-128}, int8_t{127}}) {
    TestWeight w(kernels(), f, 16, cols, 1);
    for (size_t b = 0; b < w.file.size(); b += f.block_bytes) {
      const uint16_t one = 0x3c00;
      std::memcpy(&w.file[b], &one, 2);
      std::memset(&w.file[b + 2], code, 32);
    }
    kernels().pack(f.type, w.file.data(), 16, cols, w.panels->data());
    TestActivations x(kernels(), 5, cols, 1);
    for (uint32_t t = 0; t < 5; ++t) {
      for (uint32_t j = 0; j < cols; ++j) x.f32[t * x.f32_stride + j] = t % 2 == 0 ? 127.0f : -127.0f;
      x.quantize(kernels(), t);
      // The second term as large as codes can be, too.
      for (uint32_t j = 0; j < cols; ++j) x.seconds[t * x.code_stride + j] = t % 2 == 0 ? 127 : -127;
    }
    for (const uint32_t tokens : {1u, 5u}) {
      const Result got = multiply(w, x, 0, tokens, 0, 16);
      for (uint32_t t = 0; t < tokens; ++t) {
        EXPECT_EQ(got.y[t * got.stride + 3],
                  static_cast<float>(code) * 127.0f * 128.5f * (t % 2 == 0 ? 1.0f : -1.0f));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, KernelMatmul, testing::ValuesIn(supported_kernels()), tier_name);

}  // namespace
}  // namespace brass::cpu
