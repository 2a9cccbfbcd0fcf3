// brass tokenize: text to ids, ids to text.
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/json_lines.h"
#include "app/session.h"
#include "gguf/vocab.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;

struct TokenizeFlags {
  ModelFlags model;
  std::optional<std::string> text;
  std::string text_file, jsonl;
  std::optional<std::string> ids;
  bool special = false, no_bos = false, no_normalize = false, decode = false, json = false;
};

// Pieces may be parts of characters: shown with replacement characters.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// A vocabulary is enough: the file need not hold a model that can run.
Result<std::unique_ptr<Tokenizer>> open_vocabulary(const TokenizeFlags& flags) {
  const std::string path = TRY(find_model(flags.model));
  const gguf::File file = TRY(gguf::File::open(path));
  const VocabSpec spec = TRY(gguf::read_vocab(file));
  if (spec.tokens.empty()) return fail("{}: the file has no vocabulary", path);
  return within(path, Tokenizer::create(spec));
}

EncodeOptions encode_options(const TokenizeFlags& flags) {
  EncodeOptions options{.parse_special = flags.special, .normalize = !flags.no_normalize};
  if (flags.no_bos) options.add_bos = options.add_eos = false;
  return options;
}

Result<> check_ids(std::span<const int32_t> ids, const Tokenizer& tokenizer, std::string_view where) {
  for (const int32_t id : ids)
    if (!tokenizer.is_valid(id))
      return wrong_use("{}: {} is not in the vocabulary of {} pieces", where, id, tokenizer.size());
  return {};
}

Result<Json> decode_line(const Json& request, const TokenizeFlags& flags, const Tokenizer& tokenizer) {
  std::vector<int32_t> ids;
  for (const Json& id : request) {
    if (!id.is_number_integer() || id.get<int64_t>() != static_cast<int32_t>(id.get<int64_t>()))
      return fail("a line for --decode is an array of token ids, and {} is none", id.dump());
    ids.push_back(id.get<int32_t>());
  }
  TRY(check_ids(ids, tokenizer, "token ids"));
  return Json(tokenizer.decode(ids, flags.special));
}

// A string a line becomes an array of ids, with --decode an array of ids a string.
Result<Json> answer_line(const Json& request, const TokenizeFlags& flags, const Tokenizer& tokenizer) {
  if (flags.decode && request.is_array()) return decode_line(request, flags, tokenizer);
  if (flags.decode || !request.is_string()) {
    return fail("a line is a JSON {}, not {}", flags.decode ? "array of token ids" : "string",
                request.type_name());
  }
  return Json(tokenizer.encode(request.get_ref<const std::string&>(), encode_options(flags)));
}

// One text, or ids with --decode; nothing that is given is passed over.
Result<> check_tokenize_flags(const TokenizeFlags& flags) {
  const int texts = flags.text.has_value() + !flags.text_file.empty();
  const int lines = !flags.jsonl.empty(), ids = flags.ids.has_value();
  if (flags.decode && (texts != 0 || ids + lines != 1))
    return wrong_use("flag --decode: give --ids, or --jsonl, and no text");
  if (flags.decode) return {};
  if (ids != 0) return wrong_use("flag --ids: goes with --decode");
  if (texts + lines != 1) return wrong_use("give a TEXT, or --text-file, or --jsonl");
  return {};
}

Result<> print_decoded(const TokenizeFlags& flags, const Tokenizer& tokenizer) {
  const std::vector<int32_t> ids = TRY(parse_ids(*flags.ids, "flag --ids"));
  TRY(check_ids(ids, tokenizer, "flag --ids"));
  const std::string text = tokenizer.decode(ids, flags.special);
  if (flags.json)
    fmt::print("{}\n", dump(Json{{"text", text}}));
  else
    std::cout << text;
  return {};
}

Result<> run_tokenize(const TokenizeFlags& flags) {
  TRY_VOID(check_tokenize_flags(flags));
  const std::unique_ptr<Tokenizer> tokenizer = TRY(open_vocabulary(flags));
  for (const std::string& warning : tokenizer->warnings())
    fmt::print(stderr, "brass: warning: {}\n", warning);
  if (!flags.jsonl.empty()) {
    return answer_lines(flags.jsonl,
                        [&](const Json& request) { return answer_line(request, flags, *tokenizer); });
  }
  if (flags.decode) return print_decoded(flags, *tokenizer);
  const std::string text = flags.text ? *flags.text : TRY(read_text_file(flags.text_file));
  const std::vector<int32_t> ids = tokenizer->encode(text, encode_options(flags));
  if (flags.json) {
    Json pieces = Json::array();
    for (const int32_t id : ids) pieces.push_back(std::string(tokenizer->piece(id)));
    fmt::print("{}\n", dump(Json{{"ids", ids}, {"pieces", pieces}}));
    return {};
  }
  for (const int32_t id : ids) fmt::print("{:>7}  {}\n", id, dump(Json(std::string(tokenizer->piece(id)))));
  return {};
}

}  // namespace

Body declare_tokenize(Arguments& arguments) {
  auto flags = std::make_shared<TokenizeFlags>();
  declare_model(arguments, flags->model);
  arguments.option("TEXT", flags->text, "the text");
  arguments.option("--text-file", flags->text_file, "a file with the text ('-': standard input)");
  arguments.option(
      "--jsonl", flags->jsonl,
      "a file ('-': standard input, read as it comes) with one JSON string a line: one JSON array "
      "of ids a line comes out, or {\"error\"}; with --decode the other way round");
  arguments.flag("--special", flags->special, "control tokens in the text count (with --decode: are shown)");
  arguments.flag("--no-bos", flags->no_bos, "adds no beginning-of-text and end-of-text tokens");
  arguments.flag("--no-normalize", flags->no_normalize,
                 "takes the text as it is, without Unicode normalization");
  arguments.flag("--decode", flags->decode, "ids to text");
  arguments.option("--ids", flags->ids, "token ids for --decode: 1,2,3");
  arguments.flag("--json", flags->json, "machine-readable");
  return [flags] { return run_tokenize(*flags); };
}

}  // namespace brass::app
