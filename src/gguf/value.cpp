#include "gguf/value.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace brass::gguf {
namespace {

constexpr std::array<std::string_view, kMetaTypes> kNames = {
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};
constexpr std::array<uint8_t, kMetaTypes> kSizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

constexpr size_t kPrintedBytes = 1000;  // an array's elements end there: nested ones multiply

template <class T>
T load(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// An integer of any width, as its sign and its 64 bits: u64 and i64 do not fit into one C++ type.
struct Integer {
  bool negative;
  uint64_t bits;  // two's complement
};

Integer from_signed(int64_t value) { return {value < 0, static_cast<uint64_t>(value)}; }

Integer load_integer(MetaType type, std::span<const std::byte> bytes) {
  switch (type) {
    case MetaType::U8:
      return {false, load<uint8_t>(bytes)};
    case MetaType::I8:
      return from_signed(load<int8_t>(bytes));
    case MetaType::U16:
      return {false, load<uint16_t>(bytes)};
    case MetaType::I16:
      return from_signed(load<int16_t>(bytes));
    case MetaType::U32:
      return {false, load<uint32_t>(bytes)};
    case MetaType::I32:
      return from_signed(load<int32_t>(bytes));
    case MetaType::U64:
      return {false, load<uint64_t>(bytes)};
    default:
      return from_signed(load<int64_t>(bytes));
  }
}

double load_float(MetaType type, std::span<const std::byte> bytes) {
  return type == MetaType::F32 ? static_cast<double>(load<float>(bytes)) : load<double>(bytes);
}

std::string describe(const Value& value) {
  if (value.type != MetaType::Array) return fmt::format("{} {}", meta_type_name(value.type), print(value));
  return fmt::format("an array of {} {} values", value.count, meta_type_name(value.element));
}

std::unexpected<Error> wrong_type(const Value& value, std::string_view wanted) {
  return fail("is {}, not {}", describe(value), wanted);
}

// The bytes of element `i` of an array of numbers.
std::span<const std::byte> element(const Value& array, uint64_t i) {
  const size_t size = meta_type_bytes(array.element);
  return array.bytes.subspan(i * size, size);
}

Result<bool> check_bool(std::span<const std::byte> bytes) {
  const auto raw = load<uint8_t>(bytes);
  if (raw > 1) return fail("is a bool whose byte is {}, not 0 or 1", raw);
  return raw == 1;
}

// Converts an array of numbers with `one`, a Result<T>(Value of one element).
template <class T, class F>
Result<std::vector<T>> convert_array(const Value& value, bool element_ok, std::string_view wanted, F one) {
  if (value.type != MetaType::Array || !element_ok) return wrong_type(value, wanted);
  std::vector<T> out;
  out.reserve(value.count);
  for (uint64_t i = 0; i < value.count; i++) {
    auto converted = one(Value{value.element, {}, 1, element(value, i)});
    if (!converted) return std::unexpected(std::move(converted.error()).within(fmt::format("element {}", i)));
    out.push_back(static_cast<T>(*converted));
  }
  return out;
}

Result<Value> read_array(Cursor& cursor, int depth);

// Moves over one value inside an array; `depth` counts the arrays around it.
Result<Value> read_nested(Cursor& cursor, MetaType type, int depth) {
  Value value{type, {}, 1, {}};
  if (type == MetaType::Array) return read_array(cursor, depth);
  if (type == MetaType::String) {
    std::string_view text;
    if (!cursor.read_string(text)) return fail("a string reaches past the end of the file");
    value.bytes = std::as_bytes(std::span(text));
    return value;
  }
  if (!cursor.take(meta_type_bytes(type), value.bytes)) return fail("the file ends inside the value");
  return value;
}

Result<Value> read_array(Cursor& cursor, int depth) {
  if (depth > kMaxArrayDepth) return fail("arrays are nested more than {} deep", kMaxArrayDepth);
  uint32_t type = 0;
  Value value{MetaType::Array, {}, 0, {}};
  if (!cursor.read(type) || !cursor.read(value.count)) return fail("the file ends inside an array's header");
  if (type >= kMetaTypes) return fail("has the unknown array element type {}", type);
  value.element = static_cast<MetaType>(type);

  // The least an element takes: a string or an array is at least its header.
  const size_t fixed = meta_type_bytes(value.element);
  const size_t least = fixed != 0 ? fixed : value.element == MetaType::String ? 8 : 12;
  if (value.count > cursor.remaining() / least) {
    return fail("says it is an array of {} {} values, but only {} bytes follow", value.count,
                meta_type_name(value.element), cursor.remaining());
  }
  Cursor elements = cursor;
  if (fixed != 0) {
    (void)elements.take(value.count * fixed, value.bytes);  // fits: checked above
  } else {
    for (uint64_t i = 0; i < value.count; i++) {
      std::string_view text;
      if (value.element == MetaType::String) {
        if (!elements.read_string(text)) return fail("element {} reaches past the end of the file", i);
      } else if (auto inner = read_array(elements, depth + 1); !inner) {
        return std::unexpected(std::move(inner.error()).within(fmt::format("element {}", i)));
      }
    }
  }
  (void)cursor.take(elements.position() - cursor.position(), value.bytes);
  return value;
}

}  // namespace

std::string_view meta_type_name(MetaType type) { return kNames[static_cast<uint32_t>(type)]; }

size_t meta_type_bytes(MetaType type) { return kSizes[static_cast<uint32_t>(type)]; }

bool is_integer(MetaType type) {
  return type <= MetaType::I32 || type == MetaType::U64 || type == MetaType::I64;
}

Result<Value> read_value(Cursor& cursor, MetaType type) { return read_nested(cursor, type, 1); }

Result<uint64_t> to_uint(const Value& value) {
  if (!is_integer(value.type)) return wrong_type(value, "a non-negative integer");
  const Integer integer = load_integer(value.type, value.bytes);
  if (integer.negative) return wrong_type(value, "a non-negative integer");
  return integer.bits;
}

Result<int64_t> to_int(const Value& value) {
  if (!is_integer(value.type)) return wrong_type(value, "an integer");
  const Integer integer = load_integer(value.type, value.bytes);
  if (!integer.negative && integer.bits > INT64_MAX) return wrong_type(value, "an integer below 2^63");
  return static_cast<int64_t>(integer.bits);
}

Result<double> to_float(const Value& value) {
  if (value.type != MetaType::F32 && value.type != MetaType::F64) return wrong_type(value, "a float");
  const double number = load_float(value.type, value.bytes);
  if (!std::isfinite(number)) return wrong_type(value, "a finite number");
  return number;
}

Result<bool> to_bool(const Value& value) {
  if (value.type != MetaType::Bool) return wrong_type(value, "a bool");
  return check_bool(value.bytes);
}

Result<std::string_view> to_string(const Value& value) {
  if (value.type != MetaType::String) return wrong_type(value, "a string");
  return std::string_view(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
}

Result<std::vector<uint64_t>> to_uint_array(const Value& value) {
  return convert_array<uint64_t>(value, is_integer(value.element), "an array of non-negative integers",
                                 to_uint);
}

Result<std::vector<int64_t>> to_int_array(const Value& value) {
  return convert_array<int64_t>(value, is_integer(value.element), "an array of integers", to_int);
}

Result<std::vector<float>> to_float_array(const Value& value) {
  const bool ok = value.element == MetaType::F32 || value.element == MetaType::F64;
  return convert_array<float>(value, ok, "an array of floats", [](const Value& one) -> Result<double> {
    auto number = to_float(one);
    if (number && !std::isfinite(static_cast<float>(*number)))
      return wrong_type(one, "a finite number in f32");
    return number;
  });
}

Result<std::vector<uint8_t>> to_bool_array(const Value& value) {
  return convert_array<uint8_t>(value, value.element == MetaType::Bool, "an array of bools", to_bool);
}

Result<std::vector<std::string_view>> to_string_array(const Value& value) {
  if (value.type != MetaType::Array || value.element != MetaType::String) {
    return wrong_type(value, "an array of strings");
  }
  std::vector<std::string_view> out(value.count);
  Cursor cursor(value.bytes);
  for (uint64_t i = 0; i < value.count; i++) {
    if (!cursor.read_string(out[i])) return fail("element {}: the file changed while it was in use", i);
  }
  return out;
}

Result<std::vector<Value>> to_items(const Value& value) {
  if (value.type != MetaType::Array) return wrong_type(value, "an array");
  std::vector<Value> out;
  out.reserve(value.count);
  Cursor cursor(value.bytes);
  for (uint64_t i = 0; i < value.count; i++) out.push_back(TRY(read_nested(cursor, value.element, 2)));
  return out;
}

std::string print(const Value& value, size_t max_items) {
  switch (value.type) {
    case MetaType::F32:
      return fmt::format("{}", load<float>(value.bytes));
    case MetaType::F64:
      return fmt::format("{}", load<double>(value.bytes));
    case MetaType::Bool:
      return load<uint8_t>(value.bytes) != 0 ? "true" : "false";
    case MetaType::String:
      return quoted({reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()});
    case MetaType::Array:
      break;
    default: {
      const Integer integer = load_integer(value.type, value.bytes);
      return integer.negative ? fmt::format("{}", static_cast<int64_t>(integer.bits))
                              : fmt::format("{}", integer.bits);
    }
  }
  std::string out = "[";
  Cursor cursor(value.bytes);
  uint64_t shown = 0;
  for (; shown < value.count && shown < max_items && out.size() < kPrintedBytes; shown++) {
    const auto item = read_nested(cursor, value.element, 2);
    if (shown != 0) out += ", ";
    out += item ? print(*item, max_items) : "?";
  }
  if (shown < value.count) out += fmt::format("{}… {} values", shown != 0 ? ", " : "", value.count);
  return out + "]";
}

}  // namespace brass::gguf
