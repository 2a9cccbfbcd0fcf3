// ENSURE(condition, "format", args...): aborts with file, line and text when our own code is wrong.
// Never compiled out. Not for input from outside: that is Result (result.h).
#pragma once

#include <fmt/format.h>

#include <string>

namespace brass {
[[noreturn]] void ensure_failed(const char* file, int line, const char* condition, const std::string& text);
}

#define ENSURE(condition, ...)                                                               \
  do {                                                                                       \
    if (!(condition)) [[unlikely]]                                                           \
      ::brass::ensure_failed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
