#include "backend/ref/loops_body.h"

namespace brass::ref {

const Loops kLoopsAvx2 = {"avx2", dots<8, 2, 3>, weighted_sum<8, 8>};

}  // namespace brass::ref
