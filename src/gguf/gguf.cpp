#include "gguf/gguf.h"

#include <algorithm>

#include "gguf/parse.h"

namespace brass::gguf {
namespace {

// "NAME-00002-of-00003.gguf" taken apart.
struct SplitName {
  std::string prefix;  // with folder: ".../NAME"
  uint64_t count;

  std::string part(uint64_t index) const {
    return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, index + 1, count);
  }
};

std::optional<SplitName> parse_split_name(const std::string& path) {
  constexpr std::string_view kShape = "-#####-of-#####.gguf";
  if (path.size() <= kShape.size()) return std::nullopt;
  const std::string_view tail = std::string_view(path).substr(path.size() - kShape.size());
  for (size_t i = 0; i < kShape.size(); i++) {
    const bool digit = tail[i] >= '0' && tail[i] <= '9';
    if (kShape[i] == '#' ? !digit : tail[i] != kShape[i]) return std::nullopt;
  }
  return SplitName{path.substr(0, path.size() - kShape.size()), std::stoull(std::string(tail.substr(10, 5)))};
}

Result<uint64_t> split_key(const std::vector<Entry>& metadata, std::string_view key) {
  const Value* value = find_in(metadata, key);
  if (value == nullptr) return fail("key \"{}\" is missing from a part of a split file", key);
  return within(fmt::format("key \"{}\"", key), to_uint(*value));
}

}  // namespace

Result<File> File::open(const std::string& path) {
  Part part{path, TRY(Mapping::open(path)), {}, 0, 0};
  part.bytes = part.mapping->bytes();
  File file;
  std::vector<Entry> metadata;
  TRY(file.add_part(std::move(part), metadata));
  if (find_in(metadata, "split.count") != nullptr) {
    const uint64_t count = TRY(within(path, split_key(metadata, "split.count")));
    if (count > 1) {
      File all;
      TRY(all.open_split(path, metadata));
      return all;
    }
  }
  file.metadata_ = std::move(metadata);
  TRY(file.finish());
  return file;
}

Result<File> File::from_memory(std::span<const std::byte> bytes, std::string name) {
  File file;
  std::vector<Entry> metadata;
  TRY(file.add_part(Part{std::move(name), nullptr, bytes, 0, 0}, metadata));
  if (find_in(metadata, "split.count") != nullptr) {
    const uint64_t count = TRY(within(file.path(), split_key(metadata, "split.count")));
    if (count > 1) return fail("{}: is a part of a split file, which memory does not hold", file.path());
  }
  file.metadata_ = std::move(metadata);
  TRY(file.finish());
  return file;
}

Result<> File::add_part(Part part, std::vector<Entry>& metadata) {
  ParsedPart parsed = TRY(within(part.path, parse_part(part.bytes)));
  part.version = parsed.version;
  part.alignment = parsed.alignment;
  metadata = std::move(parsed.metadata);
  for (TensorInfo& tensor : parsed.tensors) {
    tensor.file_index = parts_.size();
    tensors_.push_back(std::move(tensor));
  }
  parts_.push_back(std::move(part));
  return {};
}

// `metadata`: of the part that the user named.
Result<> File::open_split(const std::string& path, const std::vector<Entry>& metadata) {
  const uint64_t count = TRY(within(path, split_key(metadata, "split.count")));
  const auto name = parse_split_name(path);
  if (!name || name->count != count) {
    return fail_hint(
        "give it its original name back",
        "{}: is one of the {} parts of a split file, but its name does not end in -NNNNN-of-{:05}.gguf", path,
        count, count);
  }
  for (uint64_t i = 0; i < count; i++) {
    Part part{name->part(i), nullptr, {}, 0, 0};
    auto mapping = Mapping::open(part.path);
    if (!mapping) {
      mapping.error().hint =
          fmt::format("{} is split into {} parts: all have to be in one folder", path, count);
      return std::unexpected(std::move(mapping).error());
    }
    part.mapping = std::move(*mapping);
    part.bytes = part.mapping->bytes();
    std::vector<Entry> part_metadata;
    TRY(add_part(std::move(part), part_metadata));
    TRY(within(parts_.back().path, check_split_part(i, count, part_metadata)));
    if (i == 0) metadata_ = std::move(part_metadata);
  }
  const uint64_t expected = TRY(within(parts_[0].path, split_key(metadata_, "split.tensors.count")));
  if (expected != tensors_.size()) {
    return key_error("split.tensors.count",
                     fmt::format("is {}, but the parts hold {}", expected, tensors_.size()));
  }
  return finish();
}

Result<> File::check_split_part(size_t index, uint64_t count, const std::vector<Entry>& metadata) const {
  const uint64_t number = TRY(split_key(metadata, "split.no"));
  const uint64_t its_count = TRY(split_key(metadata, "split.count"));
  if (number != index) return fail("key \"split.no\" is {}, but the file's name says {}", number, index);
  if (its_count != count)
    return fail("key \"split.count\" is {}, but another part says {}", its_count, count);
  return {};
}

Result<> File::finish() {
  auto keys = order_by_name(metadata_, [](const Entry& e) -> const std::string& { return e.key; });
  auto names = order_by_name(tensors_, [](const TensorInfo& t) -> const std::string& { return t.name; });
  if (!keys) return key_error(metadata_[keys.error()].key, "stands twice in the file");
  if (!names) return tensor_error(tensors_[names.error()].name, "stands twice in the file");
  keys_by_name_ = std::move(*keys);
  tensors_by_name_ = std::move(*names);
  return check();
}

Result<> File::check() const {
  for (const Part& part : parts_) {
    if (part.mapping != nullptr) TRY(part.mapping->check());
  }
  return {};
}

uint64_t File::total_bytes() const {
  uint64_t total = 0;
  for (const Part& part : parts_) total += part.bytes.size();
  return total;
}

const Value* File::find_key(std::string_view key) const {
  const auto at = std::lower_bound(keys_by_name_.begin(), keys_by_name_.end(), key,
                                   [&](uint32_t i, std::string_view k) { return metadata_[i].key < k; });
  return at == keys_by_name_.end() || metadata_[*at].key != key ? nullptr : &metadata_[*at].value;
}

const TensorInfo* File::find(std::string_view name) const {
  const auto at = std::lower_bound(tensors_by_name_.begin(), tensors_by_name_.end(), name,
                                   [&](uint32_t i, std::string_view n) { return tensors_[i].name < n; });
  return at == tensors_by_name_.end() || tensors_[*at].name != name ? nullptr : &tensors_[*at];
}

Result<const TensorInfo*> File::get(std::string_view name) const {
  const TensorInfo* tensor = find(name);
  if (tensor == nullptr) return tensor_error(name, "is missing from the file");
  return tensor;
}

std::unexpected<Error> File::key_error(std::string_view key, std::string text, std::string hint) const {
  return fail_hint(std::move(hint), "{}: key {}: {}", path(), quoted(key), text);
}

std::unexpected<Error> File::tensor_error(std::string_view tensor, std::string text, std::string hint) const {
  return fail_hint(std::move(hint), "{}: tensor {}: {}", path(), quoted(tensor), text);
}

}  // namespace brass::gguf
