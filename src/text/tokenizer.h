// Text to token ids and back.
//
// Owns: everything between a string and the ids of a vocabulary: normalization, control and user-defined
// pieces, pre-tokenizers, merges and searches, bytes, beginning and end of text. Must not know: files, models, chat
// templates. Invariants: immutable after create(): any number of threads may use one tokenizer. Any bytes can
// be encoded; text that is not UTF-8 goes in by bytes. decode(encode(x)) = x without normalization, with
// these exceptions: a vocabulary without a piece for some byte; U+2581 in SentencePiece vocabularies, where
// it means a blank; "bert" and "t5", which keep neither all blanks nor what they have no piece for.
//
// Models (tokenizer.ggml.model): "gpt2", byte-level BPE; "llama", SentencePiece BPE by scores; "gemma4", BPE
// by merges over characters; "t5", SentencePiece Unigram; "bert", WordPiece. The oracles are the original
// tokenizers (Hugging Face tokenizers, sentencepiece).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/vocab_spec.h"

namespace brass {

struct EncodeOptions {
  bool parse_special = false;            // control pieces in the text become their ids
  std::optional<bool> add_bos, add_eos;  // unset: as the vocabulary says
  bool normalize = true;  // as the vocabulary's original tokenizer does: NFC, BERT's cleaning, a table
};

// A piece of a longer text. Trusted: written by a template, control pieces count. Untrusted: written by a
// user, they are text.
struct Segment {
  std::string_view text;
  bool trusted = false;
};

class Tokenizer {
 public:
  struct Impl;  // tokenizer_impl.h

  // Errors name the field, token or merge: an unsupported model ("none" too) or pre-tokenizer (with a list of
  // those that are), ids outside the vocabulary, merges of pieces that do not exist, byte pieces that are
  // none.
  static Result<std::unique_ptr<Tokenizer>> create(const VocabSpec& spec);
  ~Tokenizer();

  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
  // As encode() of the whole, except that control pieces count only where every byte is trusted
  // (options.parse_special has no say).
  std::vector<int32_t> encode_segments(std::span<const Segment> segments,
                                       const EncodeOptions& options = {}) const;

  // The bytes that ids stand for; control and unknown pieces are shown only if `special`. Drops the blank
  // that encoding put in front. Ids outside the vocabulary stand for nothing.
  std::string decode(std::span<const int32_t> ids, bool special) const;
  // What one id adds to a decoded text. `drop_blank`: whether a blank in front is encoding's; true to begin
  // with if adds_blank(), kept up to date from id to id.
  std::string_view shown(int32_t id, bool special, bool& drop_blank) const;
  // The bytes of one piece (blanks as blanks, bytes as bytes, control pieces as their text).
  std::string_view piece(int32_t id) const;

  int32_t size() const;
  size_t longest_piece() const;  // bytes
  bool is_valid(int32_t id) const { return id >= 0 && id < size(); }
  bool is_control(int32_t id) const;  // never shown: control or unknown
  bool is_special(int32_t id) const;  // control, unknown or user-defined
  bool is_eog(int32_t id) const;      // ends a generation
  std::span<const int32_t> eog_ids() const;
  int32_t bos() const;  // -1: none; so the next
  int32_t eos() const;
  bool adds_bos() const;  // by default
  bool adds_eos() const;
  bool adds_blank() const;  // in front of text, so that a first word looks like any other
  // The control or user-defined piece with exactly this text, or -1.
  int32_t find_special(std::string_view text) const;

  const std::string& description() const;            // "gpt2, pre-tokenizer qwen2, 151936 pieces"
  const std::vector<std::string>& warnings() const;  // what the file left open, as sentences

 private:
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace brass
