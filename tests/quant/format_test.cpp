// The registry, random blocks, and the constants that the formats are made of.
#include "quant/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "quant/common/fp4.h"
#include "quant/common/iq1_grid.h"
#include "quant/common/k_scales.h"
#include "quant/common/levels.h"
#include "quant/common/signs.h"
#include "quant/iq2_s/grid.h"
#include "quant/iq2_xs/grid.h"
#include "quant/iq2_xxs/grid.h"
#include "quant/iq3_s/grid.h"
#include "quant/iq3_xxs/grid.h"
#include "quant/random_blocks.h"
#include "quant_files.h"

namespace brass {
namespace {

struct Row {
  const char* name;
  uint32_t id, values, bytes;
};
constexpr Row kRows[] = {
    {"F32", 0, 1, 4},         {"F16", 1, 1, 2},        {"Q4_0", 2, 32, 18},      {"Q4_1", 3, 32, 20},
    {"Q5_0", 6, 32, 22},      {"Q5_1", 7, 32, 24},     {"Q8_0", 8, 32, 34},      {"Q2_K", 10, 256, 84},
    {"Q3_K", 11, 256, 110},   {"Q4_K", 12, 256, 144},  {"Q5_K", 13, 256, 176},   {"Q6_K", 14, 256, 210},
    {"IQ2_XXS", 16, 256, 66}, {"IQ2_XS", 17, 256, 74}, {"IQ3_XXS", 18, 256, 98}, {"IQ1_S", 19, 256, 50},
    {"IQ4_NL", 20, 32, 18},   {"IQ3_S", 21, 256, 110}, {"IQ2_S", 22, 256, 82},   {"IQ4_XS", 23, 256, 136},
    {"IQ1_M", 29, 256, 56},   {"BF16", 30, 1, 2},      {"TQ1_0", 34, 256, 54},   {"TQ2_0", 35, 256, 66},
    {"MXFP4", 39, 32, 17},    {"NVFP4", 40, 64, 36},   {"Q1_0", 41, 128, 18},    {"Q2_0", 42, 64, 18},
};

TEST(Registry, HoldsEveryFormatOfToday) {
  ASSERT_EQ(all_formats().size(), std::size(kRows));
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const Format& format = *all_formats()[i];
    EXPECT_EQ(format.name, kRows[i].name);
    EXPECT_EQ(static_cast<uint32_t>(format.type), kRows[i].id) << format.name;
    EXPECT_EQ(format.block_values, kRows[i].values) << format.name;
    EXPECT_EQ(format.block_bytes, kRows[i].bytes) << format.name;
    EXPECT_EQ(find_format(static_cast<Type>(kRows[i].id)), &format);
    EXPECT_EQ(find_format(kRows[i].name), &format);
    EXPECT_EQ(find_format(lower_case(kRows[i].name)), &format);
    EXPECT_EQ(format.view == nullptr, format.group == 0);
  }
}

TEST(Registry, UnknownIdsAndNamesAreNothing) {
  for (uint32_t id = 0; id < 300; ++id) {
    bool known = false;
    for (const Row& row : kRows) known = known || row.id == id;
    EXPECT_EQ(find_format(static_cast<Type>(id)) != nullptr, known) << id;
  }
  for (const Type type : {Type::I8, Type::I16, Type::I32, Type::I64, Type::F64})
    EXPECT_EQ(find_format(type), nullptr);
  EXPECT_EQ(find_format(static_cast<Type>(0xffffffffu)), nullptr);
  for (const char* name : {"", "Q4", "Q4_K_M", "Q4_K ", "I8"}) EXPECT_EQ(find_format(name), nullptr) << name;
}

TEST(Registry, NamesForErrorTexts) {
  const std::string names = supported_format_names();
  EXPECT_EQ(names.substr(0, 15), "F32, F16, Q4_0,");
  EXPECT_EQ(names.substr(names.size() - 12), ", Q1_0, Q2_0");
}

TEST(Registry, RowBytes) { EXPECT_EQ(row_bytes(*find_format(Type::Q4_K), 512), 288u); }

class RandomBlocks : public testing::TestWithParam<const Format*> {};

TEST_P(RandomBlocks, HaveTheWantedMagnitude) {
  const Format& format = *GetParam();
  constexpr size_t kValues = 64 * 256;
  std::vector<std::byte> blocks(row_bytes(format, kValues));
  std::vector<float> values(kValues);
  for (const float magnitude : {0.02f, 0.5f, 3.0f}) {
    random_blocks(format, blocks.data(), kValues, 1, magnitude);
    EXPECT_EQ(format.find_non_finite(blocks.data(), kValues), -1);
    format.decode(blocks.data(), values.data(), kValues);
    double sum = 0, squares = 0;
    for (const float v : values) sum += v, squares += static_cast<double>(v) * v;
    const double rms = std::sqrt(squares / kValues);
    // MXFP4 has powers of two only; NVFP4's smallest scales are coarse.
    const double slack = format.type == Type::MXFP4 || format.type == Type::NVFP4 ? 1.45 : 1.1;
    EXPECT_GT(rms, magnitude / slack) << format.name;
    EXPECT_LT(rms, magnitude * slack) << format.name;
    EXPECT_LT(std::fabs(sum / kValues), 0.1 * magnitude) << format.name;
  }
}

TEST_P(RandomBlocks, DependOnTheSeedOnly) {
  const Format& format = *GetParam();
  constexpr size_t kValues = 1024;
  std::vector<std::byte> a(row_bytes(format, kValues)), b(a.size(), std::byte{0xff}), c(a.size());
  random_blocks(format, a.data(), kValues, 1, 1.0f);
  random_blocks(format, b.data(), kValues, 1, 1.0f);
  random_blocks(format, c.data(), kValues, 2, 1.0f);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

INSTANTIATE_TEST_SUITE_P(All, RandomBlocks, testing::ValuesIn(every_format()), name_of_format);

template <class T, int N>
void expect_code_book(const Grid<T, N>& grid, std::set<int> levels) {
  std::set<T> distinct(grid.entry, grid.entry + N);
  EXPECT_EQ(distinct.size(), static_cast<size_t>(N));
  std::set<int> seen;
  for (const T entry : grid.entry) {
    for (size_t j = 0; j < sizeof(T); ++j) seen.insert(static_cast<int8_t>(entry >> (8 * j)));
  }
  EXPECT_EQ(seen, levels);
}

TEST(Constants, CodeBooks) {
  expect_code_book(kIq1Grid, {-1, 0, 1});
  expect_code_book(kIq2XxsGrid, {8, 25, 43});
  expect_code_book(kIq2XsGrid, {8, 25, 43});
  expect_code_book(kIq2SGrid, {8, 25, 43});
  expect_code_book(kIq3XxsGrid, {4, 12, 20, 28, 36, 44, 52, 62});
  expect_code_book(kIq3SGrid, {1, 3, 5, 7, 9, 11, 13, 15});
}

TEST(Constants, SignsAreEven) {
  for (int i = 0; i < 128; ++i) {
    EXPECT_EQ(kEvenSigns.entry[i] & 127, i);
    EXPECT_EQ(std::popcount(kEvenSigns.entry[i]) % 2, 0);
  }
}

TEST(Constants, E8m0) {
  for (int e = 0; e < 256; ++e) EXPECT_EQ(half_e8m0(static_cast<uint8_t>(e)), std::ldexp(1.0f, e - 128)) << e;
}

TEST(Constants, Ue4m3) {
  EXPECT_EQ(2 * half_ue4m3(0x7e), 448.0f);
  EXPECT_EQ(2 * half_ue4m3(0x38), 1.0f);
  EXPECT_EQ(2 * half_ue4m3(1), 0x1p-9f);
  EXPECT_EQ(half_ue4m3(0x7f), 0.0f);
  for (int s = 0; s < 0x7f; ++s) {
    const int exponent = s >> 3, mantissa = s & 7;
    const float value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                      : std::ldexp(1.0f + static_cast<float>(mantissa) / 8, exponent - 7);
    EXPECT_EQ(2 * half_ue4m3(static_cast<uint8_t>(s)), value) << s;
    EXPECT_EQ(nearest_ue4m3(value), s);
    EXPECT_EQ(nearest_ue4m3(value * 1.01f), s);
  }
  EXPECT_EQ(nearest_ue4m3(1e9f), 0x7e);
  EXPECT_EQ(nearest_ue4m3(0.0f), 0);
}

TEST(Constants, KScalesPackAndUnpack) {
  for (int seed = 0; seed < 64; ++seed) {
    KScales scales;
    for (int i = 0; i < 8; ++i) {
      scales.scale[i] = static_cast<uint8_t>((seed * 7 + i * 13) % 64);
      scales.min[i] = static_cast<uint8_t>((seed * 5 + i * 29 + 3) % 64);
    }
    uint8_t packed[12];
    pack_k_scales(scales.scale, scales.min, packed);
    const KScales again = unpack_k_scales(packed);
    EXPECT_EQ(std::memcmp(&again, &scales, sizeof scales), 0);
  }
}

TEST(Constants, NearestLevelOfATable) {
  const TableLevels levels(kE2m1Doubled);
  for (float t = -20.0f; t <= 20.0f; t += 0.01f) {
    float nearest = 0;
    for (const int8_t level : kE2m1Doubled) {
      if (std::fabs(t - level) < std::fabs(t - nearest)) nearest = level;
    }
    EXPECT_NEAR(std::fabs(t - levels.nearest(t)), std::fabs(t - nearest), 1e-5) << t;
  }
  EXPECT_EQ(levels.index_of(-12), 15);
}

}  // namespace
}  // namespace brass
