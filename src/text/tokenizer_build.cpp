// From what a file says to a tokenizer.
#include <algorithm>
#include <initializer_list>

#include "text/tokenizer_impl.h"

namespace brass {

namespace {

using tokens::PieceTable;
using tokens::PreTokenizer;
using tokens::Spelling;
using tokens::Units;
using tokens::Vocab;
using tokens::WordEncoder;

constexpr std::string_view kBlankMark = "\xE2\x96\x81";  // U+2581

// Merges as ids, best first. Their pieces are spelled as in the file, so they are looked up among its tokens:
// a normal one before one of another kind.
Result<std::vector<WordEncoder::Rule>> read_merges(const VocabSpec& spec, const Vocab& vocab) {
  PieceTable by_text(spec.tokens.size());
  for (const bool normal : {true, false}) {
    for (int32_t id = 0; id < vocab.size(); ++id) {
      if ((vocab.kind(id) == TokenKind::kNormal) == normal)
        by_text.insert(spec.tokens[static_cast<size_t>(id)], id);
    }
  }
  std::vector<WordEncoder::Rule> rules;
  rules.reserve(spec.merges.size());
  std::string joined;
  for (size_t i = 0; i < spec.merges.size(); ++i) {
    const std::string_view merge = spec.merges[i];
    const size_t blank = merge.find(' ', 1);  // a piece may be the blank itself
    if (merge.empty() || blank == std::string_view::npos || blank + 1 >= merge.size()) {
      return fail("tokenizer.ggml.merges: entry {} is '{}', not two pieces with a blank between", i,
                  merge.substr(0, 80));
    }
    joined.assign(merge.substr(0, blank)).append(merge.substr(blank + 1));
    const WordEncoder::Rule rule{by_text.find(merge.substr(0, blank)), by_text.find(merge.substr(blank + 1)),
                                 by_text.find(joined)};
    if (rule.left < 0 || rule.right < 0 || rule.merged < 0) {
      const std::string_view missing = rule.left < 0    ? merge.substr(0, blank)
                                       : rule.right < 0 ? merge.substr(blank + 1)
                                                        : std::string_view(joined);
      return fail(
          "tokenizer.ggml.merges: entry {} ('{}') needs the token '{}', which the vocabulary does not have",
          i, merge.substr(0, 80), missing.substr(0, 80));
    }
    // Text must never become a control piece, so what would make one never merges.
    if (!vocab.is_hidden(rule.merged)) rules.push_back(rule);
  }
  return rules;
}

// What stands for bytes that no piece covers. Byte-level vocabularies that lack a byte have no piece for
// "unknown" (what their files name so is a control piece of another use, such as the end of text), and their models'
// own tokenizers leave it out.
void set_fallback(Tokenizer::Impl& impl) {
  if (!impl.words) return;
  std::vector<int32_t> unknown;
  if (impl.unk >= 0 && !impl.pre) unknown = {impl.unk};
  impl.words->set_fallback(impl.vocab.byte_pieces(), std::move(unknown));
}

// Byte-level BPE.
Result<> build_bytes(Tokenizer::Impl& impl, const VocabSpec& spec) {
  std::string_view pre = spec.pre;
  if (pre.empty()) {
    pre = "default";
    impl.warnings.push_back(
        "tokenizer.ggml.pre is missing: the default pre-tokenizer may cut text differently from "
        "the model's own");
  }
  impl.pre = TRY(PreTokenizer::create(pre));
  impl.nfc = impl.pre->traits().nfc;
  impl.add_bos = impl.pre->traits().add_bos;
  impl.words = std::make_unique<WordEncoder>(Units::kBytes, impl.vocab.plain());
  impl.words->set_merges(TRY(read_merges(spec, impl.vocab)));
  impl.words->set_whole_words(impl.pre->traits().whole_words);
  size_t missing = 0;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    missing += impl.words->find({&c, 1}) < 0 ? 1 : 0;
  }
  if (missing > 0) {
    impl.warnings.push_back(fmt::format(
        "tokenizer.ggml.tokens: {} of the 256 bytes have no token, and are left out of texts", missing));
  }
  impl.description = fmt::format("gpt2, pre-tokenizer {}, {} pieces", pre, impl.vocab.size());
  return {};
}

Result<> set_sentence(Tokenizer::Impl& impl, const VocabSpec& spec, bool few_blanks) {
  impl.sentence = TRY(tokens::SentenceNormalizer::create(
      spec.precompiled_charsmap, {.blank_in_front = impl.blank_in_front, .few_blanks = few_blanks}));
  impl.blank_mark = false;  // what it means is found out after the text's own blanks are counted
  return {};
}

// SentencePiece's BPE: pieces of characters, merged by score.
Result<> build_scores(Tokenizer::Impl& impl, const VocabSpec& spec) {
  if (spec.scores.empty()) {
    return fail(
        "tokenizer.ggml.scores: the tokenizer model 'llama' needs a score for every token, there are none");
  }
  impl.blank_in_front = spec.add_space_prefix != 0;
  impl.add_bos = true;
  impl.words = std::make_unique<WordEncoder>(Units::kCharacters, impl.vocab.plain());
  impl.words->set_scores(spec.scores);
  const bool few_blanks = spec.remove_extra_whitespaces > 0;
  if (!spec.precompiled_charsmap.empty() || few_blanks) TRY(set_sentence(impl, spec, few_blanks));
  impl.description = fmt::format("llama, {} pieces", impl.vocab.size());
  return {};
}

// The first piece of a kind, or with a text, or -1: files do not always name their ids.
template <class Is>
int32_t find_piece(const VocabSpec& spec, const Is& is) {
  for (size_t id = 0; id < spec.tokens.size(); ++id)
    if (is(id)) return static_cast<int32_t>(id);
  return VocabSpec::kNone;
}

int32_t named_piece(const VocabSpec& spec, std::initializer_list<int32_t> ids, std::string_view text) {
  for (const int32_t id : ids)
    if (id >= 0) return id;
  return find_piece(spec, [&](size_t id) { return spec.tokens[id] == text; });
}

// SentencePiece's Unigram.
Result<> build_unigram(Tokenizer::Impl& impl, const VocabSpec& spec) {
  if (spec.scores.empty()) {
    return fail(
        "tokenizer.ggml.scores: the tokenizer model 't5' needs a score for every token, there are none");
  }
  impl.blank_in_front = spec.add_space_prefix != 0;
  TRY(set_sentence(impl, spec, spec.remove_extra_whitespaces != 0));
  impl.words = std::make_unique<WordEncoder>(Units::kCharacters, impl.vocab.plain());
  impl.words->set_unigram(impl.vocab.plain(), spec.scores);
  const auto is_unknown = [&](size_t id) {
    return impl.vocab.kind(static_cast<int32_t>(id)) == TokenKind::kUnknown;
  };
  if (impl.unk < 0) impl.unk = find_piece(spec, is_unknown);
  if (impl.unk < 0) return fail("tokenizer.ggml.unknown_token_id: the tokenizer model 't5' needs one");
  impl.eos = named_piece(spec, {spec.eos}, "</s>");
  impl.add_eos = true;
  impl.description = fmt::format("t5, {} pieces", impl.vocab.size());
  return {};
}

// Whether a WordPiece vocabulary is one of lower case, which files do not always say: then hardly a piece has
// a capital.
bool lacks_capitals(const VocabSpec& spec, const Vocab& vocab) {
  size_t pieces = 0, capitals = 0;
  for (int32_t id = 0; id < vocab.size(); ++id) {
    if (vocab.kind(id) != TokenKind::kNormal) continue;
    const std::string& piece = spec.tokens[static_cast<size_t>(id)];
    ++pieces;
    capitals += std::any_of(piece.begin(), piece.end(), [](char c) { return c >= 'A' && c <= 'Z'; }) ? 1 : 0;
  }
  return capitals * 50 <= pieces;
}

tokens::WordPiece::Options word_piece_options(Tokenizer::Impl& impl, const VocabSpec& spec) {
  tokens::WordPiece::Options options{.unknown = impl.unk};
  options.lowercase = spec.lowercase < 0 ? lacks_capitals(spec, impl.vocab) : spec.lowercase != 0;
  if (spec.lowercase < 0 && !options.lowercase) {
    impl.warnings.push_back(
        "tokenizer.ggml.normalizer.lowercase is missing: many tokens have capitals, so text keeps its case");
  }
  options.strip_accents = spec.strip_accents < 0 ? options.lowercase : spec.strip_accents != 0;
  return options;
}

// BERT's WordPiece. Pieces that begin a word have U+2581 in front, those that BERT spells with "##" are bare.
Result<> build_word_piece(Tokenizer::Impl& impl, const VocabSpec& spec) {
  impl.unk = named_piece(spec, {spec.unk}, "[UNK]");
  if (impl.unk < 0) return fail("tokenizer.ggml.unknown_token_id: the tokenizer model 'bert' needs one");
  std::vector<tokens::PieceTrie::Entry> starts, rests;
  for (int32_t id = 0; id < impl.vocab.size(); ++id) {
    std::string_view piece = spec.tokens[static_cast<size_t>(id)];
    if (impl.vocab.kind(id) != TokenKind::kNormal) continue;
    const bool starts_word = piece.starts_with(kBlankMark) && piece != kBlankMark;
    if (starts_word) piece.remove_prefix(kBlankMark.size());
    (starts_word ? starts : rests).emplace_back(piece, id);
  }
  if (starts.empty()) {
    return fail_hint("pieces that begin a word are written with U+2581 in front, the others bare",
                     "tokenizer.ggml.tokens: no token of the tokenizer model 'bert' begins a word");
  }
  impl.word_piece = std::make_unique<tokens::WordPiece>(std::move(starts), std::move(rests),
                                                        word_piece_options(impl, spec));
  impl.blank_mark = false;
  impl.blank_in_front = true;
  impl.bos = named_piece(spec, {spec.bos, spec.cls}, "[CLS]");
  impl.eos = named_piece(spec, {spec.sep, spec.eos}, "[SEP]");
  impl.add_bos = impl.add_eos = true;
  impl.description = fmt::format("bert, {} pieces", impl.vocab.size());
  return {};
}

// Files of the model "gpt2" whose pieces are spelled as Gemma 4's say so by their pre-tokenizer.
bool has_characters(const VocabSpec& spec) {
  return spec.model == "gpt2" &&
         (spec.pre == "gemma4" || spec.pre == "granite-embed-multi-311m" || spec.pre == "sarvam-moe");
}

// Gemma 4: pieces of characters, merged by a list.
Result<> build_characters(Tokenizer::Impl& impl, const VocabSpec& spec) {
  impl.blank_in_front = spec.add_space_prefix == 1;
  impl.add_bos = spec.pre != "sarvam-moe";
  impl.words = std::make_unique<WordEncoder>(Units::kCharacters, impl.vocab.plain());
  impl.words->set_merges(TRY(read_merges(spec, impl.vocab)));
  impl.description = fmt::format("gemma4, {} pieces", impl.vocab.size());
  return {};
}

struct Model {
  std::string_view name;  // tokenizer.ggml.model
  Spelling spelling;
  Result<> (*build)(Tokenizer::Impl&, const VocabSpec&);
};
constexpr Model kModels[] = {
    {"gpt2", Spelling::kByteAlphabet, build_bytes},     {"llama", Spelling::kBlankMark, build_scores},
    {"gemma4", Spelling::kBlankMark, build_characters}, {"t5", Spelling::kBlankMark, build_unigram},
    {"bert", Spelling::kWordStart, build_word_piece},
};

Result<const Model*> find_model(std::string_view name) {
  if (name == "none" || name.empty()) {
    return fail_hint("give token ids instead of text",
                     "the file has no tokenizer (tokenizer.ggml.model is '{}')", name);
  }
  std::string names;
  for (const Model& model : kModels) {
    if (model.name == name) return &model;
    names.append(names.empty() ? "" : ", ").append(model.name);
  }
  return fail_hint(fmt::format("supported are: {}", names),
                   "tokenizer.ggml.model: the tokenizer model '{}' is not supported", name);
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(const VocabSpec& spec) {
  const Model* model = TRY(find_model(has_characters(spec) ? "gemma4" : std::string_view(spec.model)));
  auto impl = std::make_unique<Impl>(Impl{.vocab = TRY(Vocab::create(spec, model->spelling))});
  impl->special = TRY(impl->vocab.special());
  impl->blank_mark = model->spelling == Spelling::kBlankMark;
  impl->bos = spec.bos;
  impl->eos = spec.eos;
  impl->unk = spec.unk;
  TRY(model->build(*impl, spec));
  set_fallback(*impl);
  // Some WordPiece files call the piece at the end a separator.
  const int add_eos = impl->word_piece && spec.add_sep > 0 ? 1 : spec.add_eos;
  impl->add_bos = impl->bos >= 0 && (spec.add_bos < 0 ? impl->add_bos : spec.add_bos != 0);
  impl->add_eos = impl->eos >= 0 && (add_eos < 0 ? impl->add_eos : add_eos != 0);
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(impl)));
}

}  // namespace brass
