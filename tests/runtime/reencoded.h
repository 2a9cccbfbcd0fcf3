// A model file with its tensors in another format.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "gguf/gguf.h"
#include "gguf/writer.h"

namespace brass {

template <class T>
gguf::MetaValue number_value(const gguf::Value& value) {
  T number;
  std::memcpy(&number, value.bytes.data(), sizeof number);
  return number;
}

inline gguf::MetaValue meta_value(const gguf::Value& value) {
  using gguf::MetaType;
  switch (value.type) {
    case MetaType::U8:
      return number_value<uint8_t>(value);
    case MetaType::I8:
      return number_value<int8_t>(value);
    case MetaType::U16:
      return number_value<uint16_t>(value);
    case MetaType::I16:
      return number_value<int16_t>(value);
    case MetaType::U32:
      return number_value<uint32_t>(value);
    case MetaType::I32:
      return number_value<int32_t>(value);
    case MetaType::F32:
      return number_value<float>(value);
    case MetaType::Bool:
      return number_value<bool>(value);
    case MetaType::U64:
      return number_value<uint64_t>(value);
    case MetaType::I64:
      return number_value<int64_t>(value);
    case MetaType::F64:
      return number_value<double>(value);
    case MetaType::String:
      return std::string(*to_string(value));
    case MetaType::Array:
      break;
  }
  gguf::MetaArray array{value.element, {}};
  const std::vector<gguf::Value> items = *to_items(value);
  for (const gguf::Value& item : items) array.items.push_back(meta_value(item));
  return array;
}

// Writes `from` as `to` with every tensor in `type` whose rows are whole blocks of it; the others stay as they are. The
// file's tensors are F32.
inline void reencode(const std::string& from, const std::string& to, Type type) {
  const auto file = gguf::File::open(from);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  const Format& format = *find_format(type);
  gguf::Writer writer;
  for (const gguf::Entry& entry : file->metadata()) writer.set(entry.key, meta_value(entry.value));
  std::deque<std::vector<std::byte>> encoded;
  for (const gguf::TensorInfo& t : file->tensors()) {
    const std::vector<uint64_t> dims(t.dims.begin(), t.dims.begin() + t.n_dims);
    if (dims[0] % format.block_values != 0) {
      writer.add_tensor(t.name, t.type, dims, t.data);
      continue;
    }
    ASSERT_EQ(t.type, Type::F32) << t.name;
    std::vector<float> values(t.data.size() / sizeof(float));
    std::memcpy(values.data(), t.data.data(), t.data.size());
    auto& blocks = encoded.emplace_back(row_bytes(format, values.size()));
    format.encode(values.data(), blocks.data(), values.size(), nullptr);
    writer.add_tensor(t.name, type, dims, blocks);
  }
  const Result<> written = writer.write(to);
  ASSERT_TRUE(written.has_value()) << written.error().message;
}

}  // namespace brass
