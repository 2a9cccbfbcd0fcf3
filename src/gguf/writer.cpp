#include "gguf/writer.h"

#include <algorithm>
#include <set>

#include "base/output_file.h"
#include "gguf/parse.h"

namespace brass::gguf {
namespace {

constexpr size_t kChunkBytes = 4 << 20;

class Bytes {
 public:
  template <class T>
    requires(std::is_arithmetic_v<T>)
  void put(T number) {
    const auto bytes = std::as_bytes(std::span(&number, 1));
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void put(std::string_view text) {
    put(static_cast<uint64_t>(text.size()));
    const auto bytes = std::as_bytes(std::span(text));
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void pad_to(uint64_t multiple) { out_.resize((out_.size() + multiple - 1) / multiple * multiple); }
  std::vector<std::byte> take() { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

Result<> put_payload(Bytes& out, const MetaValue& value, int depth);

Result<> put_array(Bytes& out, const MetaArray& array, int depth) {
  if (depth > kMaxArrayDepth) return fail("arrays are nested more than {} deep", kMaxArrayDepth);
  out.put(static_cast<uint32_t>(array.element));
  out.put(static_cast<uint64_t>(array.items.size()));
  for (const MetaValue& item : array.items) {
    if (item.type() != array.element) {
      return fail("an array of {} values holds a {}", meta_type_name(array.element),
                  meta_type_name(item.type()));
    }
    TRY(put_payload(out, item, depth + 1));
  }
  return {};
}

Result<> put_payload(Bytes& out, const MetaValue& value, int depth) {
  if (const auto* array = std::get_if<MetaArray>(&value.data)) return put_array(out, *array, depth);
  std::visit(
      [&](const auto& item) {
        using T = std::decay_t<decltype(item)>;
        if constexpr (std::is_same_v<T, bool>) {
          out.put(static_cast<uint8_t>(item));
        } else if constexpr (!std::is_same_v<T, MetaArray>) {
          out.put(item);
        }
      },
      value.data);
  return {};
}

Result<> check_name(std::string_view what, const std::string& name) {
  if (!name.empty() && name.size() <= kMaxNameBytes) return {};
  return fail("{} {}: a name has 1 to {} bytes", what, quoted(name), kMaxNameBytes);
}

}  // namespace

void Writer::set(std::string key, MetaValue value) {
  const auto at =
      std::find_if(metadata_.begin(), metadata_.end(), [&](const auto& entry) { return entry.first == key; });
  if (at != metadata_.end()) {
    at->second = std::move(value);
  } else {
    metadata_.emplace_back(std::move(key), std::move(value));
  }
}

void Writer::add_tensor(std::string name, Type type, std::vector<uint64_t> dims,
                        std::span<const std::byte> bytes) {
  // checked_sizes() compares the size before this is called.
  Source copy = [bytes](uint64_t offset, std::span<std::byte> out) -> Result<> {
    std::memcpy(out.data(), bytes.data() + offset, out.size());
    return {};
  };
  tensors_.push_back({std::move(name), type, std::move(dims), std::move(copy), bytes.size()});
}

void Writer::add_tensor(std::string name, Type type, std::vector<uint64_t> dims, Source source) {
  tensors_.push_back({std::move(name), type, std::move(dims), std::move(source), UINT64_MAX});
}

Result<uint32_t> Writer::checked_alignment() const {
  for (const auto& [key, value] : metadata_) {
    TRY(check_name("key", key));
    if (key != "general.alignment") continue;
    const auto* alignment = std::get_if<uint32_t>(&value.data);
    if (alignment == nullptr) return fail("key \"general.alignment\" is not a u32");
    TRY(within("key \"general.alignment\"", check_alignment(*alignment)));
    return *alignment;
  }
  return kDefaultAlignment;
}

Result<std::vector<uint64_t>> Writer::checked_sizes() const {
  std::vector<uint64_t> sizes;
  std::set<std::string_view> names;
  for (const Tensor& tensor : tensors_) {
    TRY(check_name("tensor", tensor.name));
    const std::string context = fmt::format("tensor {}", quoted(tensor.name));
    if (!names.insert(tensor.name).second) return fail("{}: is added twice", context);
    const uint64_t size = TRY(within(context, tensor_bytes(tensor.type, tensor.dims)));
    if (tensor.given_bytes != UINT64_MAX && tensor.given_bytes != size) {
      return fail("{}: {} bytes were given, but its shape takes {}", context, tensor.given_bytes, size);
    }
    sizes.push_back(size);
  }
  return sizes;
}

Result<std::vector<std::byte>> Writer::header(const std::vector<uint64_t>& sizes, uint32_t alignment) const {
  Bytes out;
  for (const char c : {'G', 'G', 'U', 'F'}) out.put(c);
  out.put(uint32_t{3});
  out.put(static_cast<uint64_t>(tensors_.size()));
  out.put(static_cast<uint64_t>(metadata_.size()));
  for (const auto& [key, value] : metadata_) {
    out.put(std::string_view(key));
    out.put(static_cast<uint32_t>(value.type()));
    TRY(within(fmt::format("key {}", quoted(key)), put_payload(out, value, 1)));
  }
  uint64_t offset = 0;
  for (size_t i = 0; i < tensors_.size(); i++) {
    out.put(std::string_view(tensors_[i].name));
    out.put(static_cast<uint32_t>(tensors_[i].dims.size()));
    for (const uint64_t dim : tensors_[i].dims) out.put(dim);
    out.put(static_cast<uint32_t>(tensors_[i].type));
    out.put(offset);
    offset += (sizes[i] + alignment - 1) / alignment * alignment;
  }
  out.pad_to(alignment);
  return out.take();
}

Result<> Writer::write_to(const Sink& sink) const {
  const uint32_t alignment = TRY(checked_alignment());
  const std::vector<uint64_t> sizes = TRY(checked_sizes());
  const std::vector<std::byte> head = TRY(header(sizes, alignment));
  TRY(sink(head));
  std::vector<std::byte> chunk;
  for (size_t i = 0; i < tensors_.size(); i++) {
    const uint64_t block = block_layout(tensors_[i].type).bytes;
    const uint64_t step = kChunkBytes / block * block;
    for (uint64_t at = 0; at < sizes[i]; at += step) {
      chunk.resize(std::min(step, sizes[i] - at));
      TRY(within(fmt::format("tensor {}", quoted(tensors_[i].name)), tensors_[i].source(at, chunk)));
      TRY(sink(chunk));
    }
    chunk.assign((alignment - sizes[i] % alignment) % alignment, std::byte{0});
    TRY(sink(chunk));
  }
  return {};
}

Result<> Writer::write(const std::string& path) const {
  OutputFile file = TRY(OutputFile::create(path));
  TRY(within(path, write_to([&](std::span<const std::byte> bytes) { return file.write(bytes); })));
  return file.commit();
}

Result<> Writer::write_hollow(const std::string& path) const {
  const uint32_t alignment = TRY(within(path, checked_alignment()));
  const std::vector<uint64_t> sizes = TRY(within(path, checked_sizes()));
  const std::vector<std::byte> head = TRY(within(path, header(sizes, alignment)));
  uint64_t bytes = head.size();
  for (const uint64_t size : sizes) bytes += (size + alignment - 1) / alignment * alignment;
  OutputFile file = TRY(OutputFile::create(path));
  TRY_VOID(file.write(head));
  TRY_VOID(file.extend(bytes));
  return file.commit();
}

Result<std::vector<std::byte>> Writer::to_bytes() const {
  std::vector<std::byte> out;
  TRY(write_to([&](std::span<const std::byte> bytes) -> Result<> {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return {};
  }));
  return out;
}

}  // namespace brass::gguf
