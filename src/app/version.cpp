#include "app/version.h"

#include <fmt/format.h>

#include "backend/cpu/device.h"
#include "brass_version.h"

namespace brass::app {

std::string version_text() {
#if defined(__clang__)
  const std::string compiler = "Clang " __clang_version__;
#else
  const std::string compiler = "GCC " __VERSION__;
#endif
  const Result<Caps> caps = cpu_caps("", 1, KvType::kF16, KvType::kF16);
  return fmt::format("brass {}\ncommit {}\ncompiler {}\nkernels {} (built: {})", BRASS_VERSION, BRASS_COMMIT,
                     compiler, caps ? caps->name : "none", cpu_tier_names());
}

}  // namespace brass::app
