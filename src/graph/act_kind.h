// The activation functions. Apart from graph.h so that kernel units, which use no standard library, can
// include it.
#pragma once

namespace brass {

// kIdentity: x. kClampedSwiglu (gpt-oss): with g = min(gate, 7) and u = clamp(up, −7, 7), act_mul is
// g · sigmoid(1.702 g) · (u + 1); alone it is g · sigmoid(1.702 g).
enum class ActKind : unsigned char {
  kSilu,
  kGeluTanh,
  kGeluErf,
  kRelu,
  kReluSquared,
  kSigmoid,
  kIdentity,
  kClampedSwiglu
};

}  // namespace brass
