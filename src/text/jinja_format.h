// Python's string formatting.
//
// Owns: 'text' % values, str.format with its replacement fields, the format mini-language.
// Must not know: syntax trees, filters.
// Source: Python's library reference, "printf-style String Formatting" and "Format Specification
// Mini-Language".
#pragma once

#include "text/jinja_runtime.h"

namespace brass::jinja {

// format % value; value may be a tuple of several, or a dict for %(name)s.
Result<Value> format_percent(Runtime& rt, const Value& format, const Value& value);
// format.format(*args, **named), with positional[0] the format itself.
Result<Value> format_fields(Runtime& rt, const Args& args);

}  // namespace brass::jinja
