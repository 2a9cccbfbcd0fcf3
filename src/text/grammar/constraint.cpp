#include "text/grammar/constraint.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar {
namespace {

constexpr size_t kMaxMark = 1024;  // bytes
constexpr size_t kMaxTriggers = 1024;

Result<> validate_mark(std::string_view name, std::string_view mark) {
  if (mark.size() > kMaxMark)
    return wrong_use("{}: {} bytes, and at most {} are taken", name, mark.size(), kMaxMark);
  return {};
}

}  // namespace

Result<> validate(const ConstraintOptions& options) {
  TRY_VOID(validate_mark("reasoning_begin", options.reasoning_begin));
  TRY_VOID(validate_mark("reasoning_end", options.reasoning_end));
  TRY_VOID(validate_mark("gap", options.gap));
  const bool reasons = options.in_reasoning || !options.reasoning_begin.empty();
  if (reasons && options.reasoning_end.empty())
    return wrong_use("reasoning_end: without it the grammar would never begin");
  if (options.triggers.size() > kMaxTriggers)
    return wrong_use("triggers: {} of them, and at most {} are taken", options.triggers.size(), kMaxTriggers);
  for (size_t i = 0; i < options.triggers.size(); ++i) {
    TRY_VOID(validate_mark(fmt::format("triggers[{}]", i), options.triggers[i]));
    if (options.triggers[i].empty()) return wrong_use("triggers[{}]: an empty text", i);
  }
  return {};
}

void Constraint::Tail::add(std::string_view bytes) {
  if (bytes.size() >= keep) {
    text.assign(bytes.substr(bytes.size() - keep));
    return;
  }
  if (text.size() + bytes.size() > keep) text.erase(0, text.size() + bytes.size() - keep);
  text.append(bytes);
}

Constraint::Constraint(ConstraintOptions options, const Tokenizer& tokenizer, size_t vocabulary)
    : options_(std::move(options)),
      tokenizer_(tokenizer),
      tokenizer_words_((static_cast<size_t>(tokenizer.size()) + 63) / 64),
      fresh_(options_.grammar),
      matcher_(fresh_),
      mask_((vocabulary + 63) / 64) {
  ENSURE(vocabulary >= static_cast<size_t>(tokenizer.size()), "{} logits for {} pieces", vocabulary,
         tokenizer.size());
  for (const std::string& trigger : options_.triggers) tail_.keep = std::max(tail_.keep, trigger.size() - 1);
  if (!options_.reasoning_end.empty()) tail_.keep = std::max(tail_.keep, options_.reasoning_end.size() - 1);
  tail_.text.reserve(tail_.keep);
  front_is_open_ = !options_.triggers.empty() && !options_.in_reasoning && !options_.reasoning_begin.empty();
  front_.reserve(options_.reasoning_begin.size() + tokenizer.longest_piece());
  if (options_.in_reasoning)
    phase_ = Phase::kReasoning;
  else if (!options_.triggers.empty())
    phase_ = Phase::kWaiting;
  else
    begin_prelude(options_.reasoning_begin, Phase::kReasoning);
}

// ---- what may come next

std::span<const uint64_t> Constraint::mask() {
  const bool is_free = phase_ == Phase::kWaiting || phase_ == Phase::kReasoning;
  const bool may_end = phase_ == Phase::kWaiting || !options_.triggers.empty();
  if (is_free && may_end && refused_.empty()) return {};
  if (is_free) {
    std::ranges::fill(mask_, ~uint64_t{0});
    if (!may_end) forbid_ends();
    for (const int32_t token : refused_) forbid(token);
    return mask_;
  }
  std::ranges::fill(mask_, 0);
  if (phase_ == Phase::kGrammar || grammar_open_) mask_grammar(std::span(mask_).first(tokenizer_words_));
  if (phase_ == Phase::kPrelude) {
    const auto next = static_cast<size_t>(prelude_[prelude_done_]);
    mask_[next / 64] |= uint64_t{1} << next % 64;
  }
  return mask_;
}

void Constraint::mask_grammar(std::span<uint64_t> words) {
  matcher_.mask(words);
  if (!options_.ends_by_itself) forbid_ends();
}

void Constraint::forbid(int32_t token) {
  const auto id = static_cast<size_t>(token);
  mask_[id / 64] &= ~(uint64_t{1} << id % 64);
}

void Constraint::forbid_ends() {
  for (const int32_t id : tokenizer_.eog_ids()) forbid(id);
}

// ---- what came

bool Constraint::accept(int32_t token) {
  if (!take(token)) {
    refused_.push_back(token);
    return false;
  }
  refused_.clear();
  return true;
}

bool Constraint::take(int32_t token) {
  switch (phase_) {
    case Phase::kPrelude:
      return accept_in_prelude(token);
    case Phase::kReasoning:
      return accept_in_reasoning(bytes_of(token));
    case Phase::kWaiting:
      return accept_while_waiting(bytes_of(token));
    case Phase::kGrammar:
      return accept_in_grammar(token);
  }
  return false;
}

void Constraint::begin_prelude(std::string_view text, Phase behind) {
  matcher_ = fresh_;
  grammar_open_ = true;
  prelude_ = text.empty() ? std::vector<int32_t>{} : encode(text, true);
  prelude_done_ = 0;
  behind_prelude_ = behind;
  phase_ = prelude_.empty() ? Phase::kGrammar : Phase::kPrelude;
}

bool Constraint::accept_in_prelude(int32_t token) {
  const bool in_prelude = token == prelude_[prelude_done_];
  const bool in_grammar = grammar_open_ && accept_in_grammar(token);
  if (!in_prelude && !in_grammar) return false;
  grammar_open_ = in_grammar;
  if (!in_prelude) {
    phase_ = Phase::kGrammar;
  } else if (++prelude_done_ == prelude_.size()) {
    phase_ = behind_prelude_;
    if (phase_ == Phase::kGrammar) matcher_ = fresh_;
  }
  return true;
}

// The rest of a token in which the mark ends is the grammar's.
bool Constraint::accept_in_reasoning(std::string_view bytes) {
  const std::string whole = tail_.text + std::string(bytes);
  const size_t at = whole.find(options_.reasoning_end);
  if (at == std::string::npos) {
    tail_.add(bytes);
    return true;
  }
  std::string_view rest = std::string_view(whole).substr(at + options_.reasoning_end.size());
  if (!options_.triggers.empty()) {
    const std::string before = std::exchange(tail_.text, {});
    phase_ = Phase::kWaiting;
    if (accept_while_waiting(rest)) return true;
    tail_.text = before;
    phase_ = Phase::kReasoning;
    return false;
  }
  if (rest.empty()) {
    begin_prelude(options_.gap, Phase::kGrammar);
    return true;
  }
  if (!options_.gap.empty() && rest.starts_with(options_.gap)) rest.remove_prefix(options_.gap.size());
  Matcher ahead = fresh_;
  if (!ahead.accept_bytes(rest)) return false;
  matcher_ = std::move(ahead);
  phase_ = Phase::kGrammar;
  return true;
}

// Whether the reply, which is blank but for what is in front_, has come to the end of the mark that opens reasoning.
bool Constraint::opens_reasoning(std::string_view bytes, std::string_view* rest) {
  const std::string& mark = options_.reasoning_begin;
  front_.append(bytes);
  front_.erase(0, std::min(front_.find_first_not_of(" \t\r\n"), front_.size()));
  front_is_open_ = front_.size() < mark.size() && mark.starts_with(front_);
  if (!front_.starts_with(mark)) return false;
  *rest = bytes.substr(bytes.size() - (front_.size() - mark.size()));
  return true;
}

bool Constraint::accept_while_waiting(std::string_view bytes) {
  const size_t front = front_.size();
  if (std::string_view rest; front_is_open_ && opens_reasoning(bytes, &rest)) {
    const std::string before = std::exchange(tail_.text, {});
    phase_ = Phase::kReasoning;
    if (accept_in_reasoning(rest)) return true;
    tail_.text = before;
    phase_ = Phase::kWaiting;
    front_.resize(front);
    front_is_open_ = true;
    return false;
  }
  const std::string whole = tail_.text + std::string(bytes);
  // The trigger that is complete first; of those that end at the same byte, the longest.
  size_t end = std::string::npos, size = 0;
  for (const std::string& trigger : options_.triggers) {
    const size_t at = whole.find(trigger);
    if (at == std::string::npos) continue;
    const size_t behind = at + trigger.size();
    if (behind < end || (behind == end && trigger.size() > size)) end = behind, size = trigger.size();
  }
  if (end == std::string::npos) {
    tail_.add(bytes);
    return true;
  }
  Matcher ahead = fresh_;
  if (!ahead.accept_bytes(std::string_view(whole).substr(options_.trigger_in_grammar ? end - size : end)))
    return false;
  matcher_ = std::move(ahead);
  phase_ = Phase::kGrammar;
  return true;
}

bool Constraint::accept_in_grammar(int32_t token) {
  if (!options_.ends_by_itself && tokenizer_.is_eog(token)) return false;
  return matcher_.accept_token(token);
}

bool Constraint::must_end() const { return phase_ == Phase::kGrammar && matcher_.must_end(); }

// ---- text that is the only one possible

// Text inside of a reply, without the blank that an encoder would put in front: behind a letter it is not put, and the
// letter's tokens are dropped. Empty: no letter stays apart from the text.
std::vector<int32_t> Constraint::encode(std::string_view text, bool parse_special) const {
  const EncodeOptions options{
      .parse_special = parse_special, .add_bos = false, .add_eos = false, .normalize = false};
  if (!tokenizer_.adds_blank()) return tokenizer_.encode(text, options);
  for (const std::string_view anchor : {"\n", "a", "0", ";"}) {
    std::vector<int32_t> ids = tokenizer_.encode(std::string(anchor) + std::string(text), options);
    std::string front;
    size_t count = 0;
    while (count < ids.size() && front.size() < anchor.size()) {
      std::string_view piece = bytes_of(ids[count++]);
      if (front.empty() && piece.starts_with(' ')) piece.remove_prefix(1);
      front += piece;
    }
    if (front != anchor) continue;
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
    return ids;
  }
  return {};
}

// Every token that the grammar allows next is a beginning of the text: whichever is taken, the text is the same, and
// none goes beyond it.
bool Constraint::only_spells(std::string_view text) {
  std::ranges::fill(mask_, 0);
  matcher_.mask(std::span(mask_).first(tokenizer_words_));
  for (size_t word = 0; word < tokenizer_words_; ++word) {
    for (uint64_t bits = mask_[word]; bits != 0; bits &= bits - 1) {
      const auto id = static_cast<int32_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
      if (tokenizer_.is_eog(id) || !text.starts_with(bytes_of(id))) return false;
    }
  }
  return true;
}

void Constraint::jump(const std::function<bool(int32_t)>& take) {
  if (!options_.jump_forward || phase_ != Phase::kGrammar) return;
  for (bool room = true; room;) {
    const std::string forced = matcher_.forced();
    // The last character may be cut.
    const std::string_view whole = std::string_view(forced).substr(0, tokens::valid_utf8_end(forced, 0));
    if (whole.empty()) return;
    std::string_view rest = whole;
    for (const int32_t id : encode(whole, false)) {
      const std::string_view bytes = bytes_of(id);
      if (!room || bytes.empty() || !rest.starts_with(bytes) || !only_spells(rest) || !accept_in_grammar(id))
        break;
      rest.remove_prefix(bytes.size());
      room = take(id);
    }
    if (rest.size() == whole.size()) return;
  }
}

}  // namespace brass::grammar
