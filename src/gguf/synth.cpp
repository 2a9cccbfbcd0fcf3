#include "gguf/synth.h"

#include "gguf/gguf.h"
#include "quant/random_blocks.h"

namespace brass::gguf {
namespace {

// FNV-1a over the name: a tensor's values depend on its name and the seed, not on its place in the list.
uint64_t seed_of(const SynthSpec& spec, const SynthTensor& tensor) {
  uint64_t hash = 0xcbf29ce484222325u ^ spec.seed;
  for (const char c : tensor.name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

Result<Writer::Source> make_source(const SynthSpec& spec, const SynthTensor& tensor) {
  const Format* format = find_format(tensor.type);
  if (format == nullptr) {
    return fail_hint(fmt::format("supported are {}", supported_format_names()),
                     "tensor {}: {} cannot be filled", quoted(tensor.name), type_name(tensor.type));
  }
  if (tensor.offset != 0 && tensor.type != Type::F32) {
    return fail("tensor {}: only F32 tensors can have an offset", quoted(tensor.name));
  }
  const float magnitude = tensor.magnitude != 0 ? tensor.magnitude : spec.magnitude;
  return [format, magnitude, shift = tensor.offset, seed = seed_of(spec, tensor)](
             uint64_t offset, std::span<std::byte> out) -> Result<> {
    random_blocks(*format, out.data(), out.size() / format->block_bytes * format->block_values, seed + offset,
                  magnitude);
    if (shift == 0) return {};
    for (size_t i = 0; i < out.size(); i += sizeof(float)) {
      float value;
      std::memcpy(&value, out.data() + i, sizeof(float));
      value += shift;
      std::memcpy(out.data() + i, &value, sizeof(float));
    }
    return {};
  };
}

}  // namespace

Result<> synthesize(const SynthSpec& spec, const std::string& path) {
  Writer writer;
  writer.set("general.architecture", spec.architecture);
  for (const auto& [key, value] : spec.metadata) writer.set(key, value);
  for (const SynthTensor& tensor : spec.tensors) {
    writer.add_tensor(tensor.name, tensor.type, tensor.dims, TRY(make_source(spec, tensor)));
  }
  return writer.write(path);
}

}  // namespace brass::gguf
