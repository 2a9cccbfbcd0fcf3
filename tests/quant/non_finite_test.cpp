// find_non_finite: NaN and infinities planted into every scale of every format.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "quant/random_blocks.h"
#include "quant_files.h"

namespace brass {
namespace {

// Where the scales of a block are.
struct Scales {
  Type type;
  std::vector<int> f16;               // byte offsets of f16 fields
  std::vector<int> bytes;             // offsets of one-byte scales
  std::vector<int> not_finite_bytes;  // their NaNs
};

const std::vector<Scales>& all_scales() {
  static const std::vector<Scales> table = {
      {Type::Q4_0, {0}, {}, {}},      {Type::Q4_1, {0, 2}, {}, {}},
      {Type::Q5_0, {0}, {}, {}},      {Type::Q5_1, {0, 2}, {}, {}},
      {Type::Q8_0, {0}, {}, {}},      {Type::Q2_K, {80, 82}, {}, {}},
      {Type::Q3_K, {108}, {}, {}},    {Type::Q4_K, {0, 2}, {}, {}},
      {Type::Q5_K, {0, 2}, {}, {}},   {Type::Q6_K, {208}, {}, {}},
      {Type::IQ2_XXS, {0}, {}, {}},   {Type::IQ2_XS, {0}, {}, {}},
      {Type::IQ3_XXS, {0}, {}, {}},   {Type::IQ1_S, {0}, {}, {}},
      {Type::IQ4_NL, {0}, {}, {}},    {Type::IQ3_S, {0}, {}, {}},
      {Type::IQ2_S, {0}, {}, {}},     {Type::IQ4_XS, {0}, {}, {}},
      {Type::TQ1_0, {52}, {}, {}},    {Type::TQ2_0, {64}, {}, {}},
      {Type::MXFP4, {}, {0}, {0xff}}, {Type::NVFP4, {}, {0, 1, 2, 3}, {0x7f, 0xff}},
      {Type::Q1_0, {0}, {}, {}},      {Type::Q2_0, {0}, {}, {}},
      {Type::F16, {0}, {}, {}},
  };
  return table;
}

constexpr uint16_t kNotFinite[] = {0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xffff};
constexpr uint16_t kFinite[] = {0x0000, 0x8000, 0x0001, 0x7bff, 0xfbff};

class Blocks {
 public:
  static constexpr size_t kCount = 37;

  explicit Blocks(const Format& format) : format_(format), bytes_(kCount * format.block_bytes) {
    random_blocks(format, bytes_.data(), kCount * format.block_values, 5, 1.0f);
  }

  template <class T>
  T get(size_t block, int offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + block * format_.block_bytes + offset, sizeof value);
    return value;
  }
  template <class T>
  void put(size_t block, int offset, T value) {
    std::memcpy(bytes_.data() + block * format_.block_bytes + offset, &value, sizeof value);
  }
  ptrdiff_t found() const { return format_.find_non_finite(bytes_.data(), kCount * format_.block_values); }

 private:
  const Format& format_;
  std::vector<std::byte> bytes_;
};

template <class T>
void expect_found(const Format& format, int offset, T value, bool found) {
  Blocks blocks(format);
  ASSERT_EQ(blocks.found(), -1) << format.name;
  for (const size_t block : {size_t{36}, size_t{17}, size_t{0}}) {  // the first of several is reported
    blocks.put(block, offset, value);
    EXPECT_EQ(blocks.found(), found ? static_cast<ptrdiff_t>(block) : -1)
        << format.name << " offset " << offset << " bits " << value;
  }
}

TEST(NonFinite, EveryScaleOfEveryFormat) {
  for (const Scales& scales : all_scales()) {
    const Format& format = *find_format(scales.type);
    for (const int offset : scales.f16) {
      for (const uint16_t value : kNotFinite) expect_found(format, offset, value, true);
      for (const uint16_t value : kFinite) expect_found(format, offset, value, false);
    }
    for (const int offset : scales.bytes) {
      for (const int value : scales.not_finite_bytes)
        expect_found(format, offset, static_cast<uint8_t>(value), true);
    }
  }
}

TEST(NonFinite, TheTableAboveIsComplete) {
  for (const Format* format : quantized_formats()) {
    if (format->type == Type::IQ1_M) continue;  // below
    bool listed = false;
    for (const Scales& scales : all_scales()) listed = listed || scales.type == format->type;
    EXPECT_TRUE(listed) << format->name;
  }
}

TEST(NonFinite, Iq1mScaleInFourNibbles) {
  const Format& format = *find_format(Type::IQ1_M);
  for (const uint16_t d : {0x7c00, 0xfc00, 0x7e01, 0x7bff}) {
    Blocks blocks(format);
    for (int i = 0; i < 4; ++i) {
      const int rest = blocks.get<uint16_t>(20, 48 + 2 * i) & 0x0fff;
      blocks.put(20, 48 + 2 * i, static_cast<uint16_t>(rest | ((d >> (4 * i)) & 15) << 12));
    }
    EXPECT_EQ(blocks.found(), d == 0x7bff ? -1 : 20) << d;
  }
}

TEST(NonFinite, EveryPositionOfTheFloatFormats) {
  constexpr size_t kValues = 2500;
  for (const auto& [type, word] : {std::pair{Type::F32, 0x7f800000u},
                                   {Type::F32, 0xffc00001u},
                                   {Type::F16, 0x7c00u},
                                   {Type::F16, 0xfe00u},
                                   {Type::BF16, 0xff80u},
                                   {Type::BF16, 0x7f81u}}) {
    const Format& format = *find_format(type);
    std::vector<std::byte> values(kValues * format.block_bytes);
    random_blocks(format, values.data(), kValues, 6, 1.0f);
    EXPECT_EQ(format.find_non_finite(values.data(), kValues), -1);
    EXPECT_EQ(format.find_non_finite(values.data(), 0), -1);
    for (size_t at = kValues; at-- > 0;) {
      std::memcpy(values.data() + at * format.block_bytes, &word, format.block_bytes);
      ASSERT_EQ(format.find_non_finite(values.data(), kValues), static_cast<ptrdiff_t>(at)) << format.name;
    }
  }
}

// The two largest E8M0 scales are finite, but not every value under them is.
TEST(NonFinite, Mxfp4ProductsThatOverflow) {
  const Format& format = *find_format(Type::MXFP4);
  for (int e = 250; e < 255; ++e) {
    for (int code = 0; code < 256; ++code) {
      std::vector<std::byte> block(format.block_bytes, std::byte{0});
      block[0] = static_cast<std::byte>(e);
      block[9] = static_cast<std::byte>(code);
      std::vector<float> values(format.block_values);
      format.decode(block.data(), values.data(), values.size());
      bool finite = true;
      for (const float v : values) finite = finite && std::isfinite(v);
      ASSERT_EQ(format.find_non_finite(block.data(), values.size()), finite ? -1 : 0) << e << " " << code;
    }
  }
}

}  // namespace
}  // namespace brass
