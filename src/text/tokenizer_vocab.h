// The pieces of a vocabulary: what each stands for, and what kind of piece it is.
//
// Owns: VocabSpec checked and made fast to ask. Must not know: how text is cut or merged.
// Invariants: after create() every id that it names lies inside the vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/vocab_spec.h"
#include "text/tokenizer_special.h"

namespace brass::tokens {

// How pieces are spelled in the file: bytes by the GPT-2 alphabet, characters with U+2581 for a blank, or
// characters with U+2581 in front where a word begins.
enum class Spelling : uint8_t { kByteAlphabet, kBlankMark, kWordStart };

class Vocab {
 public:
  static Result<Vocab> create(const VocabSpec& spec, Spelling spelling);

  int32_t size() const { return static_cast<int32_t>(kinds_.size()); }
  std::string_view bytes(int32_t id) const {
    const size_t begin = offsets_[static_cast<size_t>(id)];
    return std::string_view(arena_).substr(begin, offsets_[static_cast<size_t>(id) + 1] - begin);
  }
  size_t longest() const { return longest_; }  // bytes
  TokenKind kind(int32_t id) const { return kinds_[static_cast<size_t>(id)]; }
  bool is_hidden(int32_t id) const {
    return kind(id) == TokenKind::kControl || kind(id) == TokenKind::kUnknown;
  }
  bool is_eog(int32_t id) const { return is_eog_[static_cast<size_t>(id)]; }
  const std::vector<int32_t>& eog_ids() const { return eog_ids_; }

  // What text can become by itself: per piece its bytes, or nothing.
  std::vector<std::optional<std::string_view>> plain() const;
  // The pieces that are matched before anything else. Errors name a piece that is too long for that.
  Result<SpecialPieces> special() const;
  const std::array<int32_t, 256>& byte_pieces() const { return byte_pieces_; }  // -1: none

 private:
  void spell(const VocabSpec& spec, Spelling spelling);
  Result<> read_byte_pieces(const VocabSpec& spec);
  void find_eog(const VocabSpec& spec);

  std::string arena_;
  std::vector<size_t> offsets_;
  size_t longest_ = 0;
  std::vector<TokenKind> kinds_;
  std::vector<bool> unspellable_;  // normal pieces that no text can become
  std::vector<bool> is_eog_;
  std::vector<int32_t> eog_ids_;
  std::array<int32_t, 256> byte_pieces_;
};

}  // namespace brass::tokens
