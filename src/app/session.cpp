#include "app/session.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "app/terminal.h"
#include "backend/cpu/device.h"
#include "backend/ref/ref.h"
#include "backend/vulkan/device.h"
#include "hub/store.h"

namespace brass::app {

void declare_model(Arguments& arguments, ModelFlags& flags) {
  arguments.operand("MODEL", flags.model, "a GGUF file, or the name of a stored model (brass list)");
  arguments.option("--store", flags.store, "folder of the model store");
}

void declare_device(Arguments& arguments, ModelFlags& flags) {
  arguments.choice(
      "--device", flags.device, {"cpu", "vulkan", "ref"},
      "what computes: the CPU, a GPU through Vulkan (right, not fast yet), or the slow reference");
  arguments.option("--gpu", flags.gpu,
                   "which Vulkan device (brass devices; default: the first that is no CPU)");
  arguments.option("--isa", flags.isa, "CPU kernel tier (default: the best that this machine has)");
  arguments.option("--threads", flags.threads, "threads (0: as many as this process may use)");
  arguments.option("--context", flags.context,
                   "tokens of context (0: what the model was made for, at most 32768)");
  arguments.option("--kv-type", flags.kv_type,
                   "KV cache: f16 (default), f32, bf16 or int8; 'K,V' for two different ones");
}

Result<std::string> find_model(const ModelFlags& flags) {
  const std::string folder = flags.store.empty() ? TRY(hub::Store::default_folder()) : flags.store;
  ProgressBar bar("Checking");
  return hub::Store(folder).resolve(flags.model,
                                    [&](uint64_t done, uint64_t total) { bar.update(done, total); });
}

namespace {

Result<KvType> parse_kv_type(std::string_view text) {
  for (const KvType type : {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kInt8})
    if (text == kv_type_name(type)) return type;
  return wrong_use("flag --kv-type: '{}' is none of f32, f16, bf16, int8", text);
}

}  // namespace

Result<std::pair<KvType, KvType>> kv_types(const ModelFlags& flags) {
  if (flags.kv_type.empty()) {
    const KvType usual = flags.device == "ref" ? KvType::kF32 : KvType::kF16;
    return std::pair{usual, usual};
  }
  const size_t comma = flags.kv_type.find(',');
  const KvType k = TRY(parse_kv_type(flags.kv_type.substr(0, comma)));
  const KvType v = comma == std::string::npos ? k : TRY(parse_kv_type(flags.kv_type.substr(comma + 1)));
  if (flags.device == "ref" && (k != KvType::kF32 || v != KvType::kF32))
    return wrong_use("flag --kv-type: the reference device keeps f32 only");
  return std::pair{k, v};
}

namespace {

// Models with two sets of rotation factors: the context up to which the first holds. Others: 0.
uint32_t long_rotation_above(const Graph& graph) {
  for (const Op& op : graph.ops)
    if (op.kind == OpKind::kRopeTable && !op.as<RopeTableAttrs>().long_inv_freq.empty())
      return op.as<RopeTableAttrs>().long_above;
  return 0;
}

}  // namespace

Result<std::unique_ptr<Device>> open_device(const ModelFlags& flags, std::function<Result<>()> check_source) {
  const auto [k, v] = TRY(kv_types(flags));
  if (flags.device == "ref") {
    if (!flags.isa.empty()) return wrong_use("flag --isa: the reference device has no kernel tiers");
    return make_ref_device({.threads = flags.threads == 0 ? usable_cpus() : flags.threads,
                            .check_source = std::move(check_source)});
  }
  if (flags.device != "vulkan" && flags.gpu >= 0) return wrong_use("flag --gpu: goes with --device vulkan");
  if (flags.device == "vulkan") {
    if (!flags.isa.empty()) return wrong_use("flag --isa: kernel tiers are the CPU's");
    return make_vulkan_device(
        {.index = flags.gpu, .k_type = k, .v_type = v, .check_source = std::move(check_source)});
  }
  Result<std::unique_ptr<Device>> device =
      make_cpu_device({.threads = flags.threads, .isa = flags.isa, .k_type = k, .v_type = v});
  if (!device) device.error().wrong_use = true;  // only flags can be wrong here
  return device;
}

Result<std::unique_ptr<Engine>> open_engine(const ModelFlags& flags, EngineOptions options) {
  return open_engine(flags, TRY(load_model(TRY(find_model(flags)))), options);
}

Result<std::unique_ptr<Engine>> open_engine(const ModelFlags& flags, std::unique_ptr<Model> model,
                                            EngineOptions options) {
  const auto [k, v] = TRY(kv_types(flags));
  options.k_type = k;
  options.v_type = v;
  if (flags.context != 0) options.context = flags.context;
  std::unique_ptr<Device> device =
      TRY(open_device(flags, [file = model->file.get()] { return file->check(); }));
  const uint32_t long_above = long_rotation_above(*model->graph);
  ProgressBar bar("Loading");
  std::unique_ptr<Engine> engine =
      TRY(Engine::create(std::move(model), std::move(device), options,
                         [&](uint64_t done, uint64_t total) { bar.update(done, total); }));
  if (long_above > 0 && engine->context() > long_above)
    fmt::print(stderr,
               "brass: the context of {} tokens is above {}: the model's factors for long texts are used\n",
               engine->context(), long_above);
  return engine;
}

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const Model& model) {
  if (model.vocab.tokens.empty()) return std::unique_ptr<Tokenizer>();
  Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::create(model.vocab);
  if (!tokenizer) return std::unexpected(std::move(tokenizer.error()).within(model.file->path()));
  return tokenizer;
}

Result<std::unique_ptr<Tokenizer>> need_tokenizer(const Model& model, std::string_view what) {
  std::unique_ptr<Tokenizer> tokenizer = TRY(open_tokenizer(model));
  if (tokenizer == nullptr)
    return fail_hint("give token ids with --ids", "{}: the file has no vocabulary, which {} needs",
                     model.file->path(), what);
  return tokenizer;
}

ChatOptions chat_options(const VocabSpec& vocab) {
  const auto text = [&](int32_t id) {
    return id < 0 || static_cast<size_t>(id) >= vocab.tokens.size() ? ""
                                                                    : vocab.tokens[static_cast<size_t>(id)];
  };
  ChatOptions options;
  options.bos_token = text(vocab.bos);
  options.eos_token = text(vocab.eos);
  const char* epoch = std::getenv("SOURCE_DATE_EPOCH");  // reproducible-builds.org's convention
  if (epoch != nullptr && *epoch != 0) options.clock = std::strtoll(epoch, nullptr, 10);
  return options;
}

Result<std::string> read_text_file(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) return fail("{}: is a folder, not a file", path);
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail("{}: cannot be opened", path);
  text << in.rdbuf();
  if (in.bad()) return fail("{}: cannot be read", path);
  return text.str();
}

}  // namespace brass::app
