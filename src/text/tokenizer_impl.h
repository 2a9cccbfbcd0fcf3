// The parts of a tokenizer, put together by tokenizer_build.cpp and used by tokenizer.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "text/tokenizer_pre.h"
#include "text/tokenizer_sentence.h"
#include "text/tokenizer_special.h"
#include "text/tokenizer_vocab.h"
#include "text/tokenizer_wordpiece.h"
#include "text/tokenizer_words.h"

namespace brass {

struct Tokenizer::Impl {
  tokens::Vocab vocab;
  tokens::SpecialPieces special;
  std::unique_ptr<tokens::WordPiece> word_piece;  // BERT's vocabularies, instead of all that follows
  std::unique_ptr<tokens::WordEncoder> words;
  std::unique_ptr<tokens::PreTokenizer> pre;           // byte-level vocabularies only
  std::optional<tokens::SentenceNormalizer> sentence;  // where a SentencePiece vocabulary prepares text
  bool nfc = false;
  bool blank_mark = false;      // U+2581 means a blank
  bool blank_in_front = false;  // of a text's first word; dropped again when ids become text
  bool add_bos = false, add_eos = false;
  int32_t bos = -1, eos = -1, unk = -1;
  std::string description;
  std::vector<std::string> warnings;

  // What one call of encode works with.
  struct Work {
    std::vector<int32_t> ids;
    tokens::PreTokenizer::Scratch pre;
    tokens::WordEncoder::Scratch words;
    std::vector<size_t> ends;
    std::string normal, joined;
  };
  void encode_run(std::string_view run, bool normalize, Work& work) const;
  void encode_bytes(std::string_view run, Work& work) const;
  void encode_characters(std::string_view run, Work& work) const;
};

}  // namespace brass
