// The commands: one file each (command_NAME.cpp), one row each in main.cpp.
#pragma once

#include "app/arguments.h"

namespace brass::app {

Body declare_eval(Arguments& arguments);
Body declare_tokenize(Arguments& arguments);
Body declare_explain(Arguments& arguments);
Body declare_rounds(Arguments& arguments);

}  // namespace brass::app
