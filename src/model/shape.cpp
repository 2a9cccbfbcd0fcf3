#include "model/shape.h"

#include <charconv>

#include "model/architecture.h"
#include "model/mix.h"

namespace brass {
namespace {

// Splits "blk.12.attn_q.bias" into 12 and "attn_q.bias"; false for other names.
bool split(std::string_view name, uint32_t& layer, std::string_view& rest) {
  if (!name.starts_with("blk.")) return false;
  const char* end = name.data() + name.size();
  const auto [next, error] = std::from_chars(name.data() + 4, end, layer);
  if (error != std::errc{} || next == end || *next != '.') return false;
  rest = std::string_view(next + 1, end);
  return true;
}

// "*", "3-" or "0-2".
bool in_range(std::string_view range, uint32_t layer) {
  if (range == "*") return true;
  uint32_t first = 0, last = UINT32_MAX;
  const char *begin = range.data(), *end = begin + range.size();
  const char* next = std::from_chars(begin, end, first).ptr;
  if (next == end) return layer == first;
  if (next + 1 < end) std::from_chars(next + 1, end, last);
  return layer >= first && layer <= last;
}

bool matches(std::string_view pattern, std::string_view name) {
  uint32_t layer = 0;
  std::string_view rest;
  if (!pattern.starts_with("blk.") || !split(name, layer, rest)) return pattern == name;
  pattern.remove_prefix(4);
  const size_t dot = pattern.find('.');
  return dot != std::string_view::npos && pattern.substr(dot + 1) == rest &&
         in_range(pattern.substr(0, dot), layer);
}

// A file of metadata only, and its bytes.
struct MetadataFile {
  std::vector<std::byte> bytes;
  std::unique_ptr<gguf::File> file;
};
Result<MetadataFile> metadata_file(const ShapeSpec& spec) {
  gguf::Writer writer;
  writer.set("general.architecture", spec.architecture);
  for (const auto& [key, value] : spec.metadata) writer.set(key, value);
  MetadataFile out{.bytes = TRY(writer.to_bytes()), .file = nullptr};
  out.file = std::make_unique<gguf::File>(TRY(gguf::File::from_memory(out.bytes, spec.architecture)));
  return out;
}

Result<std::shared_ptr<const Graph>> describe(const Architecture& architecture, const gguf::File& file,
                                              Wishes& wishes, bool draft) {
  Builder b(file, std::string(architecture.name),
            {.embeddings = architecture.embeddings_only, .draft = draft}, &wishes);
  TRY_VOID(architecture.describe(b));
  return TRY(b.finish()).front();
}

}  // namespace

bool Wishes::offers(std::string_view tensor) const {
  for (const std::string& pattern : spec_.optional)
    if (matches(pattern, tensor)) return true;
  return false;
}

uint64_t Wishes::rows(std::string_view tensor) const {
  if (tensor == "token_embd.weight") return spec_.vocabulary;
  for (const auto& [pattern, n] : spec_.rows)
    if (matches(pattern, tensor)) return n;
  return 0;
}

Type Wishes::note(const std::string& tensor, WeightKind kind, std::vector<uint64_t> dims) {
  const auto type = types.find(tensor);
  const Type found = type == types.end() ? Type::F32 : type->second;
  if (index_.emplace(tensor, tensors.size()).second)
    tensors.push_back({.name = tensor, .kind = kind, .dims = std::move(dims), .type = found});
  return found;
}

Result<Shaped> describe_shape(const ShapeSpec& spec, std::string_view mix) {
  const Architecture* architecture = find_architecture(spec.architecture);
  if (architecture == nullptr) return fail("architecture '{}' is not supported", spec.architecture);
  const MetadataFile metadata = TRY(metadata_file(spec));
  Wishes untyped(spec);
  const bool draft = TRY(metadata.file->uint_or(spec.architecture + ".nextn_predict_layers", 0)) > 0;
  TRY(describe(*architecture, *metadata.file, untyped, draft));
  const uint64_t experts = TRY(metadata.file->uint_or(spec.architecture + ".expert_count", 0));
  Wishes typed(spec);
  typed.types = TRY(mix_types(mix, untyped.tensors, static_cast<uint32_t>(experts)));
  Shaped out;
  out.graph = TRY(describe(*architecture, *metadata.file, typed, false));
  if (draft) TRY(describe(*architecture, *metadata.file, typed, true));
  out.tensors = std::move(typed.tensors);
  return out;
}

}  // namespace brass
