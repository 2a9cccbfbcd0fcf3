// Mesa 26.2's lavapipe loads what all lanes would load from one address even where the condition around it holds in none of
// them (docs/gpu-notes.md), so from 0, too. Preloaded by lab.sh, as root: there are zeros then.
#include <stdio.h>
#include <sys/mman.h>

#define BYTES (1ul << 30)  // what indices reach from there

__attribute__((constructor)) static void map_zeros(void) {
  if (mmap(0, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
    perror("lab: the page at 0");
}
