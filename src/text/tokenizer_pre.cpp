#include "text/tokenizer_pre.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "base/check.h"
#include "text/tokenizer_pre_rows.h"
#include "text/tokenizer_utf8.h"

namespace brass::tokens {

namespace {

// White_Space of Unicode, as the inside of a character class.
constexpr std::string_view kWhiteSpace =
    R"(\t-\r\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// Writes out \s and \S.
std::string spell_white_space(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '\\') {
      in_class = c == '[' || (in_class && c != ']');
      out += c;
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's') {
      out.append(in_class ? "" : "[").append(kWhiteSpace).append(in_class ? "" : "]");
    } else if (escaped == 'S') {
      ENSURE(!in_class, "\\S inside a class: {}", pattern);
      out.append("[^").append(kWhiteSpace).append("]");
    } else {
      out.append({c, escaped});
    }
  }
  return out;
}

const PreRow* row_named(std::string_view name) {
  for (const PreRow& row : pre_rows()) {
    if (std::find(row.names.begin(), row.names.end(), name) != row.names.end()) return &row;
  }
  return nullptr;
}

}  // namespace

struct PreTokenizer::Pattern {
  std::unique_ptr<pcre2_code, void (*)(pcre2_code*)> code{nullptr, pcre2_code_free};
};

struct PreTokenizer::Scratch::State {
  // The patterns are ours and take linear time: no limits, which long texts would meet.
  State() {
    pcre2_set_match_limit(limits.get(), UINT32_MAX);
    pcre2_set_depth_limit(limits.get(), UINT32_MAX);
    pcre2_set_heap_limit(limits.get(), UINT32_MAX);
  }

  // Appends the ends of the matches and of what lies between them; `piece` starts at `base`.
  void cut(const pcre2_code* code, std::string_view piece, size_t base, std::vector<size_t>& out) const;

  std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match{pcre2_match_data_create(1, nullptr),
                                                                       pcre2_match_data_free};
  std::unique_ptr<pcre2_match_context, void (*)(pcre2_match_context*)> limits{
      pcre2_match_context_create(nullptr), pcre2_match_context_free};
  std::vector<size_t> ends[2];  // of the pieces before and after a pattern
};

PreTokenizer::Scratch::Scratch() : state_(std::make_unique<State>()) {}
PreTokenizer::Scratch::~Scratch() = default;
PreTokenizer::PreTokenizer() = default;
PreTokenizer::~PreTokenizer() = default;

std::vector<std::string_view> PreTokenizer::names() {
  std::vector<std::string_view> names;
  for (const PreRow& row : pre_rows()) names.insert(names.end(), row.names);
  return names;
}

Result<std::unique_ptr<PreTokenizer>> PreTokenizer::create(std::string_view name) {
  const PreRow* row = row_named(name);
  if (row == nullptr) {
    return fail_hint(fmt::format("known are: {}", fmt::join(names(), ", ")),
                     "tokenizer.ggml.pre: the pre-tokenizer '{}' is not supported", name);
  }
  std::unique_ptr<PreTokenizer> made(new PreTokenizer);
  made->traits_ = row->traits;
  for (const std::string_view source : row->patterns) {
    const std::string pattern = spell_white_space(source);
    int error = 0;
    size_t where = 0;
    pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &error, &where, nullptr);
    ENSURE(code != nullptr, "pre-tokenizer '{}': error {} at {} of {}", name, error, where, pattern);
    // Without JIT (a system that forbids writable code, say) the interpreter does the same, slower.
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    made->patterns_.emplace_back().code.reset(code);
  }
  return made;
}

namespace {

// One match at or after `from`; false if there is none.
bool find(const pcre2_code* code, std::string_view piece, size_t from, pcre2_match_data* match,
          pcre2_match_context* limits) {
  const auto subject = reinterpret_cast<PCRE2_SPTR>(piece.data());
  constexpr uint32_t kOptions = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
  int count = pcre2_match(code, subject, piece.size(), from, kOptions, match, limits);
  if (count == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter keeps its state on the heap
    count = pcre2_match(code, subject, piece.size(), from, kOptions | PCRE2_NO_JIT, match, limits);
  }
  ENSURE(count > 0 || count == PCRE2_ERROR_NOMATCH, "pre-tokenizer: PCRE2 error {}, {} bytes", count,
         piece.size());
  return count > 0;
}

}  // namespace

void PreTokenizer::Scratch::State::cut(const pcre2_code* code, std::string_view piece, size_t base,
                                       std::vector<size_t>& out) const {
  const size_t* span = pcre2_get_ovector_pointer(match.get());
  size_t done = 0;
  while (done < piece.size() && find(code, piece, done, match.get(), limits.get())) {
    if (span[0] > done) out.push_back(base + span[0]);
    out.push_back(base + span[1]);
    done = span[1];
  }
  if (done < piece.size()) out.push_back(base + piece.size());
}

void PreTokenizer::split(std::string_view text, std::vector<size_t>& ends, Scratch& scratch) const {
  if (text.empty()) return;
  std::vector<size_t>* pieces = &scratch.state_->ends[0];
  std::vector<size_t>* cuts = &scratch.state_->ends[1];
  pieces->assign(1, text.size());
  for (const Pattern& pattern : patterns_) {
    const bool last = &pattern == &patterns_.back();
    std::vector<size_t>& out = last ? ends : *cuts;
    if (!last) cuts->clear();
    size_t begin = 0;
    for (const size_t end : *pieces) {
      scratch.state_->cut(pattern.code.get(), text.substr(begin, end - begin), begin, out);
      begin = end;
    }
    std::swap(pieces, cuts);
  }
}

}  // namespace brass::tokens
