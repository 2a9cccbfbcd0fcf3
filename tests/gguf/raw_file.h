// GGUF bytes put together by hand, so that tests can say things that no writer would.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/gguf.h"

namespace brass::gguf {

class RawFile {
 public:
  RawFile(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
    raw("GGUF");
    put(version).put(tensors).put(keys);
  }
  template <class T>
    requires(std::is_arithmetic_v<T>)
  RawFile& put(T number) {
    const auto part = std::as_bytes(std::span(&number, 1));
    bytes_.insert(bytes_.end(), part.begin(), part.end());
    return *this;
  }
  RawFile& raw(std::string_view text) {
    const auto part = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), part.begin(), part.end());
    return *this;
  }
  RawFile& string(std::string_view text) { return put(uint64_t{text.size()}).raw(text); }
  RawFile& key(std::string_view name, MetaType type) { return string(name).put(static_cast<uint32_t>(type)); }
  RawFile& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset) {
    string(name).put(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) put(dim);
    return put(type).put(offset);
  }
  RawFile& pad(size_t multiple = 32) {
    bytes_.resize((bytes_.size() + multiple - 1) / multiple * multiple);
    return *this;
  }
  RawFile& zeros(size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }

  std::span<const std::byte> bytes() const { return bytes_; }
  // "" if the file is accepted, else the error.
  std::string error() const {
    const auto file = File::from_memory(bytes_, "x.gguf");
    return file ? "" : file.error().message;
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace brass::gguf
