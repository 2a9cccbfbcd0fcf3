// Writes GGUF files, version 3, little-endian.
//
// Owns: metadata and tensors to be written, the layout of the file.
// Must not know: what keys mean (but for general.alignment).
// Invariants: what is written passes the checks of File; a file appears whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "gguf/value.h"
#include "quant/format.h"

namespace brass::gguf {

struct MetaValue;

struct MetaArray {
  MetaType element = MetaType::U8;
  std::vector<MetaValue> items;  // all of type `element`
};

// A value of any metadata type. The alternatives stand in the order of MetaType, so index() is the type.
// A C++ number keeps its type: int32_t becomes i32, uint64_t u64, double f64.
struct MetaValue {
  using Data = std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool, std::string,
                            MetaArray, uint64_t, int64_t, double>;
  Data data;

  template <class T>
    requires(std::is_arithmetic_v<T>)
  MetaValue(T number) : data(std::in_place_type<T>, number) {}
  MetaValue(std::string text) : data(std::move(text)) {}
  MetaValue(const char* text) : data(std::string(text)) {}
  MetaValue(MetaArray array) : data(std::move(array)) {}
  template <class T>
  MetaValue(const std::vector<T>& items);

  MetaType type() const { return static_cast<MetaType>(data.index()); }
};

template <class T>
MetaValue::MetaValue(const std::vector<T>& items) {
  MetaArray array{MetaValue(T{}).type(), {}};
  array.items.reserve(items.size());
  for (const auto& item : items) array.items.emplace_back(static_cast<T>(item));
  data = std::move(array);
}

class Writer {
 public:
  // Fills `out` with the tensor's bytes from `offset` on: whole blocks, in order, about 4 MiB a call.
  using Source = std::function<Result<>(uint64_t offset, std::span<std::byte> out)>;

  // Keys and tensors are written in the order of their first set/add; a second set replaces the value.
  // "general.alignment" (u32) is also obeyed.
  void set(std::string key, MetaValue value);
  // dims[0] is the row length. `bytes` must live until written.
  void add_tensor(std::string name, Type type, std::vector<uint64_t> dims, std::span<const std::byte> bytes);
  void add_tensor(std::string name, Type type, std::vector<uint64_t> dims, Source source);

  // Errors: names, shapes, sizes or an alignment that no reader accepts; the disk; what a source returns.
  Result<> write(const std::string& path) const;
  // All but the tensors' values, which are zeros and take no room on the disk.
  Result<> write_hollow(const std::string& path) const;
  Result<std::vector<std::byte>> to_bytes() const;

 private:
  struct Tensor {
    std::string name;
    Type type;
    std::vector<uint64_t> dims;
    Source source;
    uint64_t given_bytes;  // of the overload with bytes, UINT64_MAX for a source
  };
  using Sink = std::function<Result<>(std::span<const std::byte>)>;

  Result<uint32_t> checked_alignment() const;
  Result<std::vector<uint64_t>> checked_sizes() const;  // bytes of each tensor
  Result<std::vector<std::byte>> header(const std::vector<uint64_t>& sizes, uint32_t alignment) const;
  Result<> write_to(const Sink& sink) const;

  std::vector<std::pair<std::string, MetaValue>> metadata_;
  std::vector<Tensor> tensors_;
};

}  // namespace brass::gguf
