// Which tensor of a model gets which format in a published mix.
//
// Owns: the rules of llama.cpp's quantizer that "Q4_K_M" and "IQ3_M" stand for. Must not know: files, architectures.
// Invariants: a type's blocks divide the row; vectors, routers, convolutions and other small state tensors stay F32.
//
// The rules are facts about published files (llama.cpp's llama-quant.cpp, version 0.5.0).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/shape.h"

namespace brass {

// mix: "Q4_K_M", "IQ3_M", "MXFP4_MOE" (experts MXFP4, the rest Q8_0), or the name of a format for all matrices. The
// types of all tensors that are not F32. Errors: a mix that is none.
Result<std::map<std::string, Type>> mix_types(std::string_view mix, std::span<const ShapedTensor> tensors,
                                              uint32_t experts);

}  // namespace brass
