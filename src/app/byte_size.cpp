#include "app/byte_size.h"

#include <cstdlib>
#include <fstream>

namespace brass::app {

Result<uint64_t> parse_byte_size(std::string_view flag, const std::string& text) {
  char* end = nullptr;
  const double n = std::strtod(text.c_str(), &end);
  const std::string unit(end);
  const double scale = unit == "GB" || unit == "G"   ? 1e9
                       : unit == "MB" || unit == "M" ? 1e6
                       : unit == "GiB"               ? 1073741824.0
                       : unit == "MiB"               ? 1048576.0
                                                     : 0;
  if (end == text.c_str() || !(n > 0) || scale == 0 || n * scale > 1e15)
    return wrong_use("flag {}: '{}' is not a size such as 16GB, 900MB or 8GiB", flag, text);
  return static_cast<uint64_t>(n * scale);
}

std::optional<uint64_t> free_memory() {
  std::ifstream in("/proc/meminfo");
  std::string name, unit;
  for (uint64_t kib = 0; in >> name >> kib;) {
    if (name == "MemAvailable:") return kib * 1024;
    std::getline(in, unit);
  }
  return std::nullopt;
}

}  // namespace brass::app
