// Errors that the outside world can cause, as values.
//
// Owns: Error (what happened, where, what to do), Result<T>, TRY.
// Must not know: anything else of Brass.
// Invariants: `message` reads as one sentence that names the file, tensor, field or flag; `hint` says what to do.
// Our own bugs are not errors: they are ENSURE (check.h).
#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>
#include <utility>

namespace brass {

struct Error {
  std::string message;
  std::string hint;  // may be empty

  // Prefixes the message with where we were: "model.gguf: tensor 'x': ...".
  Error&& within(std::string_view context) && {
    message = fmt::format("{}: {}", context, message);
    return std::move(*this);
  }
};

template <class T = void>
using Result = std::expected<T, Error>;

// Usage: return fail("flag --top-k: {} is negative", k);
template <class... Args>
std::unexpected<Error> fail(fmt::format_string<Args...> text, Args&&... args) {
  return std::unexpected(Error{fmt::format(text, std::forward<Args>(args)...), {}});
}

// Usage: return fail_hint("use 0 to keep all", "flag --top-k: {} is negative", k);
template <class... Args>
std::unexpected<Error> fail_hint(std::string hint, fmt::format_string<Args...> text, Args&&... args) {
  return std::unexpected(Error{fmt::format(text, std::forward<Args>(args)...), std::move(hint)});
}

// Adds context to a failed result: return within(path, parse(bytes));
template <class T>
Result<T> within(std::string_view context, Result<T> result) {
  if (!result) return std::unexpected(std::move(result.error()).within(context));
  return result;
}

}  // namespace brass

// auto value = TRY(expression_of_Result);  returns the error to the caller if there is one.
#define TRY(...)                                                                 \
  __extension__({                                                                \
    auto brass_try_result = (__VA_ARGS__);                                       \
    if (!brass_try_result) return std::unexpected(std::move(brass_try_result).error()); \
    std::move(brass_try_result).value();                                         \
  })

// TRY_VOID(expression of Result<>): the same where there is no value.
#define TRY_VOID(...)                                                                      \
  do {                                                                                     \
    if (auto brass_try_result = (__VA_ARGS__); !brass_try_result)                          \
      return std::unexpected(std::move(brass_try_result).error());                         \
  } while (false)
