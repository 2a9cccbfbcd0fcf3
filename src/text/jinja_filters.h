// The filters of the language, by theme.
//
// Owns: the tables that find_filter looks in, helpers that filters share.
// Must not know: syntax trees.
// Source: Jinja 3.1's built-in filters, with `tojson` as `transformers` redefines it; `random` is
// refused where it is run (no two runs alike).
#pragma once

#include <span>

#include "text/jinja_runtime.h"

namespace brass::jinja {

std::span<const Builtin> text_filters();
std::span<const Builtin> number_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> selection_filters();
std::span<const Builtin> prose_filters();
std::span<const Builtin> pretty_filters();

// The value as a string value; Markup stays Markup.
Result<Value> soft_string(Runtime& rt, const Value& value);
// A path such as "function.name" or "0": looked up part by part.
Result<Value> lookup_path(Runtime& rt, Value item, const Value* path, const Value* otherwise);
// Lower case if it is a string: how filters compare unless told otherwise.
Result<Value> ignore_case(Runtime& rt, const Value& value);
// Whether an optional argument is given and not none.
bool given(const Value* value);

}  // namespace brass::jinja
