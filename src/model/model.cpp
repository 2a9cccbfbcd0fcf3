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

// <arch>.pooling_type; 0 to 3 are Pooling's.
Result<std::optional<Pooling>> read_pooling(const gguf::File& file, const std::string& architecture) {
  constexpr uint64_t kRank = 4;
  const std::string key = architecture + ".pooling_type";
  const std::optional<uint64_t> found = TRY(file.find_uint(key));
  if (!found) return std::optional<Pooling>();
  if (*found == kRank) return file.key_error(key, "is 4: models that rank pairs of texts are not supported");
  if (*found > kRank)
    return file.key_error(key,
                          fmt::format("is {}, expected 0 (none), 1 (mean), 2 (cls) or 3 (last)", *found));
  return std::optional<Pooling>(static_cast<Pooling>(*found));
}

// Every architecture's file may say that its attention looks both ways; the description has to have heard it.
Result<> check_causal(const gguf::File& file, const Graph& graph) {
  const std::string key = graph.architecture + ".attention.causal";
  if (TRY(file.bool_or(key, true))) return {};
  for (const Op& op : graph.ops)
    if (op.kind == OpKind::kAttention && op.as<AttentionAttrs>().causal)
      return file.key_error(key,
                            fmt::format("is false, which is not supported in architecture '{}' (layer {})",
                                        graph.architecture, op.layer));
  return {};
}

// Token ids that the graph reads.
uint32_t vocabulary_of(const Graph& graph) {
  if (graph.logits >= 0) return graph.values[static_cast<size_t>(graph.logits)].width;
  for (const Op& op : graph.ops)
    if (op.kind == OpKind::kEmbed && op.as<EmbedAttrs>().index == EmbedIndex::kToken)
      return graph.weights[static_cast<size_t>(op.weights[0])].rows;
  return 0;
}

// What `purpose.draft` needs of a file.
Result<> check_draft(const gguf::File& file, const std::string& architecture, const ModelPurpose& purpose) {
  if (!purpose.draft) return {};
  if (purpose.embeddings)
    return fail("{}: blocks that predict further tokens go with text, not with embeddings", file.path());
  const std::string key = architecture + ".nextn_predict_layers";
  if (TRY(file.uint_or(key, 0)) == 0)
    return file.key_error(key, "is 0 or missing: the file has no blocks that predict further tokens");
  return {};
}

}  // namespace

Result<> need_logits(const Model& model, std::string_view what) {
  if (model.graph->logits >= 0) return {};
  return fail_hint("brass embed MODEL TEXT makes them",
                   "{}: architecture '{}' makes embeddings, not text, which {} needs", model.file->path(),
                   model.info.architecture, what);
}

Result<> need_decoding(const Model& model, std::string_view what) {
  TRY_VOID(need_logits(model, what));
  if (model.graph->needs_whole_texts())
    return fail("{}: the model reads whole texts ({}.attention.causal is false), and {} goes on with them",
                model.file->path(), model.info.architecture, what);
  return {};
}

Result<std::unique_ptr<Model>> describe_model(std::unique_ptr<gguf::File> file, const ModelPurpose& purpose) {
  auto model = std::make_unique<Model>();
  model->file = std::move(file);
  const gguf::File& f = *model->file;
  const std::string name = TRY(f.get_string("general.architecture"));
  const Architecture* architecture = find_architecture(name);
  if (architecture == nullptr) return unknown_architecture(f, name);

  model->info.pooling = TRY(read_pooling(f, name));
  model->output = {.embeddings = purpose.embeddings || architecture->embeddings_only,
                   .pooling = purpose.pooling.value_or(model->info.pooling.value_or(Pooling::kNone)),
                   .normalize = purpose.normalize};
  model->output.draft = purpose.draft;
  TRY_VOID(check_draft(f, name, purpose));
  Builder b(f, name, model->output);
  TRY_VOID(architecture->describe(b));
  std::vector<std::shared_ptr<const Graph>> graphs = TRY(b.finish());
  if (purpose.draft && graphs.size() == 1)
    return fail("{}: blocks that predict further tokens are not supported in architecture '{}'", f.path(),
                name);
  for (const std::shared_ptr<const Graph>& graph : graphs) TRY_VOID(check_causal(f, *graph));
  model->graph = std::move(graphs.front());
  model->drafts.assign(std::next(graphs.begin()), graphs.end());
  model->vocab = TRY(gguf::read_vocab(f));

  ModelInfo& info = model->info;
  info.architecture = name;
  info.layers = TRY(b.count("block_count", kMaxLayers));
  info.context_length = TRY(b.count("context_length", 1u << 30));
  info.embedding_length = TRY(b.count("embedding_length", kMaxWidth));
  info.vocabulary = vocabulary_of(*model->graph);
  if (!model->vocab.tokens.empty() && model->vocab.tokens.size() > info.vocabulary)
    return f.key_error(
        "tokenizer.ggml.tokens",
        fmt::format("has {} tokens, but the model has {} for {} only", model->vocab.tokens.size(),
                    model->graph->logits >= 0 ? "logits" : "embeddings", info.vocabulary));
  return model;
}

Result<std::unique_ptr<Model>> load_model(const std::string& path, const ModelPurpose& purpose) {
  return describe_model(std::make_unique<gguf::File>(TRY(gguf::File::open(path))), purpose);
}

}  // namespace brass
