// A reply under a grammar: which token may come next, from the first one to the last.
//
// Owns: where in the reply the grammar begins (at once, behind reasoning, where a trigger appears), the matcher from
// there on, the mask. Must not know: logits, sampling, what a grammar says. Invariants: what the reply holds from where
// the grammar begins is the beginning of a text of the grammar, and the whole of one when the reply ends by itself;
// reasoning that was begun must be ended. A step allocates what the matcher does, and nothing while the reply is free.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/matcher.h"
#include "text/tokenizer.h"

namespace brass::grammar {

struct ConstraintOptions {
  std::shared_ptr<CompiledGrammar> grammar;  // none: the reply is free

  // Reasoning in front of what the grammar says. `reasoning_begin` may open the reply ("": it can not), unless the
  // prompt has done so (`in_reasoning`); the grammar begins behind `reasoning_end`, between the two of which `gap` may
  // stand. The marks may be control pieces.
  bool in_reasoning = false;
  std::string reasoning_begin, reasoning_end, gap;

  // Lazy: the reply is free, and may end, until one of these appears in it (control pieces count by their text); the
  // grammar begins with the trigger's first byte, or behind it. In reasoning they do not count.
  std::vector<std::string> triggers;
  bool trigger_in_grammar = true;

  bool ends_by_itself = true;  // false: end tokens are never allowed, the grammar alone ends the reply
  bool jump_forward = true;    // text that is the only one possible is not sampled
};

// Errors name the field.
Result<> validate(const ConstraintOptions& options);

class Constraint {
 public:
  // `options` are valid and have a grammar. `vocabulary`: tokens that the model has logits for, at least the tokenizer's.
  Constraint(ConstraintOptions options, const Tokenizer& tokenizer, size_t vocabulary);

  // What may come next, [ceil(vocabulary / 64)], valid until the next call; empty: anything.
  std::span<const uint64_t> mask();

  // The next token, which mask() allowed. False, and nothing has changed but that mask() allows it no more: a token may
  // complete a trigger or the end of reasoning and go on with what the grammar forbids.
  bool accept(int32_t token);

  // The grammar has begun, and the text can not go on.
  bool must_end() const;
  // The grammar has begun.
  bool begun() const { return phase_ == Phase::kGrammar; }

  // Goes on over the tokens of text that is the only one possible, as far as that is certain: up to where another token
  // could spell it together with what follows. `take` gets each and says whether there is room for one more.
  void jump(const std::function<bool(int32_t)>& take);

 private:
  enum class Phase : uint8_t {
    kPrelude,    // the grammar, or the tokens of an optional text in front of it
    kReasoning,  // anything but an end
    kWaiting,    // anything, until a trigger
    kGrammar,
  };
  // The last bytes of the reply, for marks in it.
  struct Tail {
    std::string text;
    size_t keep = 0;
    void add(std::string_view bytes);
  };

  std::string_view bytes_of(int32_t token) const { return tokenizer_.piece(token); }
  bool take(int32_t token);
  void begin_prelude(std::string_view text, Phase behind);
  bool accept_in_prelude(int32_t token);
  bool accept_in_reasoning(std::string_view bytes);
  bool accept_while_waiting(std::string_view bytes);
  bool opens_reasoning(std::string_view bytes, std::string_view* rest);
  bool accept_in_grammar(int32_t token);
  void mask_grammar(std::span<uint64_t> words);
  void forbid(int32_t token);
  void forbid_ends();
  std::vector<int32_t> encode(std::string_view text, bool parse_special) const;
  bool only_spells(std::string_view text);

  ConstraintOptions options_;
  const Tokenizer& tokenizer_;
  size_t tokenizer_words_;
  Matcher fresh_, matcher_;
  Phase phase_ = Phase::kGrammar;

  std::vector<int32_t> prelude_;  // the tokens of the optional text
  size_t prelude_done_ = 0;       // how many of them have come
  bool grammar_open_ = true;      // in the prelude: the reply so far begins a text of the grammar, too
  Phase behind_prelude_ = Phase::kGrammar;

  Tail tail_;
  std::string front_;  // lazy: how the reply begins, while that may become reasoning_begin
  bool front_is_open_ = false;
  std::vector<uint64_t> mask_;
  std::vector<int32_t> refused_;  // by accept() at this place
};

}  // namespace brass::grammar
