// The commands: one row each in main.cpp.
#pragma once

#include "app/arguments.h"

namespace brass::app {

Body declare_run(Arguments& arguments);     // command_run.cpp
Body declare_import(Arguments& arguments);  // command_store.cpp, the next two as well
Body declare_list(Arguments& arguments);
Body declare_rm(Arguments& arguments);
Body declare_show(Arguments& arguments);      // command_show.cpp
Body declare_eval(Arguments& arguments);      // command_eval.cpp
Body declare_embed(Arguments& arguments);     // command_embed.cpp
Body declare_tokenize(Arguments& arguments);  // command_tokenize.cpp
Body declare_render(Arguments& arguments);    // command_render.cpp
Body declare_parse(Arguments& arguments);     // command_parse.cpp
Body declare_grammar(Arguments& arguments);   // command_grammar.cpp
Body declare_explain(Arguments& arguments);   // command_explain.cpp
Body declare_devices(Arguments& arguments);   // command_devices.cpp
Body declare_rounds(Arguments& arguments);    // command_rounds.cpp
Body declare_bench(Arguments& arguments);     // command_bench.cpp

}  // namespace brass::app
