// How cached K and V values are kept. Apart from graph.h so that kernel units, which use no standard library,
// can include it.
#pragma once

namespace brass {

enum class KvType : unsigned char { kF32, kF16, kBF16, kInt8 };

}  // namespace brass
