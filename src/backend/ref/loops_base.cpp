#include "backend/ref/loops_body.h"

namespace brass::ref {

const Loops kLoopsBase = {"sse", dots<4, 1, 2>, weighted_sum<4, 8>};

}  // namespace brass::ref
