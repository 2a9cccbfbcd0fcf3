#include "source_dir.h"

namespace brass {

const std::string& source_dir() {
  static const std::string folder = BRASS_SOURCE_DIR;
  return folder;
}

}  // namespace brass
