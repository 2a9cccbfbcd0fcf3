#include "gguf/parse.h"

#include <fmt/ranges.h>

#include <bit>

namespace brass::gguf {
namespace {

constexpr size_t kLeastKeyBytes = 8 + 1 + 4 + 1;  // length, one character, type, the smallest value
constexpr size_t kLeastTensorBytes =
    8 + 1 + 4 + 8 + 4 + 8;  // length, one character, dims, one dim, type, offset

bool starts_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

// What a file that is not GGUF most likely is.
std::unexpected<Error> not_gguf(std::span<const std::byte> bytes) {
  if (starts_with(bytes, "version https://git-lfs")) {
    return fail_hint("run 'git lfs pull' where it came from", "is a Git LFS pointer, not the model itself");
  }
  if (starts_with(bytes, "<!DOCTYPE") || starts_with(bytes, "<html")) {
    return fail_hint("download the file again, by its direct link", "is a web page, not a GGUF file");
  }
  for (const std::string_view magic : {"lmgg", "tjgg", "algg", "fmgg", "GGML"}) {
    if (starts_with(bytes, magic)) {
      return fail_hint("convert the model to GGUF again", "is a GGML file of before GGUF: not supported");
    }
  }
  const bool archive = starts_with(bytes, "PK\x03\x04");
  const bool safetensors = bytes.size() > 9 && static_cast<char>(bytes[8]) == '{';
  if (archive || safetensors) {
    return fail_hint("convert it to GGUF first", "is a {} file, not GGUF",
                     archive ? "PyTorch or ZIP" : "safetensors");
  }
  return fail_hint("check that this is a .gguf model", "is not a GGUF file: it does not begin with 'GGUF'");
}

Result<uint32_t> read_version(Cursor& cursor, std::span<const std::byte> bytes) {
  uint32_t magic = 0, version = 0;
  if (!starts_with(bytes, "GGUF") || !cursor.read(magic)) return not_gguf(bytes);
  if (!cursor.read(version)) return fail("the file ends inside its header");
  if (version == 2 || version == 3) return version;
  const uint32_t swapped = std::byteswap(version);
  if (swapped >= 1 && swapped <= 0xffff) {
    return fail_hint("convert the model for little-endian machines",
                     "is a big-endian GGUF file (version {}): not supported", swapped);
  }
  return fail_hint("convert the model again", "is GGUF version {}: supported are 2 and 3", version);
}

Result<uint64_t> read_count(Cursor& cursor, std::string_view field, size_t least_bytes) {
  uint64_t count = 0;
  if (!cursor.read(count)) return fail("the file ends inside its header, at {}", field);
  if (count > kMaxEntries) return fail("{} is {}: the limit is {}", field, count, kMaxEntries);
  if (count > cursor.remaining() / least_bytes) {
    return fail("{} is {}, but only {} bytes follow", field, count, cursor.remaining());
  }
  return count;
}

// Reads a key or a tensor's name: `what` is "key" or "tensor".
Result<std::string> read_name(Cursor& cursor, std::string_view what, uint64_t index) {
  std::string_view name;
  if (!cursor.read_string(name))
    return fail("the name of {} {} reaches past the end of the file", what, index);
  if (name.empty() || name.size() > kMaxNameBytes) {
    return fail("the name of {} {} has {} bytes: 1 to {} are allowed", what, index, name.size(),
                kMaxNameBytes);
  }
  return std::string(name);
}

Result<Value> read_entry_value(Cursor& cursor) {
  uint32_t type = 0;
  if (!cursor.read(type)) return fail("the file ends before the value's type");
  if (type >= kMetaTypes) return fail("has the unknown value type {}", type);
  return read_value(cursor, static_cast<MetaType>(type));
}

Result<std::vector<Entry>> read_metadata(Cursor& cursor, uint64_t count) {
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; i++) {
    Entry entry;
    entry.key = TRY(read_name(cursor, "key", i));
    entry.value = TRY(within(fmt::format("key {}", quoted(entry.key)), read_entry_value(cursor)));
    entries.push_back(std::move(entry));
  }
  const auto order = order_by_name(entries, [](const Entry& e) -> const std::string& { return e.key; });
  if (!order) return fail("key {}: stands twice in the file", quoted(entries[order.error()].key));
  return entries;
}

Result<uint32_t> read_alignment(const std::vector<Entry>& metadata) {
  const Value* value = find_in(metadata, "general.alignment");
  if (value == nullptr) return kDefaultAlignment;
  const uint64_t alignment = TRY(within("key \"general.alignment\"", to_uint(*value)));
  TRY(within("key \"general.alignment\"", check_alignment(alignment)));
  return static_cast<uint32_t>(alignment);
}

// Fills in everything but data and file_offset. Errors do not name the tensor: the caller does.
Result<uint64_t> read_tensor_body(Cursor& cursor, TensorInfo& tensor) {
  uint32_t n_dims = 0, type = 0;
  uint64_t offset = 0;
  if (!cursor.read(n_dims)) return fail("the file ends inside the tensor's entry");
  if (n_dims < 1 || n_dims > kMaxDims)
    return fail("has {} dimensions: 1 to {} are allowed", n_dims, kMaxDims);
  tensor.n_dims = static_cast<int>(n_dims);
  tensor.dims = {1, 1, 1, 1};
  for (uint32_t i = 0; i < n_dims; i++) {
    if (!cursor.read(tensor.dims[i])) return fail("the file ends inside the tensor's entry");
  }
  if (!cursor.read(type) || !cursor.read(offset)) return fail("the file ends inside the tensor's entry");
  tensor.type = static_cast<Type>(type);

  tensor.bytes = TRY(tensor_bytes(tensor.type, std::span(tensor.dims).first(n_dims)));
  tensor.format = find_format(tensor.type);
  return offset;
}

// Turns the offset of the tensor's entry, relative to the data section, into its bytes.
Result<> place_tensor(TensorInfo& tensor, uint64_t offset, uint64_t data_start, uint32_t alignment,
                      std::span<const std::byte> file) {
  if (offset % alignment != 0)
    return fail("its offset {} is not a multiple of the alignment {}", offset, alignment);
  const uint64_t available = file.size() > data_start ? file.size() - data_start : 0;
  if (offset > available || tensor.bytes > available - offset) {
    return fail_hint("the file may be cut off: compare its size, or download it again",
                     "its {} bytes at offset {} reach past the end of the file ({} bytes of tensor data)",
                     tensor.bytes, offset, available);
  }
  tensor.file_offset = data_start + offset;
  tensor.data = file.subspan(tensor.file_offset, tensor.bytes);
  return {};
}

Result<> check_overlaps(const std::vector<TensorInfo>& tensors) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return tensors[a].file_offset < tensors[b].file_offset; });
  for (size_t i = 1; i < order.size(); i++) {
    const TensorInfo& before = tensors[order[i - 1]];
    const TensorInfo& tensor = tensors[order[i]];
    if (before.file_offset + before.bytes > tensor.file_offset) {
      return fail("tensor {}: its bytes overlap those of {}", quoted(tensor.name), quoted(before.name));
    }
  }
  return {};
}

Result<std::vector<TensorInfo>> read_tensors(Cursor& cursor, uint64_t count, uint32_t alignment,
                                             std::span<const std::byte> file) {
  std::vector<TensorInfo> tensors;
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i < count; i++) {
    TensorInfo tensor;
    tensor.name = TRY(read_name(cursor, "tensor", i));
    offsets.push_back(
        TRY(within(fmt::format("tensor {}", quoted(tensor.name)), read_tensor_body(cursor, tensor))));
    tensors.push_back(std::move(tensor));
  }
  const auto order = order_by_name(tensors, [](const TensorInfo& t) -> const std::string& { return t.name; });
  if (!order) return fail("tensor {}: stands twice in the file", quoted(tensors[order.error()].name));
  const uint64_t data_start = (cursor.position() + uint64_t{alignment} - 1) / alignment * alignment;
  for (uint64_t i = 0; i < count; i++) {
    TRY(within(fmt::format("tensor {}", quoted(tensors[i].name)),
               place_tensor(tensors[i], offsets[i], data_start, alignment, file)));
  }
  TRY(check_overlaps(tensors));
  return tensors;
}

}  // namespace

const Value* find_in(const std::vector<Entry>& metadata, std::string_view key) {
  const auto at =
      std::find_if(metadata.begin(), metadata.end(), [&](const Entry& e) { return e.key == key; });
  return at == metadata.end() ? nullptr : &at->value;
}

BlockLayout block_layout(Type type) {
  switch (type) {
    case Type::I8:
      return {1, 1};
    case Type::I16:
      return {1, 2};
    case Type::I32:
      return {1, 4};
    case Type::I64:
    case Type::F64:
      return {1, 8};
    default:
      break;
  }
  const Format* format = find_format(type);
  return format == nullptr ? BlockLayout{0, 0} : BlockLayout{format->block_values, format->block_bytes};
}

std::string type_name(Type type) {
  switch (type) {
    case Type::I8:
      return "I8";
    case Type::I16:
      return "I16";
    case Type::I32:
      return "I32";
    case Type::I64:
      return "I64";
    case Type::F64:
      return "F64";
    default:
      break;
  }
  const Format* format = find_format(type);
  return format == nullptr ? fmt::format("type {}", static_cast<uint32_t>(type)) : std::string(format->name);
}

Result<> check_alignment(uint64_t alignment) {
  if (std::has_single_bit(alignment) && alignment >= 8 && alignment <= kMaxAlignment) return {};
  return fail("is {}, not a power of two from 8 to {}", alignment, kMaxAlignment);
}

Result<uint64_t> tensor_bytes(Type type, std::span<const uint64_t> dims) {
  if (dims.empty() || dims.size() > kMaxDims) {
    return fail("has {} dimensions: 1 to {} are allowed", dims.size(), kMaxDims);
  }
  const BlockLayout block = block_layout(type);
  if (block.values == 0) {
    return fail_hint(fmt::format("supported are {}", supported_format_names()), "has the unknown type id {}",
                     static_cast<uint32_t>(type));
  }
  uint64_t values = 1, bytes = 0;
  for (size_t i = 0; i < dims.size(); i++) {
    if (dims[i] == 0) return fail("dimension {} is 0", i);
    if (__builtin_mul_overflow(values, dims[i], &values))
      return fail("its dimensions {} overflow", fmt::join(dims, " x "));
  }
  if (dims[0] % block.values != 0) {
    return fail("its rows of {} values are not whole blocks of {} ({})", dims[0], block.values,
                type_name(type));
  }
  if (__builtin_mul_overflow(values / block.values, block.bytes, &bytes)) {
    return fail("its dimensions {} overflow", fmt::join(dims, " x "));
  }
  return bytes;
}

std::string dims_text(const TensorInfo& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.dims.begin(), tensor.dims.begin() + tensor.n_dims, ", "));
}

Result<ParsedPart> parse_part(std::span<const std::byte> bytes) {
  Cursor cursor(bytes);
  ParsedPart part;
  part.version = TRY(read_version(cursor, bytes));
  const uint64_t n_tensors = TRY(read_count(cursor, "tensor_count", kLeastTensorBytes));
  const uint64_t n_keys = TRY(read_count(cursor, "metadata_kv_count", kLeastKeyBytes));
  part.metadata = TRY(read_metadata(cursor, n_keys));
  part.alignment = TRY(read_alignment(part.metadata));
  part.tensors = TRY(read_tensors(cursor, n_tensors, part.alignment, bytes));
  return part;
}

}  // namespace brass::gguf
