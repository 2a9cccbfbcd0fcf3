#include "app/session.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <tuple>

#include "app/byte_size.h"
#include "app/placement_flags.h"
#include "app/terminal.h"
#include "backend/cpu/device.h"
#include "backend/ref/ref.h"
#include "backend/split/split.h"
#include "backend/vulkan/device.h"
#include "hub/store.h"
#include "report/format.h"

namespace brass::app {

void declare_model(Arguments& arguments, ModelFlags& flags, const std::string& what) {
  arguments.operand("MODEL", flags.model, what);
  arguments.option("--store", flags.store, "folder of the model store");
}

void declare_device(Arguments& arguments, ModelFlags& flags) {
  arguments.choice("--device", flags.device, {"auto", "cpu", "vulkan", "ref"},
                   "what computes: the CPU, a GPU through Vulkan, or the slow reference (auto: a GPU with "
                   "room for the model, else the "
                   "CPU)");
  arguments.option("--gpu", flags.gpu,
                   "which Vulkan device (brass devices; default: the first that is no CPU)");
  arguments.option(
      "--device-memory", flags.device_memory,
      "how much of a GPU's memory may be used, as in 8GB (default: what its driver says is free)");
  arguments.option(
      "--gpu-layers", flags.gpu_layers,
      "how many of a model's last blocks a GPU does, the CPU the others; 'auto': as much as its memory "
      "holds, experts last (default: all)");
  arguments.choice("--experts-on", flags.experts_on, {"gpu", "cpu"},
                   "where a GPU does the rest: what does the experts of a mixture (default: gpu)");
  arguments.choice("--overlap", flags.overlap, {"off", "on"},
                   "on: programs of a GPU start while those before them end, in steps of few tokens; "
                   "an experiment, not yet proved on a card (default: off)");
  arguments.option("--isa", flags.isa, "CPU kernel tier (default: the best that this machine has)");
  arguments.option("--threads", flags.threads, "threads (0: as many as this process may use)");
  arguments.option("--context", flags.context,
                   "tokens of context (0: what the model was made for, at most 32768)");
  arguments.option("--kv-type", flags.kv_type,
                   "KV cache: f16 (default), f32, bf16 or int8; 'K,V' for two different ones");
}

void declare_prompt_products(Arguments& arguments, ModelFlags& flags) {
  arguments.choice(
      "--prompt-products", flags.prompt_products, {"auto", "matrix", "dots", "plain"},
      "what a GPU multiplies more than eight rows by: its matrix unit, packed dot products of int8, or f32 "
      "(auto: the first that it has)");
}

Result<std::string> find_model(const ModelFlags& flags) {
  const std::string folder = flags.store.empty() ? TRY(hub::Store::default_folder()) : flags.store;
  ProgressBar bar("Checking");
  return hub::Store(folder).resolve(flags.model,
                                    [&](uint64_t done, uint64_t total) { bar.update(done, total); });
}

namespace {

// Whether a driver of a GPU has put its file where it does on Linux. Asking Vulkan itself loads all of its drivers, the
// CPU's compiler among them, which most who have no GPU need not wait for.
bool may_have_gpu() {
  std::error_code ignored;
  for (const char* file : {"/dev/nvidia0", "/dev/dxg"})
    if (std::filesystem::exists(file, ignored)) return true;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/dri", ignored))
    if (entry.path().filename().string().starts_with("renderD")) return true;
  return false;
}

// The GPU that is taken without being asked for: the first discrete one that Brass can use, else the first integrated one.
std::optional<uint32_t> usual_gpu() {
  if (!may_have_gpu()) return std::nullopt;
  const Result<std::vector<VulkanInfo>> all = vulkan_devices();
  if (!all) {
    fmt::print(stderr, "brass: --device cpu, for Vulkan fails: {}\n", all.error().message);
    return std::nullopt;
  }
  for (const std::string_view kind : {"discrete", "integrated"})
    for (const VulkanInfo& gpu : *all)
      if (gpu.kind == kind && gpu.refused.empty()) return gpu.index;
  return std::nullopt;
}

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

// Compiled programs of GPUs; "" where there is no home folder.
std::string pipeline_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/brass/pipelines";
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/brass/pipelines" : "";
}

// Models with two sets of rotation factors: the context up to which the first holds. Others: 0.
uint32_t long_rotation_above(const Graph& graph) {
  for (const Op& op : graph.ops)
    if (op.kind == OpKind::kRopeTable && !op.as<RopeTableAttrs>().long_inv_freq.empty())
      return op.as<RopeTableAttrs>().long_above;
  return 0;
}

}  // namespace

ModelFlags with_device(ModelFlags flags) {
  if (flags.device != "auto") return flags;
  flags.device = "cpu";
  if (flags.gpu >= 0 || !flags.device_memory.empty() || flags.prompt_products != "auto" ||
      shares_work(flags)) {
    flags.device = "vulkan";
  } else if (flags.isa.empty()) {
    if (const std::optional<uint32_t> gpu = usual_gpu()) {
      flags.device = "vulkan";
      flags.gpu = static_cast<int>(*gpu);
    }
  }
  return flags;
}

namespace {

Result<std::unique_ptr<Device>> open_gpu(const ModelFlags& flags, std::function<Result<>()> check_source) {
  const auto [k, v] = TRY(kv_types(flags));
  return make_vulkan_device(
      {.index = flags.gpu,
       .memory_limit =
           flags.device_memory.empty() ? 0 : TRY(parse_byte_size("--device-memory", flags.device_memory)),
       .prompts = find_prompts(flags.prompt_products).value_or(Prompts::kAutomatic),
       .overlap = flags.overlap == "on",
       .k_type = k,
       .v_type = v,
       .check_source = std::move(check_source),
       .cache_folder = pipeline_folder()});
}

Result<std::unique_ptr<Device>> open_cpu(const ModelFlags& flags) {
  const auto [k, v] = TRY(kv_types(flags));
  Result<std::unique_ptr<Device>> device =
      make_cpu_device({.threads = flags.threads, .isa = flags.isa, .k_type = k, .v_type = v});
  if (!device) device.error().wrong_use = true;  // only flags can be wrong here
  return device;
}

// A GPU and the CPU together, or the GPU alone where it has room for everything.
Result<std::unique_ptr<Device>> open_both(const ModelFlags& flags, const DeviceUse& use,
                                          std::function<Result<>()> check_source) {
  if (use.model == nullptr)
    return wrong_use("flags --gpu-layers, --experts-on: this command takes a device as a whole");
  std::unique_ptr<Device> gpu = TRY(open_gpu(flags, std::move(check_source))), cpu = TRY(open_cpu(flags));
  const auto lent = [](Device& device) {
    return std::shared_ptr<Device>(std::shared_ptr<Device>(), &device);
  };
  const std::optional<Placement> placement = TRY(chosen_placement(flags, use, lent(*gpu), lent(*cpu)));
  if (!placement) return gpu;
  return make_split_device(std::move(gpu), std::move(cpu), *placement);
}

}  // namespace

Result<std::unique_ptr<Device>> open_device(const ModelFlags& given, const DeviceUse& use,
                                            std::function<Result<>()> check_source) {
  const ModelFlags flags = with_device(given);
  if (flags.device != "vulkan") {
    if (flags.gpu >= 0) return wrong_use("flag --gpu: goes with --device vulkan");
    if (!flags.device_memory.empty()) return wrong_use("flag --device-memory: goes with --device vulkan");
    if (flags.overlap == "on") return wrong_use("flag --overlap: goes with --device vulkan");
    if (shares_work(flags)) return wrong_use("flags --gpu-layers, --experts-on: go with --device vulkan");
    if (flags.prompt_products != "auto")
      return wrong_use("flag --prompt-products: goes with --device vulkan");
  }
  if (flags.device == "ref") {
    TRY_VOID(kv_types(flags));
    if (!flags.isa.empty()) return wrong_use("flag --isa: the reference device has no kernel tiers");
    return make_ref_device({.threads = flags.threads == 0 ? usable_cpus() : flags.threads,
                            .check_source = std::move(check_source)});
  }
  if (flags.device == "cpu") return open_cpu(flags);
  if (shares_work(flags)) return open_both(flags, use, std::move(check_source));
  if (!flags.isa.empty()) return wrong_use("flag --isa: kernel tiers are the CPU's");
  return open_gpu(flags, std::move(check_source));
}

Result<ModelFlags> with_device(const ModelFlags& given, const Model& model, EngineOptions options) {
  ModelFlags flags = with_device(given);
  if (given.device != "auto" || given.gpu >= 0 || !given.device_memory.empty() ||
      given.prompt_products != "auto" || shares_work(given) || flags.device != "vulkan")
    return flags;
  std::tie(options.k_type, options.v_type) = TRY(kv_types(flags));
  if (flags.context != 0) options.context = flags.context;
  const auto fits = [&]() -> Result<std::string> {
    const EngineOptions settled = TRY(settle(model, options));
    const std::unique_ptr<Device> gpu = TRY(open_device(flags));
    TRY_VOID(TRY(MemoryPlan::create(fitted_graphs(model, settled.context), *gpu, settled)).check(*gpu));
    return gpu->describe();
  };
  const Result<std::string> gpu = fits();
  if (!gpu && gpu.error().wrong_use) return std::unexpected(gpu.error());
  if (gpu) {
    fmt::print(stderr, "brass: --device vulkan --gpu {}: {}\n", flags.gpu, *gpu);
    return flags;
  }
  fmt::print(stderr, "brass: --device cpu, for the GPU cannot take the model: {}\n", gpu.error().message);
  flags.device = "cpu";
  flags.gpu = -1;
  return flags;
}

namespace {

// The placement that would fit, for who is told that a GPU has too little.
std::string placement_hint(const ModelFlags& flags, const Model& model, const EngineOptions& options) {
  Result<std::unique_ptr<Device>> gpu = open_gpu(flags, {}), cpu = open_cpu(flags);
  if (!gpu || !cpu) return "";
  const Result<std::string> found = fitting_flags({&model, options}, std::move(*gpu), std::move(*cpu));
  return found && !found->empty() ? fmt::format("; {} (the CPU does the rest) fits", *found) : "";
}

// What the CPU needs and has, for who is told that a GPU has too little.
std::string cpu_memory_text(const Model& model, const EngineOptions& options) {
  const Result<EngineOptions> settled = settle(model, options);
  const Result<std::unique_ptr<Device>> cpu = make_cpu_device({.threads = 1});
  if (!settled || !cpu) return "";
  uint64_t bytes = model.file->total_bytes();
  const std::vector<PoolSpec> pools = pool_specs(*model.graph, *settled);
  for (size_t g = 0; g < pools.size(); g++)
    bytes += pools[g].pages * (*cpu)->page_bytes(model.graph->groups[g], pools[g].k_type, pools[g].v_type);
  const std::optional<uint64_t> free = free_memory();
  return fmt::format("; --device cpu takes {} of the machine's memory{}", report::format_bytes(bytes),
                     free ? fmt::format(", which has {} free", report::format_bytes(*free)) : "");
}

// What else would do where a GPU has no room for the file.
std::string other_ways(const ModelFlags& flags, const std::string& path, const EngineOptions& options) {
  const Result<std::unique_ptr<Model>> model = load_model(path);
  if (!model) return "";
  return placement_hint(flags, **model, options) + cpu_memory_text(**model, options);
}

}  // namespace

Result<std::unique_ptr<Engine>> open_engine(const ModelFlags& flags, EngineOptions options) {
  return open_engine(flags, TRY(load_model(TRY(find_model(flags)))), options);
}

Result<std::unique_ptr<Engine>> open_engine(const ModelFlags& given, std::unique_ptr<Model> model,
                                            EngineOptions options) {
  const ModelFlags flags = TRY(with_device(given, *model, options));
  const auto [k, v] = TRY(kv_types(flags));
  options.k_type = k;
  options.v_type = v;
  if (flags.context != 0) options.context = flags.context;
  std::unique_ptr<Device> device =
      TRY(open_device(flags, {model.get(), options}, [file = model->file.get()] { return file->check(); }));
  const uint32_t long_above = long_rotation_above(*model->graph);
  const std::string path = model->file->path();
  ProgressBar bar("Loading");
  Result<std::unique_ptr<Engine>> made =
      Engine::create(std::move(model), std::move(device), options,
                     [&](uint64_t done, uint64_t total) { bar.update(done, total); });
  if (!made && made.error().no_room) made.error().hint += other_ways(flags, path, options);
  std::unique_ptr<Engine> engine = TRY(std::move(made));
  if (shares_work(flags)) {
    const auto plan = TRY(engine->plan_for(1, 1));
    if (!plan->segments.empty()) fmt::print(stderr, "{}", placement_text(*plan));
  }
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
