// The code points of the groups of char_class.h.
#pragma once

#include "text/grammar/char_class.h"
#include "text/grammar/regex_ast.h"

namespace brass::grammar {

const CodePoints& group_points(CharGroup group);

}  // namespace brass::grammar
