// Metadata values as they lie in a GGUF file: typed views, nothing copied.
//
// Owns: the value types of the format, the checked walk over encoded values, conversions to C++ types,
// printing. Must not know: what any key means. Invariants: a Value's bytes were checked against the file when
// it was made. The file may have been overwritten since then, so reading an array's elements checks every
// length again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace brass::gguf {

// Ids as they stand in files (ggml's docs/gguf.md, "gguf_metadata_value_type").
enum class MetaType : uint32_t {
  U8 = 0,
  I8 = 1,
  U16 = 2,
  I16 = 3,
  U32 = 4,
  I32 = 5,
  F32 = 6,
  Bool = 7,
  String = 8,
  Array = 9,
  U64 = 10,
  I64 = 11,
  F64 = 12,
};
inline constexpr uint32_t kMetaTypes = 13;
inline constexpr int kMaxArrayDepth = 4;  // arrays inside arrays; published files use 1

std::string_view meta_type_name(MetaType type);  // "u32", "string", "array", ...
size_t meta_type_bytes(MetaType type);           // bytes of one value; 0 for String and Array
bool is_integer(MetaType type);

struct Value {
  MetaType type = MetaType::U8;
  MetaType element = MetaType::U8;   // of an Array: the type of its elements
  uint64_t count = 1;                // of an Array: the number of its elements
  std::span<const std::byte> bytes;  // a number's bytes, a string's characters, an array's encoded elements
};

// Reads forward over untrusted bytes. Every read answers false instead of leaving them.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}
  size_t position() const { return at_; }
  size_t remaining() const { return bytes_.size() - at_; }

  bool take(uint64_t count, std::span<const std::byte>& out) {
    if (count > remaining()) return false;
    out = bytes_.subspan(at_, count);
    at_ += count;
    return true;
  }
  template <class T>
  bool read(T& out) {
    if (remaining() < sizeof(T)) return false;
    std::memcpy(&out, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return true;
  }
  bool read_string(std::string_view& out) {
    uint64_t length = 0;
    std::span<const std::byte> characters;
    if (!read(length) || !take(length, characters)) return false;
    out = {reinterpret_cast<const char*>(characters.data()), characters.size()};
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

// Reads one value of `type` at the cursor; on an error the cursor's position is meaningless.
Result<Value> read_value(Cursor& cursor, MetaType type);

// Conversions. Errors read "is a string, not a non-negative integer": the caller adds the key.
Result<uint64_t> to_uint(const Value& value);            // any integer type, not negative
Result<int64_t> to_int(const Value& value);              // any integer type that fits
Result<double> to_float(const Value& value);             // f32 or f64, finite
Result<bool> to_bool(const Value& value);                // bool, 0 or 1
Result<std::string_view> to_string(const Value& value);  // raw bytes, any encoding, may hold NUL
Result<std::vector<uint64_t>> to_uint_array(const Value& value);
Result<std::vector<int64_t>> to_int_array(const Value& value);
Result<std::vector<float>> to_float_array(const Value& value);  // f32 or f64, finite after rounding to f32
Result<std::vector<uint8_t>> to_bool_array(const Value& value);
Result<std::vector<std::string_view>> to_string_array(const Value& value);
Result<std::vector<Value>> to_items(const Value& value);  // an array of anything, one level down

// For people: numbers, "text" (quoted, escaped, cut after 120 bytes), [a, b, … 1234 values].
std::string print(const Value& value, size_t max_items = 6);

// `text` with quotes around it, control bytes and invalid UTF-8 escaped, cut after `max_bytes`: safe on a
// terminal.
std::string quoted(std::string_view text, size_t max_bytes = 120);

}  // namespace brass::gguf
