// Bytes that operator new handed out in this test program: proves that hostile counts allocate nothing large.
#pragma once

#include <cstddef>

namespace brass {

struct AllocationPeak {
  AllocationPeak();      // starts counting from what is live now
  size_t bytes() const;  // the most that was live at once since then, over what was live then
 private:
  size_t live_before_;
};

}  // namespace brass
