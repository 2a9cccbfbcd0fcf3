#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace brass {

void ensure_failed(const char* file, int line, const char* condition, const std::string& text) {
  std::fprintf(stderr, "brass: internal error at %s:%d: %s%s%s\nThis is a bug in Brass, not in your input.\n",
               file, line, condition, text.empty() ? "" : ": ", text.c_str());
  std::abort();
}

}  // namespace brass
