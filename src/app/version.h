// What this program says of itself.
#pragma once

#include <string>

namespace brass::app {

// "brass 0.1.0 (commit 1a2b3c4, GCC 12.2.0, CPU tier avx2 of amx, …)"
std::string version_text();

}  // namespace brass::app
