// The activation functions. Apart from graph.h so that kernel units, which use no standard library, can
// include it.
#pragma once

namespace brass {

enum class ActKind : unsigned char { kSilu, kGeluTanh, kGeluErf, kRelu, kReluSquared, kSigmoid };

}  // namespace brass
