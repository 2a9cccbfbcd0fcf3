// The parts of a tokenizer, put together by tokenizer_build.cpp and used by tokenizer.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "text/tokenizer_pre.h"
#include "text/tokenizer_special.h"
#include "text/tokenizer_vocab.h"
#include "text/tokenizer_words.h"

namespace brass {

struct Tokenizer::Impl {
  tokens::Vocab vocab;
  tokens::SpecialPieces special;
  std::unique_ptr<tokens::WordEncoder> words;
  std::unique_ptr<tokens::PreTokenizer> pre;  // byte-level vocabularies only
  bool nfc = false;
  bool blank_mark = false;  // U+2581 means a blank
  bool blank_in_front = false;
  bool add_bos = false, add_eos = false;
  int32_t bos = -1, eos = -1;
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
