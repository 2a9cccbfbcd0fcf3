// A GGUF model file, checked and mapped: typed metadata and tensors whose bytes lie in the mapping.
//
// Owns: the mappings of all parts of a (possibly split) file, the metadata index, the tensor list.
// Must not know: what a key means (but for general.alignment and split.*), what a tensor is for.
// Invariants: after open() every count, offset, size and string length was checked against the file, every
// tensor's bytes lie inside its part, tensors do not overlap, keys and tensor names are unique, every
// tensor's type is known and its rows are whole blocks. Opening allocates in proportion to the entries that
// the file really holds, never to the counts that it claims. Contents of tensors are not read. If the file
// shrinks later, reads give zeros and Mapping::check() of its part says so.
//
// The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Versions 2 and 3, little-endian.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapping.h"
#include "base/result.h"
#include "gguf/value.h"
#include "quant/format.h"

namespace brass::gguf {

inline constexpr int kMaxDims = 4;
inline constexpr uint32_t kDefaultAlignment = 32;
inline constexpr uint64_t kMaxAlignment = 1 << 20;
inline constexpr uint64_t kMaxEntries = 1 << 20;  // keys in a file, and tensors in a file

struct Entry {
  std::string key;
  Value value;
};

struct TensorInfo {
  std::string name;
  Type type = Type::F32;
  const Format* format = nullptr;  // nullptr for I8 … I64 and F64
  std::array<uint64_t, kMaxDims>
      dims{};          // in values; dims[0] is the row length and varies fastest; 1 beyond n_dims
  int n_dims = 0;      // 1 … kMaxDims
  uint64_t bytes = 0;  // size in the file, without padding
  std::span<const std::byte> data;  // `bytes` bytes in the mapping
  size_t file_index = 0;            // the part that holds it
  size_t file_offset = 0;           // bytes from the start of that part

  uint64_t rows() const { return dims[1] * dims[2] * dims[3]; }
  uint64_t values() const { return dims[0] * rows(); }
};

// "I32", "Q4_K", ...; "type 99" for an unknown id.
std::string type_name(Type type);
// "[4096, 32000]"
std::string dims_text(const TensorInfo& tensor);

class File {
 public:
  // Opens `path` and, if it is one part of a split file (NAME-00002-of-00003.gguf), all the others beside it.
  // Errors name the file and the key, tensor or field.
  static Result<File> open(const std::string& path);
  // The same over bytes that outlive the File (fuzzing, tests). `name` stands for the path. Split files are
  // refused.
  static Result<File> from_memory(std::span<const std::byte> bytes, std::string name);

  const std::string& path() const { return parts_[0].path; }  // of the first part
  uint32_t version() const { return parts_[0].version; }
  uint32_t alignment() const { return parts_[0].alignment; }  // bytes

  // The parts; mapping(i) is nullptr for a File made by from_memory.
  size_t part_count() const { return parts_.size(); }
  const std::string& part_path(size_t i) const { return parts_[i].path; }
  size_t part_bytes(size_t i) const { return parts_[i].bytes.size(); }
  const Mapping* mapping(size_t i) const { return parts_[i].mapping.get(); }
  uint64_t total_bytes() const;
  Result<> check() const;  // every part's Mapping::check(): call it after reading tensors

  // ---- metadata (of the first part), in file order
  const std::vector<Entry>& metadata() const { return metadata_; }
  const Value* find_key(std::string_view key) const;
  bool has(std::string_view key) const { return find_key(key) != nullptr; }

  // get_*: an absent key is an error. find_*: an absent key is nullopt. *_or: an absent key is `fallback`.
  // A wrong type is an error in all of them; every error names file and key.
  template <class T>
  using Found = Result<std::optional<T>>;
  Result<uint64_t> get_uint(std::string_view key, uint64_t min = 0, uint64_t max = UINT64_MAX) const;
  Found<uint64_t> find_uint(std::string_view key, uint64_t min = 0, uint64_t max = UINT64_MAX) const;
  Result<uint64_t> uint_or(std::string_view key, uint64_t fallback, uint64_t min = 0,
                           uint64_t max = UINT64_MAX) const;
  Result<int64_t> get_int(std::string_view key) const;
  Found<int64_t> find_int(std::string_view key) const;
  Result<int64_t> int_or(std::string_view key, int64_t fallback) const;
  Result<double> get_float(std::string_view key) const;  // f32 or f64, finite
  Found<double> find_float(std::string_view key) const;
  Result<double> float_or(std::string_view key, double fallback) const;
  Result<bool> get_bool(std::string_view key) const;
  Found<bool> find_bool(std::string_view key) const;
  Result<bool> bool_or(std::string_view key, bool fallback) const;
  Result<std::string> get_string(std::string_view key) const;
  Found<std::string> find_string(std::string_view key) const;
  Result<std::string> string_or(std::string_view key, std::string_view fallback) const;

  Result<std::vector<uint64_t>> get_uint_array(std::string_view key) const;
  Found<std::vector<uint64_t>> find_uint_array(std::string_view key) const;
  Result<std::vector<int64_t>> get_int_array(std::string_view key) const;
  Found<std::vector<int64_t>> find_int_array(std::string_view key) const;
  Result<std::vector<float>> get_float_array(std::string_view key) const;
  Found<std::vector<float>> find_float_array(std::string_view key) const;
  Result<std::vector<uint8_t>> get_bool_array(std::string_view key) const;
  Found<std::vector<uint8_t>> find_bool_array(std::string_view key) const;
  // Views into the mapping: they live as long as the File.
  Result<std::vector<std::string_view>> get_string_array(std::string_view key) const;
  Found<std::vector<std::string_view>> find_string_array(std::string_view key) const;

  // Exactly n values: an array of n, or a scalar that counts for all n (head_count and the like, per layer or
  // not).
  Result<std::vector<uint64_t>> get_uint_each(std::string_view key, size_t n) const;
  Found<std::vector<uint64_t>> find_uint_each(std::string_view key, size_t n) const;

  // An error about a key or a tensor in the words of this file, for checks that only the caller can make.
  std::unexpected<Error> key_error(std::string_view key, std::string text, std::string hint = {}) const;
  std::unexpected<Error> tensor_error(std::string_view tensor, std::string text, std::string hint = {}) const;

  // ---- tensors, in file order, part after part
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const TensorInfo* find(std::string_view name) const;
  Result<const TensorInfo*> get(std::string_view name) const;  // an absent tensor is an error that names it

 private:
  struct Part {
    std::string path;
    std::unique_ptr<Mapping> mapping;
    std::span<const std::byte> bytes;
    uint32_t version = 0;
    uint32_t alignment = 0;
  };

  template <class T, class F>
  Found<T> convert(std::string_view key, F to) const;
  template <class T>
  Result<T> require(std::string_view key, Found<T> found) const;
  Result<> add_part(Part part, std::vector<Entry>& metadata);
  Result<> open_split(const std::string& path, const std::vector<Entry>& metadata);
  Result<> check_split_part(size_t index, uint64_t count, const std::vector<Entry>& metadata) const;
  Result<> finish();

  std::vector<Part> parts_;
  std::vector<Entry> metadata_;
  std::vector<TensorInfo> tensors_;
  std::vector<uint32_t> keys_by_name_;     // indices into metadata_
  std::vector<uint32_t> tensors_by_name_;  // indices into tensors_
};

}  // namespace brass::gguf
