// The 16 non-uniform levels of IQ4_NL and IQ4_XS (constants of the formats, from GGML's ggml-common.h).
//
// Must not know: standard headers (kernels include this).
#pragma once

#include <stdint.h>

namespace brass {

constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace brass
