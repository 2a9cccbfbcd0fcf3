// brass show: what is in a model file.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/session.h"
#include "gguf/vocab.h"
#include "model/architecture.h"
#include "report/format.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

struct ShowFlags {
  ModelFlags model;
  bool tensors = false, metadata = false, json = false;
};

// "blk.*.ffn_down" for "blk.7.ffn_down.weight": the same part of every block is one group.
std::string group_of(const std::string& tensor) {
  std::string name = tensor.substr(0, tensor.rfind('.'));
  if (!name.starts_with("blk.")) return name;
  const size_t dot = name.find('.', 4);
  return dot == std::string::npos ? name : "blk.*" + name.substr(dot);
}

struct TypeCount {
  uint64_t tensors = 0, values = 0, bytes = 0;
};
using TypeCounts = std::map<std::string, TypeCount>;

struct Contents {
  std::vector<std::string> order;            // groups in file order
  std::map<std::string, TypeCounts> groups;  // group → type → count
  TypeCounts types;
  TypeCount all;
};

Contents count_tensors(const gguf::File& file) {
  Contents contents;
  for (const gguf::TensorInfo& t : file.tensors()) {
    const std::string group = group_of(t.name);
    if (!contents.groups.contains(group)) contents.order.push_back(group);
    const std::string type = gguf::type_name(t.type);
    for (TypeCount* c : {&contents.groups[group][type], &contents.types[type], &contents.all}) {
      c->tensors++;
      c->values += t.values();
      c->bytes += t.bytes;
    }
  }
  return contents;
}

// How embeddings are pooled; "": the file does not say, or is no model of embeddings.
std::string pooling_text(const gguf::File& file, const std::string& architecture) {
  const auto found = file.find_uint(architecture + ".pooling_type");
  if (!found || !*found) return {};
  constexpr uint64_t kLast = static_cast<uint64_t>(Pooling::kLast);
  return **found > kLast ? fmt::format("{} (not supported)", **found)
                         : std::string(pooling_name(static_cast<Pooling>(**found)));
}

Json count_json(const TypeCount& c) {
  return {{"tensors", c.tensors}, {"values", c.values}, {"bytes", c.bytes}};
}

Json counts_json(const TypeCounts& counts) {
  Json out = Json::object();
  for (const auto& [type, c] : counts) out[type] = count_json(c);
  return out;
}

Json to_json(const ShowFlags& flags, const gguf::File& file, const VocabSpec& vocab,
             const Contents& contents) {
  const std::string architecture = file.string_or("general.architecture", "").value_or("");
  const auto number = [&](const char* key) {
    const auto found = file.find_uint(architecture + "." + key);
    return found && *found ? Json(**found) : Json(nullptr);
  };
  Json out{{"file", file.path()},
           {"bytes", file.total_bytes()},
           {"parts", file.part_count()},
           {"gguf_version", file.version()},
           {"architecture", architecture},
           {"supported", find_architecture(architecture) != nullptr},
           {"name", file.string_or("general.name", "").value_or("")},
           {"context_length", number("context_length")},
           {"block_count", number("block_count")},
           {"embedding_length", number("embedding_length")},
           {"parameters", contents.all.values},
           {"tensor_bytes", contents.all.bytes},
           {"types", counts_json(contents.types)}};
  out["vocabulary"] = {{"model", vocab.model},
                       {"pre", vocab.pre},
                       {"tokens", vocab.tokens.size()},
                       {"bos", vocab.bos},
                       {"eos", vocab.eos}};
  const std::string pooling = pooling_text(file, architecture);
  out["pooling"] = pooling.empty() ? Json(nullptr) : Json(pooling);
  out["chat_template"] = vocab.chat_template.empty() ? Json(nullptr) : Json(vocab.chat_template);
  Json groups = Json::array();
  for (const std::string& group : contents.order)
    groups.push_back({{"group", group}, {"types", counts_json(contents.groups.at(group))}});
  out["groups"] = groups;
  if (flags.tensors) {
    Json list = Json::array();
    for (const gguf::TensorInfo& t : file.tensors()) {
      Json dims = Json::array();
      for (int i = 0; i < t.n_dims; i++) dims.push_back(t.dims[static_cast<size_t>(i)]);
      list.push_back({{"name", t.name},
                      {"type", gguf::type_name(t.type)},
                      {"dims", dims},
                      {"bytes", t.bytes},
                      {"part", t.file_index},
                      {"offset", t.file_offset}});
    }
    out["tensors"] = list;
  }
  if (flags.metadata) {
    Json list = Json::object();
    for (const gguf::Entry& e : file.metadata()) list[e.key] = gguf::print(e.value);
    out["metadata"] = list;
  }
  return out;
}

void print_text(const ShowFlags& flags, const gguf::File& file, const VocabSpec& vocab,
                const Contents& contents) {
  const std::string architecture = file.string_or("general.architecture", "").value_or("");
  const auto line = [](const char* label, const std::string& text) {
    fmt::print("{:<14} {}\n", label, text);
  };
  const auto number = [&](const char* key) {
    const auto found = file.find_uint(architecture + "." + key);
    return found && *found ? fmt::format("{}", **found) : std::string("-");
  };
  line("file", fmt::format("{} ({}{})", file.path(), report::format_bytes(file.total_bytes()),
                           file.part_count() > 1 ? fmt::format(", {} parts", file.part_count()) : ""));
  line("name", file.string_or("general.name", "-").value_or("-"));
  line("architecture", architecture + (find_architecture(architecture) != nullptr ? "" : " (not supported)"));
  line("parameters", fmt::format("{:.1f} M in {} tensors", static_cast<double>(contents.all.values) / 1e6,
                                 contents.all.tensors));
  line("layers", number("block_count"));
  line("width", number("embedding_length"));
  line("context", number("context_length"));
  line("vocabulary", vocab.tokens.empty() ? "none"
                                          : fmt::format("{} pieces, {} ({})", vocab.tokens.size(),
                                                        vocab.model, vocab.pre.empty() ? "-" : vocab.pre));
  line("template",
       vocab.chat_template.empty() ? "none" : fmt::format("{} bytes", vocab.chat_template.size()));
  if (const std::string pooling = pooling_text(file, architecture); !pooling.empty())
    line("embeddings", fmt::format("pooling {}", pooling));
  fmt::print("\n{:<28} {:<8} {:>7} {:>12} {:>10}\n", "tensor group", "type", "tensors", "values", "bytes");
  for (const std::string& group : contents.order)
    for (const auto& [type, c] : contents.groups.at(group))
      fmt::print("{:<28} {:<8} {:>7} {:>12} {:>10}\n", group, type, c.tensors, c.values,
                 report::format_bytes(c.bytes));
  fmt::print("\n{:<28} {:<8} {:>7} {:>12} {:>10}\n", "all", "", contents.all.tensors, contents.all.values,
             report::format_bytes(contents.all.bytes));
  for (const auto& [type, c] : contents.types)
    fmt::print("{:<28} {:<8} {:>7} {:>12} {:>10}\n", "", type, c.tensors, c.values,
               report::format_bytes(c.bytes));
  if (flags.tensors) {
    fmt::print("\n");
    for (const gguf::TensorInfo& t : file.tensors())
      fmt::print("{:<40} {:<8} {:<24} {:>10}\n", t.name, gguf::type_name(t.type), dims_text(t),
                 report::format_bytes(t.bytes));
  }
  if (flags.metadata) {
    fmt::print("\n");
    for (const gguf::Entry& e : file.metadata()) fmt::print("{:<44} {}\n", e.key, gguf::print(e.value));
  }
}

Result<> run_show(const ShowFlags& flags) {
  const gguf::File file = TRY(gguf::File::open(TRY(find_model(flags.model))));
  const VocabSpec vocab = TRY(gguf::read_vocab(file));
  const Contents contents = count_tensors(file);
  if (flags.json)
    fmt::print("{}\n",
               to_json(flags, file, vocab, contents).dump(-1, ' ', false, Json::error_handler_t::replace));
  else
    print_text(flags, file, vocab, contents);
  return {};
}

}  // namespace

Body declare_show(Arguments& arguments) {
  auto flags = std::make_shared<ShowFlags>();
  declare_model(arguments, flags->model);
  arguments.flag("--tensors", flags->tensors, "every tensor");
  arguments.flag("--metadata", flags->metadata, "every metadata key");
  arguments.flag("--json", flags->json, "machine-readable");
  return [flags] { return run_show(*flags); };
}

}  // namespace brass::app
