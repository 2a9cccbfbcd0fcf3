// A shape as a JSON file (tools/synth/shapes): the sizes of a published model.
//
// Owns: its reading. {"architecture", "vocabulary", "optional": [pattern…], "rows": {pattern: n}, "metadata": {key:
// value}}; whole numbers become u32, others f32, arrays keep their elements' type.
#pragma once

#include <string>

#include "model/shape.h"

namespace brass {

// Errors name the file and the field.
Result<ShapeSpec> read_shape(const std::string& path);

}  // namespace brass
