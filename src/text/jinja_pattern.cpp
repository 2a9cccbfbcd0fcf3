#include "text/jinja_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/check.h"

namespace brass::jinja {

constexpr uint32_t kMaxTries = 1'000'000;

struct Pattern::Compiled {
  pcre2_code* code = nullptr;
};

Pattern::Pattern(std::string_view source, bool ignore_case) : compiled_(std::make_unique<Compiled>()) {
  int error = 0;
  size_t at = 0;
  const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_EXTENDED | (ignore_case ? PCRE2_CASELESS : 0);
  compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(), options, &error,
                                  &at, nullptr);
  ENSURE(compiled_->code != nullptr, "the pattern compiles");
}

Pattern::~Pattern() { pcre2_code_free(compiled_->code); }

Result<std::optional<std::pair<size_t, size_t>>> Pattern::find(std::string_view subject, size_t from) const {
  using Context = std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)>;
  using Data = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;
  const Context context(pcre2_match_context_create(nullptr), pcre2_match_context_free);
  const Data data(pcre2_match_data_create_from_pattern(compiled_->code, nullptr), pcre2_match_data_free);
  ENSURE(context && data, "memory for a match");
  pcre2_set_match_limit(context.get(), kMaxTries);
  const int count = pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(),
                                from, PCRE2_NO_UTF_CHECK, data.get(), context.get());
  if (count == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (count < 0) return fail("the text takes too many tries to match");
  const size_t* ends = pcre2_get_ovector_pointer(data.get());
  return std::pair(ends[0], ends[1]);
}

}  // namespace brass::jinja
