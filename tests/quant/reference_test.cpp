// Decode and the canonical view against blocks that llama.cpp encoded and decoded (shared data).
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <string>
#include <vector>

#include "quant_files.h"

namespace brass {
namespace {

class Reference : public testing::TestWithParam<const Format*> {};

TEST_P(Reference, DecodeIsBitEqual) {
  const Format& format = *GetParam();
  const auto data = reference_data(format);
  if (!data) GTEST_SKIP() << "no reference blocks of " << format.name;
  std::vector<float> decoded(data->values.size());
  format.decode(data->blocks.data(), decoded.data(), decoded.size());
  for (size_t i = 0; i < decoded.size(); ++i) {
    ASSERT_EQ(bits(decoded[i]), bits(data->values[i])) << format.name << " value " << i << ": " << decoded[i];
  }
}

INSTANTIATE_TEST_SUITE_P(All, Reference, testing::ValuesIn(quantized_formats()), name_of_format);

}  // namespace
}  // namespace brass
