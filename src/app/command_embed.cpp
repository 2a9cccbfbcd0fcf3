// brass embed: texts to vectors.
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/session.h"
#include "runtime/embedding.h"
#include "text/json_guard.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

struct EmbedFlags {
  ModelFlags model;
  std::vector<std::string> texts, ids;
  std::string text_file, jsonl, pooling;
  bool no_normalize = false, json = false;
};

Result<std::optional<Pooling>> parse_pooling(const std::string& text) {
  if (text.empty()) return std::optional<Pooling>();
  for (const Pooling p : {Pooling::kNone, Pooling::kMean, Pooling::kFirst, Pooling::kLast})
    if (text == pooling_name(p)) return std::optional<Pooling>(p);
  return wrong_use("flag --pooling: '{}' is none of none, mean, cls, last", text);
}

Result<std::vector<std::string>> read_lines(const std::string& path) {
  std::istringstream lines(TRY(read_text_file(path)));
  std::vector<std::string> texts;
  std::string line;
  for (size_t number = 1; std::getline(lines, line); number++) {
    const Json text = TRY(within(fmt::format("{}: line {}", path, number), parse_json(line)));
    if (!text.is_string())
      return fail("{}: line {} is a JSON {}, not a string", path, number, text.type_name());
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

// The ids of every text, from wherever they are given.
Result<std::vector<std::vector<int32_t>>> read_texts(const EmbedFlags& flags, const Model& model) {
  const int given =
      !flags.texts.empty() + !flags.ids.empty() + !flags.text_file.empty() + !flags.jsonl.empty();
  if (given != 1) return wrong_use("give one of TEXT…, --text-file, --jsonl and --ids");
  std::vector<std::vector<int32_t>> all;
  if (!flags.ids.empty()) {
    for (const std::string& ids : flags.ids) all.push_back(TRY(parse_ids(ids, "flag --ids")));
    return all;
  }
  const std::unique_ptr<Tokenizer> tokenizer = TRY(need_tokenizer(model, "brass embed"));
  std::vector<std::string> texts = flags.texts;
  if (!flags.text_file.empty()) texts = {TRY(read_text_file(flags.text_file))};
  if (!flags.jsonl.empty()) texts = TRY(read_lines(flags.jsonl));
  for (const std::string& text : texts) all.push_back(tokenizer->encode(text));
  return all;
}

Json row_json(const Embedding& e, uint32_t row) {
  const std::span<const float> values = e.row(row);
  return Json(std::vector<float>(values.begin(), values.end()));
}

// One vector a text; where nothing is pooled, a list of them, one a token.
Json to_json(const std::vector<Embedding>& found, const std::vector<std::vector<int32_t>>& texts,
             Pooling pooling) {
  Json list = Json::array();
  for (size_t i = 0; i < found.size(); i++) {
    Json embedding = Json::array();
    if (pooling != Pooling::kNone)
      embedding = row_json(found[i], 0);
    else
      for (uint32_t row = 0; row < found[i].rows; row++) embedding.push_back(row_json(found[i], row));
    list.push_back({{"index", i}, {"embedding", std::move(embedding)}, {"tokens", texts[i].size()}});
  }
  return {{"embeddings", std::move(list)}};
}

void print_text(const std::vector<Embedding>& found) {
  for (const Embedding& e : found)
    for (uint32_t row = 0; row < e.rows; row++) fmt::print("{:.7g}\n", fmt::join(e.row(row), " "));
}

Result<> run_embed(const EmbedFlags& flags) {
  const ModelPurpose purpose{
      .embeddings = true, .pooling = TRY(parse_pooling(flags.pooling)), .normalize = !flags.no_normalize};
  std::unique_ptr<Model> model = TRY(load_model(TRY(find_model(flags.model)), purpose));
  const std::optional<Pooling> pooling = purpose.pooling ? purpose.pooling : model->info.pooling;
  if (!pooling)
    return wrong_use(
        "{}: the file does not say how its rows become one embedding ({}.pooling_type): "
        "give --pooling mean, cls, last or none",
        model->file->path(), model->info.architecture);
  const std::vector<std::vector<int32_t>> texts = TRY(read_texts(flags, *model));
  const uint32_t context =
      flags.model.context > 0 ? flags.model.context : std::min(model->info.context_length, kDefaultContext);
  const std::unique_ptr<Engine> engine = TRY(
      open_engine(flags.model, std::move(model), {.sequences = embedding_sequences(context, texts.size())}));
  const std::vector<Embedding> found = TRY(embed(*engine, texts));
  if (flags.json)
    fmt::print("{}\n", to_json(found, texts, *pooling).dump());
  else
    print_text(found);
  return {};
}

}  // namespace

Body declare_embed(Arguments& arguments) {
  auto flags = std::make_shared<EmbedFlags>();
  declare_model(arguments, flags->model);
  declare_device(arguments, flags->model);
  arguments.operands("TEXT", flags->texts, "the texts, an embedding each");
  arguments.option("--text-file", flags->text_file, "a file with one text ('-': standard input)");
  arguments.option("--jsonl", flags->jsonl, "a file with one JSON string a line: an embedding each");
  arguments.option("--ids", flags->ids, "token ids of a text: 1,2,3 (repeatable)");
  arguments.option(
      "--pooling", flags->pooling,
      "how a text's rows become one: mean, cls (the first), last; none: an embedding a token (default: as "
      "the file says)");
  arguments.flag("--no-normalize", flags->no_normalize,
                 "leaves embeddings as long as they are (else: length 1)");
  arguments.flag("--json", flags->json, "machine-readable");
  return [flags] { return run_embed(*flags); };
}

}  // namespace brass::app
