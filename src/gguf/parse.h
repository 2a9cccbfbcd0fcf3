// The header of one GGUF part, parsed from untrusted bytes. Inside of src/gguf only.
//
// Errors name the field, key or tensor, not the file: the caller adds that.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "gguf/gguf.h"

namespace brass::gguf {

struct ParsedPart {
  uint32_t version = 0;
  uint32_t alignment = kDefaultAlignment;  // bytes
  std::vector<Entry> metadata;             // unique keys, file order
  std::vector<TensorInfo> tensors;         // file order; file_index is 0
};

Result<ParsedPart> parse_part(std::span<const std::byte> bytes);

// Indices of `entries` ordered by name, or the index of an entry whose name stood before.
template <class T, class Name>
std::expected<std::vector<uint32_t>, size_t> order_by_name(const std::vector<T>& entries, Name name);

const Value* find_in(const std::vector<Entry>& metadata, std::string_view key);

// Block layout of a type in files: {values, bytes} of a block; {0, 0} for an unknown type.
struct BlockLayout {
  uint64_t values, bytes;
};
BlockLayout block_layout(Type type);

// The rules of shape and alignment, shared with the writer. Errors name neither tensor nor key.
inline constexpr size_t kMaxNameBytes = 65535;  // the format's limit for keys; generous for tensors
Result<uint64_t> tensor_bytes(Type type, std::span<const uint64_t> dims);
Result<> check_alignment(uint64_t alignment);

}  // namespace brass::gguf

#include <algorithm>
#include <expected>
#include <numeric>

template <class T, class Name>
std::expected<std::vector<uint32_t>, size_t> brass::gguf::order_by_name(const std::vector<T>& entries,
                                                                        Name name) {
  std::vector<uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const int c = name(entries[a]).compare(name(entries[b]));
    return c != 0 ? c < 0 : a < b;
  });
  for (size_t i = 1; i < order.size(); i++) {
    if (name(entries[order[i]]) == name(entries[order[i - 1]])) return std::unexpected<size_t>(order[i]);
  }
  return order;
}
