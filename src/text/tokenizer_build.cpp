// From what a file says to a tokenizer.
#include "text/tokenizer_impl.h"

namespace brass {

namespace {

using tokens::PieceTable;
using tokens::PreTokenizer;
using tokens::Spelling;
using tokens::Units;
using tokens::Vocab;
using tokens::WordEncoder;

constexpr std::string_view kModels = "gpt2, llama, gemma4";

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
// "unknown" (what their files name so is a control piece of another use, such as the end of text): there,
// what U+FFFD becomes.
void set_fallback(Tokenizer::Impl& impl, int32_t unk) {
  std::vector<int32_t> unknown;
  if (unk >= 0 && !impl.pre) {
    unknown = {unk};
  } else {
    WordEncoder::Scratch scratch;
    impl.words->encode("\xEF\xBF\xBD", unknown, scratch);
  }
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
    impl.warnings.push_back(fmt::format("tokenizer.ggml.tokens: {} of the 256 bytes have no token", missing));
  }
  impl.description = fmt::format("gpt2, pre-tokenizer {}, {} pieces", pre, impl.vocab.size());
  return {};
}

// SentencePiece: pieces of characters, merged by score.
Result<> build_scores(Tokenizer::Impl& impl, const VocabSpec& spec) {
  if (spec.scores.empty()) {
    return fail(
        "tokenizer.ggml.scores: the tokenizer model 'llama' needs a score for every token, there are none");
  }
  impl.blank_in_front = spec.add_space_prefix != 0;
  impl.add_bos = true;
  impl.words = std::make_unique<WordEncoder>(Units::kCharacters, impl.vocab.plain());
  impl.words->set_scores(spec.scores);
  if (!spec.precompiled_charsmap.empty()) {
    impl.warnings.push_back("tokenizer.ggml.precompiled_charsmap is not applied: text is taken as it is");
  }
  impl.description = fmt::format("llama, {} pieces", impl.vocab.size());
  return {};
}

// Gemma 4: pieces of characters, merged by a list.
Result<> build_characters(Tokenizer::Impl& impl, const VocabSpec& spec) {
  impl.blank_in_front = spec.add_space_prefix == 1;
  impl.add_bos = true;
  impl.words = std::make_unique<WordEncoder>(Units::kCharacters, impl.vocab.plain());
  impl.words->set_merges(TRY(read_merges(spec, impl.vocab)));
  impl.description = fmt::format("gemma4, {} pieces", impl.vocab.size());
  return {};
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(const VocabSpec& spec) {
  const bool bytes = spec.model == "gpt2";
  if (spec.model == "none" || spec.model.empty()) {
    return fail_hint("give token ids instead of text",
                     "the file has no tokenizer (tokenizer.ggml.model is '{}')", spec.model);
  }
  if (!bytes && spec.model != "llama" && spec.model != "gemma4") {
    return fail_hint(fmt::format("supported are: {}", kModels),
                     "tokenizer.ggml.model: the tokenizer model '{}' is not supported", spec.model);
  }
  auto impl = std::make_unique<Impl>(
      Impl{.vocab = TRY(Vocab::create(spec, bytes ? Spelling::kByteAlphabet : Spelling::kBlankMark))});
  impl->special = TRY(impl->vocab.special());
  impl->blank_mark = !bytes;
  TRY(bytes                   ? build_bytes(*impl, spec)
      : spec.model == "llama" ? build_scores(*impl, spec)
                              : build_characters(*impl, spec));
  set_fallback(*impl, spec.unk);
  impl->bos = spec.bos;
  impl->eos = spec.eos;
  impl->add_bos = spec.bos >= 0 && (spec.add_bos < 0 ? impl->add_bos : spec.add_bos != 0);
  impl->add_eos = spec.eos >= 0 && spec.add_eos > 0;
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(impl)));
}

}  // namespace brass
