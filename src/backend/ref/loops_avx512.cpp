#include "backend/ref/loops_body.h"

namespace brass::ref {

const Loops kLoopsAvx512 = {"avx512", dots<16, 4, 4>, weighted_sum<16, 8>};

}  // namespace brass::ref
