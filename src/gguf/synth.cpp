#include "gguf/synth.h"

#include <cstring>
#include <map>
#include <memory>

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

void add_offset(std::span<std::byte> out, float offset) {
  for (size_t i = 0; i < out.size(); i += sizeof(float)) {
    float value;
    std::memcpy(&value, out.data() + i, sizeof(float));
    value += offset;
    std::memcpy(out.data() + i, &value, sizeof(float));
  }
}

// Blocks of one format, drawn once.
using Pool = std::shared_ptr<const std::vector<std::byte>>;

Pool make_pool(const Format& format, uint64_t seed, float magnitude) {
  constexpr size_t kPoolBytes = 8 << 20;
  const size_t blocks = kPoolBytes / format.block_bytes;
  auto pool = std::make_shared<std::vector<std::byte>>(blocks * format.block_bytes);
  random_blocks(format, pool->data(), blocks * format.block_values, seed, magnitude);
  return pool;
}

// Each tensor begins elsewhere in the pool.
Writer::Source pooled_source(Pool pool, uint32_t block_bytes, uint64_t seed, float shift) {
  return [pool, shift, start = seed % (pool->size() / block_bytes) * block_bytes](
             uint64_t offset, std::span<std::byte> out) -> Result<> {
    size_t at = (start + offset) % pool->size();
    for (size_t done = 0; done < out.size(); at = 0) {
      const size_t n = std::min(out.size() - done, pool->size() - at);
      std::memcpy(out.data() + done, pool->data() + at, n);
      done += n;
    }
    if (shift != 0) add_offset(out, shift);
    return {};
  };
}

using Pools = std::map<std::pair<Type, float>, Pool>;

Result<Writer::Source> make_source(const SynthSpec& spec, const SynthTensor& tensor, Pools& pools) {
  const Format* format = find_format(tensor.type);
  if (format == nullptr) {
    return fail_hint(fmt::format("supported are {}", supported_format_names()),
                     "tensor {}: {} cannot be filled", quoted(tensor.name), type_name(tensor.type));
  }
  if (tensor.offset != 0 && tensor.type != Type::F32) {
    return fail("tensor {}: only F32 tensors can have an offset", quoted(tensor.name));
  }
  const float magnitude = tensor.magnitude != 0 ? tensor.magnitude : spec.magnitude;
  if (spec.pooled) {
    Pool& pool = pools[{tensor.type, magnitude}];
    if (!pool) pool = make_pool(*format, spec.seed, magnitude);
    return pooled_source(pool, format->block_bytes, seed_of(spec, tensor), tensor.offset);
  }
  return [format, magnitude, shift = tensor.offset, seed = seed_of(spec, tensor)](
             uint64_t offset, std::span<std::byte> out) -> Result<> {
    random_blocks(*format, out.data(), out.size() / format->block_bytes * format->block_values, seed + offset,
                  magnitude);
    if (shift != 0) add_offset(out, shift);
    return {};
  };
}

}  // namespace

Result<> synthesize(const SynthSpec& spec, const std::string& path) {
  Writer writer;
  Pools pools;
  writer.set("general.architecture", spec.architecture);
  for (const auto& [key, value] : spec.metadata) writer.set(key, value);
  for (const SynthTensor& tensor : spec.tensors) {
    writer.add_tensor(tensor.name, tensor.type, tensor.dims, TRY(make_source(spec, tensor, pools)));
  }
  return spec.hollow ? writer.write_hollow(path) : writer.write(path);
}

}  // namespace brass::gguf
