// What the tests of the formats share: the reference files, parameter lists, the comparison of bits.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quant/format.h"
#include "shared_data.h"

namespace brass {

inline uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

inline std::vector<const Format*> formats_where(bool (*wanted)(const Format&)) {
  std::vector<const Format*> out;
  for (const Format* f : all_formats()) {
    if (wanted(*f)) out.push_back(f);
  }
  return out;
}
inline std::vector<const Format*> every_format() {
  return formats_where([](const Format&) { return true; });
}
inline std::vector<const Format*> quantized_formats() {
  return formats_where([](const Format& f) { return f.group != 0; });
}
inline std::vector<const Format*> encoding_formats() {
  return formats_where([](const Format& f) { return f.encode != nullptr; });
}

inline std::string lower_case(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

inline std::string name_of_format(const testing::TestParamInfo<const Format*>& info) {
  return std::string(info.param->name);
}

inline std::vector<std::byte> file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(in), {}};
  std::vector<std::byte> out(chars.size());
  std::memcpy(out.data(), chars.data(), chars.size());
  return out;
}

inline std::vector<float> file_floats(const std::string& path) {
  const auto raw = file_bytes(path);
  std::vector<float> out(raw.size() / sizeof(float));
  std::memcpy(out.data(), raw.data(), out.size() * sizeof(float));
  return out;
}

struct ReferenceData {
  std::vector<float> source;      // 4 rows of 4,096
  std::vector<std::byte> blocks;  // the source as llama.cpp encoded it
  std::vector<float> values;      // the blocks as llama.cpp decoded them
};

// The files of a format are named as it is, in lower case but for the K.
inline std::optional<ReferenceData> reference_data(const Format& format) {
  std::string name = lower_case(format.name);
  if (name.back() == 'k') name.back() = 'K';
  const auto source = shared_data("quant/" + name + ".src.f32");
  const auto blocks = shared_data("quant/" + name + ".blocks");
  const auto values = shared_data("quant/" + name + ".f32");
  if (!source || !blocks || !values) return std::nullopt;
  ReferenceData data{file_floats(*source), file_bytes(*blocks), file_floats(*values)};
  EXPECT_EQ(data.values.size(), 16384u);
  EXPECT_EQ(data.blocks.size(), row_bytes(format, data.values.size())) << format.name;
  return data;
}

}  // namespace brass
