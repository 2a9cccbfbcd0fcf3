// What the commands that compute share: flags about model and device, opening an engine with a progress bar.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "app/arguments.h"
#include "runtime/engine.h"
#include "text/chat.h"
#include "text/tokenizer.h"

namespace brass::app {

struct ModelFlags {
  std::string model;            // a path, or a name in the store
  std::string store;            // the store's folder; "": the default one
  std::string device = "auto";  // a GPU where there is one that has room for the model, else the CPU
  int gpu = -1;                 // which Vulkan device; −1: the first that is no CPU, else the first
  std::string device_memory;    // that a GPU may use; "": what its driver says is free
  std::string overlap = "off";  // of programs on a GPU, in steps of few rows
  std::string gpu_layers;       // blocks that a GPU does, the CPU the others: a number, or "auto"; "": all
  std::string experts_on = "gpu";
  std::string prompt_products = "auto";  // what a GPU multiplies many rows by
  std::string isa;
  uint32_t threads = 0;
  uint32_t context = 0;
  std::string kv_type;  // "": f16 on the CPU, f32 on the reference; "K,V" for two different ones
};

// MODEL, --store
void declare_model(Arguments& arguments, ModelFlags& flags,
                   const std::string& what = "a GGUF file, or the name of a stored model (brass list)");
// --device, --gpu, --overlap, --isa, --threads, --context, --kv-type and what else says what computes
void declare_device(Arguments& arguments, ModelFlags& flags);
// --prompt-products, where what it costs is measured or explained
void declare_prompt_products(Arguments& arguments, ModelFlags& flags);

// Of K and V, as --kv-type says, else as the device takes them.
Result<std::pair<KvType, KvType>> kv_types(const ModelFlags& flags);
Result<std::string> find_model(const ModelFlags& flags);  // the path of the file
// What --device auto means without knowing a model: "vulkan" with the GPU, or "cpu". Other devices stay as they are.
ModelFlags with_device(ModelFlags flags);
// The same for this model, opened with these options: a GPU that has no room for it is not meant. Said in a line on
// standard error where there was a GPU to choose.
Result<ModelFlags> with_device(const ModelFlags& flags, const Model& model, EngineOptions options);
// What a device will be used for, where the flags may share it out between two.
struct DeviceUse {
  const Model* model = nullptr;
  EngineOptions options = {};
};
// `check_source`: says whether a file that the device reads in place is still whole; may be empty. Without `use`, only
// whole devices can be opened.
Result<std::unique_ptr<Device>> open_device(const ModelFlags& flags, const DeviceUse& use = {},
                                            std::function<Result<>()> check_source = {});
// `options`: context and KV types come from the flags.
Result<std::unique_ptr<Engine>> open_engine(const ModelFlags& flags, EngineOptions options);
// The same of a model that is loaded already. options.context counts where the flag is not given.
Result<std::unique_ptr<Engine>> open_engine(const ModelFlags& flags, std::unique_ptr<Model> model,
                                            EngineOptions options);

// The tokenizer of a model; nullptr for a file without vocabulary.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const Model& model);
// The same, and an error where there is none: `what` needs one.
Result<std::unique_ptr<Tokenizer>> need_tokenizer(const Model& model, std::string_view what);

// What templates are told: the texts of the special tokens, and the clock (SOURCE_DATE_EPOCH, where it is
// set).
ChatOptions chat_options(const VocabSpec& vocab);

Result<std::string> read_text_file(const std::string& path);  // "-": standard input

}  // namespace brass::app
