// Errors that the outside world can cause, as values.
//
// Owns: Error (what happened, where, what to do), Result<T>, TRY.
// Must not know: anything else of Brass.
// Invariants: `message` reads as one sentence that names the file, tensor, field or flag; `hint` says what to
// do. Our own bugs are not errors: they are ENSURE (check.h).
#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>
#include <utility>

namespace brass {

struct Error {
  std::string message;
  std::string hint;        // may be empty
  bool wrong_use = false;  // the caller asked for something that cannot be: exit code 2, HTTP 400
  bool no_room = false;    // a device has too little memory for what was asked

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
  return std::unexpected(Error{fmt::format(text, std::forward<Args>(args)...), {}, false});
}

// Usage: return fail_hint("use 0 to keep all", "flag --top-k: {} is negative", k);
template <class... Args>
std::unexpected<Error> fail_hint(std::string hint, fmt::format_string<Args...> text, Args&&... args) {
  return std::unexpected(Error{fmt::format(text, std::forward<Args>(args)...), std::move(hint), false});
}

// A flag or field that cannot mean what it says: return wrong_use("flag --top-k: {} is negative", k);
template <class... Args>
std::unexpected<Error> wrong_use(fmt::format_string<Args...> text, Args&&... args) {
  return std::unexpected(Error{fmt::format(text, std::forward<Args>(args)...), {}, true});
}

// Adds context to a failed result: return within(path, parse(bytes));
template <class T>
Result<T> within(std::string_view context, Result<T> result) {
  if (!result) return std::unexpected(std::move(result.error()).within(context));
  return result;
}

}  // namespace brass

// auto value = TRY(expression_of_Result);  returns the error to the caller if there is one. Names are
// numbered so that one TRY may stand inside another.
#define BRASS_JOIN_(a, b) a##b
#define BRASS_JOIN(a, b) BRASS_JOIN_(a, b)
#define BRASS_TRY_(name, ...)                                   \
  __extension__({                                               \
    auto name = (__VA_ARGS__);                                  \
    if (!name) return std::unexpected(std::move(name).error()); \
    std::move(name).value();                                    \
  })
#define TRY(...) BRASS_TRY_(BRASS_JOIN(brass_try_, __COUNTER__), __VA_ARGS__)

// TRY_VOID(expression of Result<>): the same where there is no value, or it is not wanted.
#define BRASS_TRY_VOID_(name, ...)                                                         \
  do {                                                                                     \
    if (auto name = (__VA_ARGS__); !name) return std::unexpected(std::move(name).error()); \
  } while (false)
#define TRY_VOID(...) BRASS_TRY_VOID_(BRASS_JOIN(brass_try_, __COUNTER__), __VA_ARGS__)
