#include "backend/ref/loops.h"

namespace brass::ref {

const Loops& pick_loops() {
  if (__builtin_cpu_supports("avx512f")) return kLoopsAvx512;
  if (__builtin_cpu_supports("avx2")) return kLoopsAvx2;
  return kLoopsBase;
}

}  // namespace brass::ref
