// brass import, list, rm: the model store.
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/session.h"
#include "app/terminal.h"
#include "gguf/gguf.h"
#include "hub/store.h"
#include "report/format.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

struct StoreFlags {
  std::string store, target, name;
  std::vector<std::string> sha256;
  bool copy = false, json = false;
};

Result<hub::Store> open_store(const StoreFlags& flags) {
  return hub::Store(flags.store.empty() ? TRY(hub::Store::default_folder()) : flags.store);
}

Json model_json(const hub::Model& model) {
  Json files = Json::array();
  for (const auto& file : model.files)
    files.push_back({{"name", file.name}, {"bytes", file.identity.bytes}, {"sha256", file.sha256}});
  return {{"name", model.name}, {"bytes", model.bytes()}, {"imported", model.imported}, {"files", files}};
}

// A model that cannot be read is not worth keeping.
Result<> check_model(const std::string& path) {
  const Result<gguf::File> file = gguf::File::open(path);
  return file ? Result<>() : std::unexpected(file.error());
}

Result<> run_import(const StoreFlags& flags) {
  const hub::Store store = TRY(open_store(flags));
  hub::Imported imported;
  {
    ProgressBar bar("Importing");
    imported = TRY(store.import_file(
        flags.target, {.name = flags.name,
                       .expected_sha256 = flags.sha256,
                       .copy = flags.copy,
                       .progress = [&](uint64_t done, uint64_t total) { bar.update(done, total); },
                       .check = check_model}));
  }
  if (flags.json) {
    fmt::print("{}\n", model_json(imported.model).dump());
    return {};
  }
  fmt::print("{} ({}){}\n", imported.model.name, report::format_bytes(imported.model.bytes()),
             imported.already_there ? ", already there" : "");
  return {};
}

Result<> run_list(const StoreFlags& flags) {
  const hub::Listing listing = TRY(TRY(open_store(flags)).list());
  for (const std::string& problem : listing.problems) fmt::print(stderr, "brass: warning: {}\n", problem);
  if (flags.json) {
    Json models = Json::array();
    for (const hub::Model& model : listing.models) models.push_back(model_json(model));
    fmt::print("{}\n", models.dump());
    return {};
  }
  if (listing.models.empty())
    fmt::print(stderr, "The store is empty. 'brass import FILE' puts a model into it.\n");
  for (const hub::Model& model : listing.models)
    fmt::print("{:<40} {:>10}  {}\n", model.name, report::format_bytes(model.bytes()), model.imported);
  return {};
}

Result<> run_remove(const StoreFlags& flags) {
  const hub::Store store = TRY(open_store(flags));
  TRY_VOID(store.remove(flags.target));
  fmt::print("{} removed\n", flags.target);
  return {};
}

}  // namespace

Body declare_import(Arguments& arguments) {
  auto flags = std::make_shared<StoreFlags>();
  arguments.operand("FILE", flags->target, "a GGUF file (any part of a split one)");
  arguments.option("--name", flags->name, "the name in the store (default: from the file name)");
  arguments.option("--sha256", flags->sha256, "the hash that the file must have (repeatable: one a part)");
  arguments.flag("--copy", flags->copy, "copies the bytes, where a link would do");
  arguments.option("--store", flags->store, "folder of the model store");
  arguments.flag("--json", flags->json, "machine-readable");
  return [flags] { return run_import(*flags); };
}

Body declare_list(Arguments& arguments) {
  auto flags = std::make_shared<StoreFlags>();
  arguments.option("--store", flags->store, "folder of the model store");
  arguments.flag("--json", flags->json, "machine-readable");
  return [flags] { return run_list(*flags); };
}

Body declare_rm(Arguments& arguments) {
  auto flags = std::make_shared<StoreFlags>();
  arguments.operand("NAME", flags->target, "the model's whole name, as 'brass list' shows it");
  arguments.option("--store", flags->store, "folder of the model store");
  return [flags] { return run_remove(*flags); };
}

}  // namespace brass::app
