// Decode against blocks that llama.cpp encoded and decoded (shared data) and against the `gguf` Python
// package (fixtures), the canonical view against decode.
#include <gtest/gtest.h>

#include <vector>

#include "base/half.h"
#include "quant/random_blocks.h"
#include "quant_files.h"
#include "source_dir.h"

namespace brass {
namespace {

class Reference : public testing::TestWithParam<const Format*> {};

void expect_view_equals_decode(const Format& format, const std::vector<std::byte>& blocks) {
  std::vector<float> decoded(format.block_values);
  for (size_t at = 0; at < blocks.size(); at += format.block_bytes) {
    format.decode(blocks.data() + at, decoded.data(), decoded.size());
    CanonicalBlock view;
    format.view(blocks.data() + at, view);
    for (uint32_t i = 0; i < format.block_values; ++i) {
      const uint32_t g = i / format.group;
      const float product = view.scale[g] * static_cast<float>(view.code[i]);
      ASSERT_EQ(bits(product - view.min[g]), bits(decoded[i])) << format.name << " value " << i;
      if (!format.has_min) {
        ASSERT_EQ(bits(view.min[g]), 0u) << format.name;
      }
    }
  }
}

TEST_P(Reference, DecodeIsBitEqualToLlamaCpp) {
  const Format& format = *GetParam();
  const auto data = reference_data(format);
  if (!data) GTEST_SKIP() << "no reference blocks of " << format.name;
  std::vector<float> decoded(data->values.size());
  format.decode(data->blocks.data(), decoded.data(), decoded.size());
  for (size_t i = 0; i < decoded.size(); ++i) {
    ASSERT_EQ(bits(decoded[i]), bits(data->values[i])) << format.name << " value " << i << ": " << decoded[i];
  }
}

TEST_P(Reference, ViewIsBitEqualToDecode) {
  const Format& format = *GetParam();
  std::vector<std::byte> random(row_bytes(format, 16 * format.block_values));
  random_blocks(format, random.data(), 16 * format.block_values, 7, 0.05f);
  expect_view_equals_decode(format, random);
  if (const auto data = reference_data(format)) expect_view_equals_decode(format, data->blocks);
}

uint64_t fnv1a(const float* values, size_t n) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto* bytes = reinterpret_cast<const unsigned char*>(values);
  for (size_t i = 0; i < n * sizeof(float); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

// tools/oracles/quant_fixtures.py says what is in a file.
void expect_fixture_decodes(const Format& format, const std::vector<std::byte>& fixture) {
  constexpr size_t kBlocks = 48;
  const uint32_t values = format.block_values;
  ASSERT_EQ(fixture.size(), kBlocks * (format.block_bytes + sizeof(uint64_t))) << format.name;
  std::vector<float> decoded(values * kBlocks);
  format.decode(fixture.data(), decoded.data(), decoded.size());
  for (size_t i = 0; i < kBlocks; ++i) {
    uint64_t wanted;
    std::memcpy(&wanted, fixture.data() + kBlocks * format.block_bytes + i * sizeof wanted, sizeof wanted);
    ASSERT_EQ(fnv1a(decoded.data() + i * values, values), wanted) << format.name << " block " << i;
  }
}

std::string fixture_path(const Format& format) {
  return source_dir() + "/tests/quant/fixtures/" + lower_case(format.name) + ".bin";
}

TEST_P(Reference, DecodeIsBitEqualToGgufPython) {
  const Format& format = *GetParam();
  if (format.type == Type::Q1_0 || format.type == Type::Q2_0) GTEST_SKIP() << "gguf 0.19 does not know them";
  expect_fixture_decodes(format, file_bytes(fixture_path(format)));
}

INSTANTIATE_TEST_SUITE_P(All, Reference, testing::ValuesIn(quantized_formats()), name_of_format);

TEST(Floats, Bf16IsBitEqualToGgufPython) {
  const Format& bf16 = *find_format(Type::BF16);
  expect_fixture_decodes(bf16, file_bytes(fixture_path(bf16)));
}

TEST(Floats, DecodeAllSixteenBitPatterns) {
  std::vector<uint16_t> words(65536);
  for (uint32_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint16_t>(i);
  std::vector<float> out(words.size());
  find_format(Type::F16)->decode(reinterpret_cast<const std::byte*>(words.data()), out.data(), out.size());
  for (uint32_t i = 0; i < words.size(); ++i) ASSERT_EQ(bits(out[i]), bits(f16_to_f32(words[i]))) << i;
  find_format(Type::BF16)->decode(reinterpret_cast<const std::byte*>(words.data()), out.data(), out.size());
  for (uint32_t i = 0; i < words.size(); ++i) ASSERT_EQ(bits(out[i]), i << 16) << i;
}

TEST(Floats, EncodeRoundsToNearestEven) {
  const std::vector<float> values = {1.0f,           -0.0f,    65504.0f,   1.00048828125f,
                                     1.00146484375f, 0x1p-24f, 0x1.8p-24f, 0x1p-26f};
  std::vector<uint16_t> out(values.size());
  find_format(Type::F16)->encode(values.data(), reinterpret_cast<std::byte*>(out.data()), out.size(),
                                 nullptr);
  EXPECT_EQ(out, (std::vector<uint16_t>{0x3c00, 0x8000, 0x7bff, 0x3c00, 0x3c02, 1, 2, 0}));
  find_format(Type::BF16)
      ->encode(values.data(), reinterpret_cast<std::byte*>(out.data()), out.size(), nullptr);
  EXPECT_EQ(out, (std::vector<uint16_t>{0x3f80, 0x8000, 0x4780, 0x3f80, 0x3f80, 0x3380, 0x33c0, 0x3280}));
}

// Blocks lie at any byte of a file.
TEST_P(Reference, BlocksNeedNoAlignment) {
  const Format& format = *GetParam();
  const size_t n = 3 * format.block_values;
  std::vector<std::byte> blocks(row_bytes(format, n)), shifted(blocks.size() + 1);
  random_blocks(format, blocks.data(), n, 3, 1.0f);
  std::memcpy(shifted.data() + 1, blocks.data(), blocks.size());
  std::vector<float> a(n), b(n);
  format.decode(blocks.data(), a.data(), n);
  format.decode(shifted.data() + 1, b.data(), n);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), n * sizeof(float)), 0);
  EXPECT_EQ(format.find_non_finite(shifted.data() + 1, n), -1);
}

}  // namespace
}  // namespace brass
