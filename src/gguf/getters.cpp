#include "gguf/gguf.h"

namespace brass::gguf {

template <class T, class F>
File::Found<T> File::convert(std::string_view key, F to) const {
  const Value* value = find_key(key);
  if (value == nullptr) return std::nullopt;
  auto converted = to(*value);
  if (!converted)
    return key_error(key, std::move(converted.error().message), std::move(converted.error().hint));
  return std::optional<T>(T(std::move(*converted)));
}

template <class T>
Result<T> File::require(std::string_view key, Found<T> found) const {
  if (!found) return std::unexpected(std::move(found).error());
  if (!*found) return key_error(key, "is missing from the file");
  return std::move(**found);
}

namespace {

template <class T>
Result<T> value_or(Result<std::optional<T>> found, T fallback) {
  if (!found) return std::unexpected(std::move(found).error());
  return std::move(*found).value_or(std::move(fallback));
}

// A scalar counts n times, an array must have n elements.
Result<std::vector<uint64_t>> to_uint_each(const Value& value, size_t n) {
  if (value.type != MetaType::Array) return std::vector<uint64_t>(n, TRY(to_uint(value)));
  if (value.count != n) return fail("is an array of {} values, not {}", value.count, n);
  return to_uint_array(value);
}

}  // namespace

File::Found<uint64_t> File::find_uint(std::string_view key, uint64_t min, uint64_t max) const {
  return convert<uint64_t>(key, [&](const Value& value) -> Result<uint64_t> {
    const uint64_t number = TRY(to_uint(value));
    if (number >= min && number <= max) return number;
    if (max == UINT64_MAX) return fail("is {}, but has to be at least {}", number, min);
    return fail("is {}, but has to be between {} and {}", number, min, max);
  });
}
Result<uint64_t> File::get_uint(std::string_view key, uint64_t min, uint64_t max) const {
  return require(key, find_uint(key, min, max));
}
Result<uint64_t> File::uint_or(std::string_view key, uint64_t fallback, uint64_t min, uint64_t max) const {
  return value_or(find_uint(key, min, max), fallback);
}

File::Found<int64_t> File::find_int(std::string_view key) const { return convert<int64_t>(key, to_int); }
Result<int64_t> File::get_int(std::string_view key) const { return require(key, find_int(key)); }
Result<int64_t> File::int_or(std::string_view key, int64_t fallback) const {
  return value_or(find_int(key), fallback);
}

File::Found<double> File::find_float(std::string_view key) const { return convert<double>(key, to_float); }
Result<double> File::get_float(std::string_view key) const { return require(key, find_float(key)); }
Result<double> File::float_or(std::string_view key, double fallback) const {
  return value_or(find_float(key), fallback);
}

File::Found<bool> File::find_bool(std::string_view key) const { return convert<bool>(key, to_bool); }
Result<bool> File::get_bool(std::string_view key) const { return require(key, find_bool(key)); }
Result<bool> File::bool_or(std::string_view key, bool fallback) const {
  return value_or(find_bool(key), fallback);
}

File::Found<std::string> File::find_string(std::string_view key) const {
  return convert<std::string>(key, to_string);
}
Result<std::string> File::get_string(std::string_view key) const { return require(key, find_string(key)); }
Result<std::string> File::string_or(std::string_view key, std::string_view fallback) const {
  return value_or(find_string(key), std::string(fallback));
}

File::Found<std::vector<uint64_t>> File::find_uint_array(std::string_view key) const {
  return convert<std::vector<uint64_t>>(key, to_uint_array);
}
Result<std::vector<uint64_t>> File::get_uint_array(std::string_view key) const {
  return require(key, find_uint_array(key));
}

File::Found<std::vector<int64_t>> File::find_int_array(std::string_view key) const {
  return convert<std::vector<int64_t>>(key, to_int_array);
}
Result<std::vector<int64_t>> File::get_int_array(std::string_view key) const {
  return require(key, find_int_array(key));
}

File::Found<std::vector<float>> File::find_float_array(std::string_view key) const {
  return convert<std::vector<float>>(key, to_float_array);
}
Result<std::vector<float>> File::get_float_array(std::string_view key) const {
  return require(key, find_float_array(key));
}

File::Found<std::vector<uint8_t>> File::find_bool_array(std::string_view key) const {
  return convert<std::vector<uint8_t>>(key, to_bool_array);
}
Result<std::vector<uint8_t>> File::get_bool_array(std::string_view key) const {
  return require(key, find_bool_array(key));
}

File::Found<std::vector<std::string_view>> File::find_string_array(std::string_view key) const {
  return convert<std::vector<std::string_view>>(key, to_string_array);
}
Result<std::vector<std::string_view>> File::get_string_array(std::string_view key) const {
  return require(key, find_string_array(key));
}

File::Found<std::vector<uint64_t>> File::find_uint_each(std::string_view key, size_t n) const {
  return convert<std::vector<uint64_t>>(key, [&](const Value& value) { return to_uint_each(value, n); });
}
Result<std::vector<uint64_t>> File::get_uint_each(std::string_view key, size_t n) const {
  return require(key, find_uint_each(key, n));
}

}  // namespace brass::gguf
