// Reads everything that a file offers, as a program that trusts the reader would.
#pragma once

#include "gguf/gguf.h"
#include "gguf/vocab.h"

namespace brass::gguf {

// The sum of what it saw, so that nothing is optimized away.
inline uint64_t exercise(const File& file) {
  uint64_t sum = 0;
  for (const Entry& entry : file.metadata()) {
    sum += print(entry.value).size() + file.find_key(entry.key)->count;
    sum += file.get_uint(entry.key).value_or(1) + static_cast<uint64_t>(file.get_int(entry.key).value_or(1));
    sum += file.get_float(entry.key).has_value() + file.get_bool(entry.key).has_value();
    sum += file.get_string(entry.key).value_or("").size();
    sum += file.get_uint_array(entry.key).has_value() + file.get_int_array(entry.key).has_value();
    sum += file.get_float_array(entry.key).has_value() + file.get_bool_array(entry.key).has_value();
    const auto strings = file.get_string_array(entry.key);
    if (strings) {
      for (const std::string_view text : *strings)
        sum += text.empty() ? 1 : static_cast<uint8_t>(text.back());
    }
    sum += to_items(entry.value).has_value() + file.get_uint_each(entry.key, 4).has_value();
  }
  for (const TensorInfo& tensor : file.tensors()) {
    sum += dims_text(tensor).size() + type_name(tensor.type).size() + tensor.values();
    sum += static_cast<uint64_t>(tensor.data.front()) + static_cast<uint64_t>(tensor.data.back());
    sum += file.find(tensor.name)->bytes;
  }
  const auto vocab = read_vocab(file);
  return sum + (vocab ? vocab->tokens.size() + vocab->merges.size() : vocab.error().message.size());
}

}  // namespace brass::gguf
