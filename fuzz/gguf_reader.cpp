// The GGUF reader over any bytes: opening, every getter, printing, the vocabulary, the edges of every tensor.
// Beyond crashes: what was accepted must hold the promises of gguf.h.
#include <cstdint>
#include <cstdlib>

#include "gguf/gguf.h"
#include "gguf/vocab.h"

namespace {

using namespace brass;
using namespace brass::gguf;

void require(bool holds) {
  if (!holds) std::abort();
}

template <class T>
void bounded(const Result<std::vector<T>>& items, size_t file_bytes) {
  require(!items || items->size() <= file_bytes);
}

void read_metadata(const File& file, size_t file_bytes) {
  for (const Entry& entry : file.metadata()) {
    const std::string& key = entry.key;
    require(file.find_key(key) == &entry.value);
    require(print(entry.value).size() < 10000);
    (void)file.get_uint(key, 1, 100);
    (void)file.get_int(key);
    (void)file.get_float(key);
    (void)file.get_bool(key);
    (void)file.get_uint_each(key, 8);
    const auto text = file.get_string(key);
    require(!text || text->size() <= file_bytes);
    bounded(file.get_uint_array(key), file_bytes);
    bounded(file.get_int_array(key), file_bytes);
    bounded(file.get_float_array(key), file_bytes);
    bounded(file.get_bool_array(key), file_bytes);
    bounded(file.get_string_array(key), file_bytes);
    bounded(to_items(entry.value), file_bytes);
  }
}

void read_tensors(const File& file, std::span<const std::byte> bytes) {
  for (const TensorInfo& tensor : file.tensors()) {
    require(file.find(tensor.name) == &tensor);
    require(tensor.values() > 0 && tensor.bytes > 0 && tensor.bytes == tensor.data.size());
    require(tensor.data.data() == bytes.data() + tensor.file_offset);
    require(tensor.file_offset + tensor.bytes <= bytes.size());
    require(tensor.file_offset % file.alignment() == 0);
    if (tensor.format != nullptr) (void)tensor.format->find_non_finite(tensor.data.data(), tensor.values());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file = File::from_memory(bytes, "fuzz.gguf");
  if (!file) {
    require(!file.error().message.empty());
    return 0;
  }
  read_metadata(*file, size);
  read_tensors(*file, bytes);
  (void)read_vocab(*file);
  return 0;
}
