#include "model/model.h"

#include <algorithm>

#include "gguf/vocab.h"
#include "model/architecture.h"

namespace brass {

#define X(id) extern const Architecture arch_##id;
#include "architectures.inc"
#undef X

std::span<const Architecture* const> all_architectures() {
  static const Architecture* const list[] = {
#define X(id) &arch_##id,
#include "architectures.inc"
#undef X
  };
  return list;
}

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture* a : all_architectures())
    if (a->name == name) return a;
  return nullptr;
}

namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::unexpected<Error> unknown_architecture(const gguf::File& file, std::string_view name) {
  std::string names;
  const Architecture* closest = nullptr;
  for (const Architecture* a : all_architectures()) {
    names += (names.empty() ? "" : ", ") + std::string(a->name);
    if (closest == nullptr || edit_distance(name, a->name) < edit_distance(name, closest->name)) closest = a;
  }
  return file.key_error("general.architecture", fmt::format("is '{}', which is not supported", name),
                        fmt::format("supported: {}; the closest name is '{}'", names, closest->name));
}

}  // namespace

Result<std::unique_ptr<Model>> describe_model(std::unique_ptr<gguf::File> file) {
  auto model = std::make_unique<Model>();
  model->file = std::move(file);
  const gguf::File& f = *model->file;
  const std::string name = TRY(f.get_string("general.architecture"));
  const Architecture* architecture = find_architecture(name);
  if (architecture == nullptr) return unknown_architecture(f, name);

  Builder b(f, name);
  TRY_VOID(architecture->describe(b));
  model->graph = TRY(b.finish(b.logits));
  model->vocab = TRY(gguf::read_vocab(f));

  ModelInfo& info = model->info;
  info.architecture = name;
  info.layers = TRY(b.count("block_count", kMaxLayers));
  info.context_length = TRY(b.count("context_length", 1u << 30));
  info.embedding_length = TRY(b.count("embedding_length", kMaxWidth));
  info.vocabulary = model->graph->values[static_cast<size_t>(model->graph->logits)].width;
  if (!model->vocab.tokens.empty() && model->vocab.tokens.size() > info.vocabulary)
    return f.key_error("tokenizer.ggml.tokens",
                       fmt::format("has {} tokens, but the model has logits for {} only",
                                   model->vocab.tokens.size(), info.vocabulary));
  return model;
}

Result<std::unique_ptr<Model>> load_model(const std::string& path) {
  return describe_model(std::make_unique<gguf::File>(TRY(gguf::File::open(path))));
}

}  // namespace brass
